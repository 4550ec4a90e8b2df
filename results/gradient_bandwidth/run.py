"""Figure 15: what orders of gradients save with 150, 75 and 37.5 GB/s."""

from __future__ import annotations

import sys
from fractions import Fraction

from results.shared.gradients import scale_study

SETTINGS = {f"{150 / n:g} GB/s": {"bandwidth": Fraction(1, n)} for n in (1, 2, 4)}
STUDY = scale_study(__file__, SETTINGS, (14.5, 19.3, 22.7))

if __name__ == "__main__":
    sys.exit(STUDY.main())
