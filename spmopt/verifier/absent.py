"""Which tensors a step can only stream where each is resident whole or not at all.

By R3 and R4 the required-resident operands of the step's mapping are resident in full, by R1 they,
the scratch and whatever else is resident fit the scratchpad, all in whole pages. So where a tensor
does not fit beside them, in no mapping of the operation, not all of it is resident; and in a
schedule of whole tensors (PROBLEM.md, section 2) nothing of it is.
"""

from __future__ import annotations

from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Problem


def never_resident(problem: Problem) -> set[tuple[int, int]]:
    """Return (step, tensor) for each access at which the tensor does not fit in any mapping.

    Operands that are required-resident in every mapping are left out: where one does not fit, no
    schedule exists.
    """
    return {
        (step, tensor)
        for step, operation in enumerate(problem.operations)
        for place, tensor in enumerate(operation.tensors)
        if not all(mapping.operands[place].required_resident for mapping in operation.mappings)
        and all(not _fits(problem, operation, mapping, place) for mapping in operation.mappings)
    }


def _fits(problem: Problem, operation: Operation, mapping: OpMapping, place: int) -> bool:
    """Whether an operand fits in full beside the scratch and all that is required-resident."""
    page_bytes = problem.machine.page_bytes
    sizes = [
        problem.tensors[tensor].size_bytes
        for k, tensor in enumerate(operation.tensors)
        if k == place or mapping.operands[k].required_resident
    ]
    pages = sum(-(-size // page_bytes) for size in (*sizes, mapping.scratch_bytes))
    return pages * page_bytes <= problem.machine.spm_bytes
