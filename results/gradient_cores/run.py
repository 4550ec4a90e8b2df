"""Figure 14: what orders of gradients save on 1, 4 and 8 cores."""

from __future__ import annotations

import sys

from results.shared.gradients import scale_study

SETTINGS = {"1 core": {}, "4 cores": {"cores": 4}, "8 cores": {"cores": 8}}
STUDY = scale_study(__file__, SETTINGS, (14.5, 23.7, 27.7))

if __name__ == "__main__":
    sys.exit(STUDY.main())
