"""The mode that a scheduler of one mode runs each operation in."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance, Mode, Operation
from spmopt.core.table import Ints

SEVERAL_MODES = "every operation runs in its first mode that fits the scratchpad"


def fitting_modes(instance: Instance) -> Ints:
    """(n,) First mode of every operation whose stationary operands and scratch fit.

    Raises
    ------
    InfeasibleError
        An operation has no such mode, so that no legal schedule exists (R1 and R3).
    """
    chosen = [_first_fitting(instance, operation) for operation in instance.operations]
    return np.array(chosen, np.int64)


def _first_fitting(instance: Instance, operation: Operation) -> int:
    capacity = instance.machine.spm_pages
    needs = [_required_pages(instance, operation, mode) for mode in operation.modes]
    for index, pages in enumerate(needs):
        if pages <= capacity:
            return index
    page = instance.machine.page_bytes
    required, available = min(needs) * page, capacity * page
    raise InfeasibleError(
        f"operation {operation.name}: its stationary operands and scratch need {required} bytes "
        f"of SPM in pages of {page}, available are {available}, missing are "
        f"{required - available}; give a larger --spm"
    )


def _required_pages(instance: Instance, operation: Operation, mode: Mode) -> int:
    page = instance.machine.page_bytes
    pages = -(-mode.scratch_bytes // page)
    for tensor, operand in zip(operation.tensors, mode.operands, strict=True):
        if operand.stationary:
            pages += -(-instance.tensors[tensor].size_bytes // page)
    return pages
