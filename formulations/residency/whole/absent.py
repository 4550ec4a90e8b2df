"""Where a tensor can only stream if each is resident whole or not at all."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import sum_up
from spmopt.core.machine import Machine
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline


def never_resident(machine: Machine, line: Timeline) -> Bools:
    """Return (a,) the accesses at which not all of the tensor fits beside the step's needs.

    That is its scratch and its required-resident operands, in whole pages. In a relaxed timeline
    these are the least of all mappings, so that a tensor that does not fit there fits in no
    mapping.
    """
    pages = machine.pages(line.size_bytes)[line.tensor]
    fixed = sum_up(line.steps, line.step, np.where(line.required_resident, pages, 0))
    needed = fixed + machine.pages(line.scratch_bytes)
    result: Bools = ~line.required_resident & (pages + needed[line.step] > machine.spm_pages)
    return result
