"""Figure 16: what orders of gradients save at batch sizes of 8, 16 and 32."""

from __future__ import annotations

import sys

from results.shared.gradients import scale_study

SETTINGS = {f"batch {size}": {"batch": size} for size in (8, 16, 32)}
STUDY = scale_study(__file__, SETTINGS, (14.5, 14.7, 14.0))

if __name__ == "__main__":
    sys.exit(STUDY.main())
