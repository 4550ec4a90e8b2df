"""Figure 14: what orders of gradients save on 1, 4 and 8 cores."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.gradient_scale import scale_study
from results.shared.gradients import Setting

STUDY = scale_study(
    __file__,
    [Setting(name="1 core" if n == 1 else f"{n} cores", cores=n) for n in (1, 4, 8)],
    (14.5, 23.7, 27.7),
    "What orders of gradients save on several cores",
    "8 a core",
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
