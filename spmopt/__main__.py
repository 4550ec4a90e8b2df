"""``python -m spmopt``."""

import sys

from spmopt.cli import main

sys.exit(main())
