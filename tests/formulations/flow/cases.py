"""Small instances all of whose operands are stationary, and prices of bytes alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from spmopt.core.instance import Instance
from spmopt.core.objective import TRAFFIC, Objective
from spmopt.core.operation import Operand
from tests.strategies import instances, pages, random_instance

DEAR_STORES = Objective(name="w", unit="x", dram_in_byte=Fraction(2, 3), dram_out_byte=Fraction(5))
DEAR_LOADS = replace(DEAR_STORES, dram_in_byte=Fraction(7, 2), mac=Fraction(1, 3))
STORES_ALONE = replace(DEAR_STORES, dram_in_byte=Fraction(0))
LOADS_ALONE = replace(DEAR_STORES, dram_out_byte=Fraction(0))
OBJECTIVES = (TRAFFIC, DEAR_STORES, DEAR_LOADS, STORES_ALONE, LOADS_ALONE)


def pinned(instance: Instance, spare_pages: int) -> Instance:
    """Every operand stationary, one mode, and ``spare_pages`` beyond what the largest needs."""
    operations = tuple(
        replace(
            operation,
            modes=(
                replace(
                    operation.modes[0],
                    operands=(Operand(stationary=True),) * len(operation.tensors),
                ),
            ),
        )
        for operation in instance.operations
    )
    page = instance.machine.page_bytes
    need = max(
        pages(operation.modes[0].scratch_bytes, page)
        + sum(pages(instance.tensors[t].size_bytes, page) for t in operation.tensors)
        for operation in operations
    )
    rest = instance.machine.spm_bytes % page
    machine = replace(instance.machine, spm_bytes=max(need + spare_pages, 1) * page + rest)
    return replace(instance, operations=operations, machine=machine)


def pinned_instances(most_spare_pages: int, **features: Any) -> st.SearchStrategy[Instance]:
    """Random ones, with few pages to spare."""
    return st.builds(pinned, instances(**features), st.integers(0, most_spare_pages))


def random_pinned(seed: int, spare_pages: int, **features: Any) -> Instance:
    """The one of ``seed``."""
    return pinned(random_instance(seed, **features), spare_pages)
