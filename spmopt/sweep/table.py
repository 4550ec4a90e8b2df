"""Names of :mod:`spmopt.experiments` until all callers use that."""

from spmopt.experiments.store import FORMAT, Table

__all__ = ["FORMAT", "Table"]
