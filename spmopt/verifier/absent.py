"""Which tensors a step can only stream where each is resident whole or not at all.

By R3 and R4 the stationary operands of the step's mode are resident in full, by R1 they, the
scratch and whatever else is resident fit the scratchpad, all in whole pages. So where a tensor
does not fit beside them, in no mode of the operation, not all of it is resident; and in a schedule
of whole tensors (PROBLEM.md, section 2) nothing of it is.
"""

from __future__ import annotations

from spmopt.core.instance import Instance
from spmopt.core.operation import Mode, Operation


def never_resident(instance: Instance) -> set[tuple[int, int]]:
    """Return (step, tensor) for each access at which the tensor does not fit in any mode.

    Operands that are stationary in every mode are left out: where one does not fit, no schedule
    exists.
    """
    return {
        (step, tensor)
        for step, operation in enumerate(instance.operations)
        for place, tensor in enumerate(operation.tensors)
        if not all(mode.operands[place].stationary for mode in operation.modes)
        and all(not _fits(instance, operation, mode, place) for mode in operation.modes)
    }


def _fits(instance: Instance, operation: Operation, mode: Mode, place: int) -> bool:
    """Whether an operand fits in full beside the scratch and all that is stationary."""
    page_bytes = instance.machine.page_bytes
    sizes = [
        instance.tensors[tensor].size_bytes
        for k, tensor in enumerate(operation.tensors)
        if k == place or mode.operands[k].stationary
    ]
    pages = sum(-(-size // page_bytes) for size in (*sizes, mode.scratch_bytes))
    return pages * page_bytes <= instance.machine.spm_bytes
