"""What a policy may keep beside what operations need: counted again, legal to the last page."""

from __future__ import annotations

import spmopt
from spmopt.core.mappings import fitting_mappings
from spmopt.core.problem import Problem
from spmopt.testing.policies import check_legal, random_problems


def test_it_is_the_scratchpad_less_scratch_and_required_resident_operands() -> None:
    for problem in random_problems(20):
        page = problem.machine.page_bytes
        mappings = fitting_mappings(problem).tolist()
        expected = []
        for operation, chosen in zip(problem.operations, mappings, strict=True):
            mapping = operation.mappings[chosen]
            pages = problem.machine.spm_bytes // page - -(-mapping.scratch_bytes // page)
            for tensor, operand in zip(operation.tensors, mapping.operands, strict=True):
                if operand.required_resident:
                    pages -= -(-problem.tensors[tensor].size_bytes // page)
            expected.append(pages * page)
        assert spmopt.free_bytes(problem).tolist() == expected


def test_filling_it_is_legal() -> None:
    filled = 0

    def fill(problem: Problem) -> list[tuple[int, int, int]]:
        nonlocal filled
        free, page, stays = spmopt.free_bytes(problem), problem.machine.page_bytes, []
        for index, tensor in enumerate(problem.tensors):
            size_bytes = -(-tensor.size_bytes // page) * page
            used = [i for i, op in enumerate(problem.operations) if index in op.tensors]
            if used and size_bytes <= free[used[0] : used[-1] + 1].min():
                free[used[0] : used[-1] + 1] -= size_bytes
                filled += not free.min()
                stays.append((index, used[0], used[-1] + 1))
        return stays

    check_legal(fill)
    assert filled
