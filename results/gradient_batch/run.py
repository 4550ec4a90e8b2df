"""Figure 16: what orders of gradients save at batch sizes of 8, 16 and 32."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.gradient_scale import scale_study
from results.shared.gradients import Setting

STUDY = scale_study(
    __file__,
    [Setting(name=f"batch {size}", batch=size) for size in (8, 16, 32)],
    (14.5, 14.7, 14.0),
    "What orders of gradients save with larger batches",
    "8, 16 and 32",
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
