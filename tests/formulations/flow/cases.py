"""Small problems all of whose operands are required-resident, and dual values of bytes alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from spmopt.core.objective import TRAFFIC, Objective
from spmopt.core.operation import Operand
from spmopt.core.problem import Problem
from tests.strategies import pages, problems, random_problem

DEAR_STORES = Objective(name="w", unit="x", dram_in_byte=Fraction(2, 3), dram_out_byte=Fraction(5))
DEAR_LOADS = replace(DEAR_STORES, dram_in_byte=Fraction(7, 2), mac=Fraction(1, 3))
STORES_ALONE = replace(DEAR_STORES, dram_in_byte=Fraction(0))
LOADS_ALONE = replace(DEAR_STORES, dram_out_byte=Fraction(0))
OBJECTIVES = (TRAFFIC, DEAR_STORES, DEAR_LOADS, STORES_ALONE, LOADS_ALONE)


def pinned(problem: Problem, spare_pages: int) -> Problem:
    """Every operand resident, one mapping, and ``spare_pages`` beyond what the largest needs."""
    operations = tuple(
        replace(
            operation,
            mappings=(
                replace(
                    operation.mappings[0],
                    operands=(Operand(required_resident=True),) * len(operation.tensors),
                ),
            ),
        )
        for operation in problem.operations
    )
    page = problem.machine.page_bytes
    need = max(
        pages(operation.mappings[0].scratch_bytes, page)
        + sum(pages(problem.tensors[t].size_bytes, page) for t in operation.tensors)
        for operation in operations
    )
    rest = problem.machine.spm_bytes % page
    machine = replace(problem.machine, spm_bytes=max(need + spare_pages, 1) * page + rest)
    return replace(problem, operations=operations, machine=machine)


def pinned_problems(most_spare_pages: int, **features: Any) -> st.SearchStrategy[Problem]:
    """Random ones, with few pages to spare."""
    return st.builds(pinned, problems(**features), st.integers(0, most_spare_pages))


def random_pinned(seed: int, spare_pages: int, **features: Any) -> Problem:
    """The one of ``seed``."""
    return pinned(random_problem(seed, **features), spare_pages)
