"""The flow against the program as it stands: stays, a row of capacity for each step."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.flow.network import Packed, Packing, pack
from formulations.solver.highs import solve
from formulations.solver.program import ProgramBuilder
from spmopt.core.scheduler import Request
from tests.checked import need


def packing(capacity: list[int], *stays: tuple[int, int, int, int]) -> Packing:
    """Stays as begin, end, most and saving."""
    columns = np.array(stays, np.int64).reshape(-1, 4).T
    begin, end, most, saving = columns
    return Packing(capacity=np.array(capacity), begin=begin, end=end, most=most, saving=saving)


def packed(case: Packing) -> Packed:
    found = need(pack(case, Request()))
    return found


def value(case: Packing, found: Packed) -> int:
    """Of what is kept; an error unless it fits and the dual values prove it, all in integers."""
    covered = (case.begin <= np.arange(case.capacity.size)[:, None]) & (
        np.arange(case.capacity.size)[:, None] < case.end
    )
    assert (covered @ found.kept <= case.capacity).all()
    assert ((found.kept >= 0) & (found.kept <= case.most)).all()
    assert (found.dual >= 0).all()
    gain = np.maximum(case.saving - found.dual @ covered, 0)
    saving = int(case.saving @ found.kept)
    assert saving == int(found.dual @ case.capacity + gain @ case.most)
    return saving


def relaxed(case: Packing) -> float:
    """The optimum of the linear program, by HiGHS."""
    length = case.end - case.begin
    stay = np.repeat(np.arange(case.begin.size), length)
    step = np.concatenate([np.arange(a, b) for a, b in zip(case.begin, case.end, strict=True)])
    build = ProgramBuilder()
    kept = build.columns(case.begin.size, cost=-case.saving, upper=case.most)
    row = build.rows(case.capacity.size, upper=case.capacity)
    build.add(row[step], kept[stay], 1.0)
    answer = solve(build.program())
    return -need(answer.objective)


def test_out_of_time() -> None:
    case = packing([1], (0, 1, 1, 1), (0, 1, 1, 1))
    assert pack(case, Request(time_limit_s=0)) is None
    assert pack(case, Request(stop=lambda: True)) is None


def test_numbers_beyond_64_bits_are_declined() -> None:
    case = packing([1], (0, 1, 1, 2**61 + 1), (0, 1, 1, 2**61))
    assert pack(case, Request()) is None


def test_random_ones_have_the_relaxations_optimum() -> None:
    generator = np.random.default_rng(0)
    for _ in range(60):
        steps, count = generator.integers(1, 12), generator.integers(1, 25)
        begin = generator.integers(0, steps, count)
        case = Packing(
            capacity=generator.integers(0, 6, steps),
            begin=begin,
            end=begin + 1 + generator.integers(0, steps - begin),
            most=generator.integers(1, 4, count),
            saving=generator.integers(1, 9, count),
        )
        assert value(case, packed(case)) == pytest.approx(relaxed(case), abs=1e-6)
