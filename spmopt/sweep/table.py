"""Names of :mod:`spmopt.experiments` until all callers use that."""

from spmopt.experiments.store import FORMAT
from spmopt.experiments.store import Store as Table

__all__ = ["FORMAT", "Table"]
