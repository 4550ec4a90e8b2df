"""Names of :mod:`spmopt.experiments` until all callers use that."""

from spmopt.experiments.executors import processors
from spmopt.experiments.interrupts import unbroken, undisturbed
from spmopt.experiments.queue import TaskQueue as Pool

__all__ = ["Pool", "processors", "unbroken", "undisturbed"]
