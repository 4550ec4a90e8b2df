"""Compute- or memory-bound, by operations per byte (Tsai 2021, sections 3.4 and 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

Reals = NDArray[np.float64]


def ridge_point(machine: Machine) -> float:
    """Operations per byte at which computing takes as long as moving (Eq. 3.2)."""
    return machine.operations_per_s / machine.dram_bytes_per_s


def attainable(machine: Machine, reuse_frequency: Reals) -> Reals:
    """Operations per second at so many operations per byte, at most (Eq. 5.1)."""
    return np.minimum(
        reuse_frequency * float(machine.dram_bytes_per_s), float(machine.operations_per_s)
    )


def operations(machine: Machine, line: Timeline) -> Ints:
    """(n,) Multiplications, additions and the like of every step.

    An instance has multiply-accumulates, which are two operations each, and of all other work
    the cycles only: those are taken at the machine's full throughput, which is too much by less
    than what one cycle can do. Parts of an operation do not count.
    """
    rate = machine.operations_per_s / machine.clock_hz
    others = np.floor(line.compute_cycles * rate).astype(np.int64)
    found: Ints = np.where(line.macs > 0, 2 * line.macs, others)
    return found


def sums(values: Reals, group: Ints, count: int) -> Reals:
    """(count,) Sum of ``values`` by group."""
    total = np.zeros(count)
    np.add.at(total, group, values)
    return total
