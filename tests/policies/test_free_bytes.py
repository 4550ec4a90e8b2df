"""What a policy may keep beside what operations need: counted again, legal to the last page."""

from __future__ import annotations

import spmopt
from spmopt.core.instance import Instance
from spmopt.core.modes import fitting_modes
from spmopt.testing.policies import check_legal, random_instances


def test_it_is_the_scratchpad_less_scratch_and_stationary_operands() -> None:
    for instance in random_instances(20):
        page = instance.machine.page_bytes
        modes = fitting_modes(instance).tolist()
        expected = []
        for operation, chosen in zip(instance.operations, modes, strict=True):
            mode = operation.modes[chosen]
            pages = instance.machine.spm_bytes // page - -(-mode.scratch_bytes // page)
            for tensor, operand in zip(operation.tensors, mode.operands, strict=True):
                if operand.stationary:
                    pages -= -(-instance.tensors[tensor].size_bytes // page)
            expected.append(pages * page)
        assert spmopt.free_bytes(instance).tolist() == expected


def test_filling_it_is_legal() -> None:
    filled = 0

    def fill(instance: Instance) -> list[tuple[int, int, int]]:
        nonlocal filled
        free, page, stays = spmopt.free_bytes(instance), instance.machine.page_bytes, []
        for index, tensor in enumerate(instance.tensors):
            size_bytes = -(-tensor.size_bytes // page) * page
            used = [i for i, op in enumerate(instance.operations) if index in op.tensors]
            if used and size_bytes <= free[used[0] : used[-1] + 1].min():
                free[used[0] : used[-1] + 1] -= size_bytes
                filled += not free.min()
                stays.append((index, used[0], used[-1] + 1))
        return stays

    check_legal(fill)
    assert filled
