"""What is said of the worth of more scratchpad and bandwidth, by machines of any size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from spmopt.analysis.shadow_prices import ShadowPrices
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.reporting.explanation import duals_parts
from spmopt.reporting.tables import plain_text
from tests.tiny import Op, tiny

BITS = 40


def worth(duals: list[float], **machine: Any) -> tuple[Problem, ShadowPrices]:
    """Of a tensor read in every step, by dual values of the scratchpad and of the whole channel."""
    steps = len(duals)
    problem = tiny({"a": (8, "in")}, [Op(reads="a")] * steps, spm=4)
    problem = replace(problem, machine=replace(problem.machine, **machine))
    spm = np.array([round(dual * 2**BITS) for dual in duals])
    whole = np.full(steps, 2**BITS // max(1, int(problem.machine.bytes_per_cycle)), np.int64)
    certificate = Certificate(objective=MAKESPAN, bits=BITS, spm=spm, dram_in=whole, dram_out=whole)
    return problem, ShadowPrices.of(problem, certificate)


def said(duals: list[float], **machine: Any) -> list[str]:
    problem, found = worth(duals, **machine)
    return plain_text(duals_parts(problem.machine, found)).splitlines()


def test_what_a_solver_leaves_is_no_price() -> None:
    noise = [1e-6, 0.5, 3e-6, 0.25, 0.25, 1e-7]
    _, found = worth(noise)
    assert found.spm.significant.tolist() == [False, True, False, True, True, False]
    assert "the shadow price is above zero in 3 of 6 steps" in said(noise)[1]


def test_equal_duals_count_together() -> None:
    _, found = worth([1e-4] * 2000)
    assert found.spm.significant.all()


def test_where_all_is_noise_nothing_has_a_dual() -> None:
    _, found = worth([1e-8, 0, 2e-9])
    assert not found.spm.significant.any()
    lines = said([1e-8, 0, 2e-9])
    assert "more does not lower the bound: no step has a shadow price" in lines[1]


def test_a_tiny_machine_gets_a_little_more_and_no_gain_is_above_the_bound() -> None:
    lines = said([1, 1], spm_bytes=400, page_bytes=1)
    # 1 % of 400 bytes; one byte per second.
    assert lines[1].startswith("SPM        each extra 4 B lowers the bound by at most ")
    assert lines[2].startswith("DRAM       1 B/s more lowers the bound by at most ")
    problem, found = worth([1, 0], page_bytes=4)
    least = replace(found, bound=Fraction(3))
    lines = plain_text(duals_parts(problem.machine, least)).splitlines()
    assert found.spm.per_byte == 1
    assert lines[1].startswith(
        "SPM        each extra 4 B lowers the bound by at most 3 s, all of it: nothing "
    )


def test_a_kilobyte_that_is_less_than_a_page_is_said_to_be() -> None:
    large = {"spm_bytes": 4096 * 100, "dram_bytes_per_s": 10**12, "clock_hz": 10**12}
    lines = said([1e-5, 0], page_bytes=4096, **large)
    assert lines[1].startswith("SPM        each extra kB lowers the bound by at most ")
    assert "(a page of 4.096 kB: " in lines[1]
    assert lines[2].startswith("DRAM       1 GB/s more lowers the bound by at most ")
    assert "(a page" not in said([1e-5, 0], page_bytes=100, **large)[1]
