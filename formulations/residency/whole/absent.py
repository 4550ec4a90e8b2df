"""Where a tensor can only stream if each is resident whole or not at all."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import summed
from spmopt.core.machine import Machine
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline


def never_resident(machine: Machine, line: Timeline) -> Bools:
    """Return (a,) the accesses at which not all of the tensor fits beside what the step needs.

    That is its scratch and its stationary operands, in whole pages. In a relaxed timeline these are
    the least of all modes, so that what does not fit there fits in no mode.
    """
    pages = machine.pages(line.size_bytes)[line.tensor]
    fixed = summed(line.steps, line.step, np.where(line.stationary, pages, 0))
    needed = fixed + machine.pages(line.scratch_bytes)
    result: Bools = ~line.stationary & (pages + needed[line.step] > machine.spm_pages)
    return result
