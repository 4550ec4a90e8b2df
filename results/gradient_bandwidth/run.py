"""Figure 15: what orders of gradients save with 150, 75 and 37.5 GB/s."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.gradient_scale import scale_study
from results.shared.gradients import Setting

STUDY = scale_study(
    __file__,
    [Setting(name=f"{150 / n:g} GB/s", bandwidth=Fraction(1, n)) for n in (1, 2, 4)],
    (14.5, 19.3, 22.7),
    "What orders of gradients save with less bandwidth",
    "8",
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
