"""Tensors that are compressed in DRAM: by hand, against every schedule tried, and all settings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt.core.compression import MovedBytes
from spmopt.core.errors import InputError
from spmopt.core.machine import Compression, Machine
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, energy_objective
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import from_settings, to_settings
from spmopt.io.files import decode_problem, encode_problem
from spmopt.search.cuts import fingerprint
from spmopt.solving import compare, solve
from spmopt.verifier import verify
from tests.brute_force import optimum
from tests.checked import need, value_of
from tests.formulations.test_conformance import Case, check
from tests.graph.networks import mlp
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

TENSORS = "residency:granularity=tensor"
POLICIES = ("stream", "belady", "belady-size", "msa", "autotm", "tsai")
NAMES = (*POLICIES, "residency", TENSORS, f"{TENSORS}@pulp:highs", "lp-bound")


def weights_at(problem: Problem, ratio: Fraction | str, *names: str) -> Problem:
    """The problem with some tensors as weights, which move at a ratio."""
    tensors = tuple(
        replace(each, kind=TensorKind.WEIGHT) if each.name in names else each
        for each in problem.tensors
    )
    compression = (Compression(kind=TensorKind.WEIGHT, ratio=Fraction(ratio)),)
    machine = replace(problem.machine, compression=compression)
    return replace(problem, machine=machine, tensors=tensors)


def two_products(spm: int, ratio: str) -> Problem:
    """``y = f(x, w)``, then ``z = g(y, w)``, a byte a cycle; ``w`` has ten bytes."""
    tensors = {"x": (4, "in"), "w": (10, "in"), "y": (4, ""), "z": (4, "keep")}
    operations = [
        Op(reads="x w", writes="y", cycles=3, fetches={"w": 2}),
        Op(reads="y w", writes="z", cycles=6),
    ]
    return weights_at(tiny(tensors, operations, spm=spm), ratio, "w")


@pytest.mark.parametrize(
    ("ratio", "first", "second"),
    # x 4, w twice, y out 4; y 4, w once, z 4. A command moves whole bytes.
    [
        ("1", 4 + 20 + 4, 4 + 10 + 4),
        ("0.4", 4 + 8 + 4, 4 + 4 + 4),
        ("0.33", 15, 12),
        ("1.1", 30, 19),
    ],
)
def test_streams_by_hand(ratio: str, first: int, second: int) -> None:
    found = solve(two_products(4, ratio), "stream", Request())
    assert found.value == need(found.totals).traffic_bytes == first + second


def test_what_stays_takes_the_room_of_all_its_bytes() -> None:
    """With 16 bytes ``w`` and ``y`` stay, or as much of either as does; pages have 4 bytes."""
    problem = two_products(16, "0.4")
    found = solve(problem, "residency", Request(tolerance=0.0))
    # Twelve of sixteen bytes hold w: it is loaded once, in 4 cycles, and y stays in the rest.
    assert found.value == max(4 + 4, 3) + max(4, 6)
    assert float(need(found.bound)) == pytest.approx(14)
    assert need(found.totals).peak_spm_bytes == 16
    # Eight of its ten bytes take 4 cycles as well, but 2 more are streamed in each step.
    less = solve(
        replace(problem, machine=replace(problem.machine, spm_bytes=12)), "residency", Request()
    )
    assert need(less.value) > need(found.value)


def test_serial_loads_wait_for_as_long_as_bytes_move() -> None:
    op = Op(reads="w", writes="y", cycles=5, required_resident="w")
    problem = weights_at(tiny({"w": (10, "in"), "y": (2, "keep")}, [op], spm=16), "0.4", "w")
    report = verify(problem, need(solve(problem, "stream", Request()).schedule))
    assert need(report.totals).makespan_cycles == 4 + 5
    assert need(report.totals).dma_cycles == 4 + 2


def test_results_are_packed_on_their_way_out() -> None:
    op = Op(reads="x", writes="y", cycles=1)
    problem = weights_at(tiny({"x": (4, "in"), "y": (10, "keep")}, [op], spm=4), "0.25", "y")
    totals = need(solve(problem, "stream", Request()).totals)
    assert (totals.dram_in_bytes, totals.dram_out_bytes) == (4, 3)


def case_of(seed: int) -> Case | None:
    """A small problem whose weights, results or both are compressed; None if it is too large."""
    problem = random_problem(
        seed,
        max_operations=4,
        max_tensors=3,
        page_bytes=2 + seed % 4,
        max_mappings=1 + seed % 2,
        duplex=seed % 3 == 0,
        setup=seed % 4 == 1,
        compression=True,
    )
    objective = (TRAFFIC, MAKESPAN, energy_objective(problem.machine))[seed % 3]
    try:
        page, whole = (need(optimum(problem, objective, residency=r)) for r in ("page", "whole"))
    except ValueError:
        return None
    assert value_of(problem, objective, page.residency_plan) == page.value
    return Case(problem, objective, page.value, whole.value)


@pytest.mark.parametrize("seed", some(range(40), 8))
def test_legal_and_bounded_among_all_schedules(seed: int) -> None:
    case = case_of(seed)
    if case is None:
        pytest.skip("too large to try everything")
    request = Request(objective=case.objective, tolerance=0.0, time_limit_s=30.0, threads=1)
    for result in compare(case.problem, list(NAMES), request):
        if result.scheduler.startswith(TENSORS):  # its programs do not round commands up to bytes
            assert result.bound is None or result.bound <= case.least <= need(result.value)
        else:
            check(case, result)


def test_most_optima_are_found() -> None:
    found = [
        (need(solve(case.problem, "residency", Request(objective=case.objective)).value), case)
        for case in map(case_of, some(range(100, 130)))
        if case is not None
    ]
    optimal = sum(value == case.least for value, case in found)
    assert len(found) > share(20)
    assert optimal >= 0.9 * len(found)


def test_a_ratio_of_one_is_none() -> None:
    plain = load_machine("small-npu")
    one = load_machine("small-npu", {"compression.weight": 1.0, "compression.input": "1"})
    assert one == plain
    assert to_settings(one) == to_settings(plain)
    assert encode_problem(lower(mlp(), one)) == encode_problem(lower(mlp(), plain))


def compressed(ratio: float = 0.4) -> Machine:
    return load_machine("small-npu", {"compression.weight": ratio, "compression.activation": 1.1})


def test_settings_and_files_keep_it() -> None:
    machine = compressed()
    assert [each.ratio for each in machine.compression] == [Fraction(2, 5), Fraction(11, 10)]
    assert from_settings(to_settings(machine), "x") == machine
    problem = lower(mlp(), machine)
    assert decode_problem(encode_problem(problem)) == problem


@pytest.mark.parametrize("wrong", [0, -0.4, 5, 0.33333, "0.4x"])
def test_nonsense_is_refused_in_one_line(wrong: object) -> None:
    with pytest.raises(InputError) as caught:
        load_machine("small-npu", {"compression.weight": wrong})  # type: ignore[dict-item]
    assert "\n" not in str(caught.value)
    assert "compression" in str(caught.value)


def test_what_is_refused() -> None:
    problem = two_products(16, "0.4")
    with pytest.raises(InputError, match="scheduler joint: knows no compression; use"):
        solve(problem, "joint", Request(objective=REPLAY))
    with pytest.raises(InputError, match="scheduler contiguous: knows no compression; use"):
        solve(problem, "contiguous", Request())
    twice = problem.machine.compression * 2
    with pytest.raises(InputError, match="stands twice"):
        replace(problem.machine, compression=twice)


def test_the_mapper_counts_what_moves() -> None:
    """Where weights are nearly free they are fetched more often, and inputs less."""
    build = GraphBuilder("product")
    x, w = build.input("x", (512, 512)), build.weight("w", (512, 512))
    graph = build.finish([build.add("MatMul", [x, w], name="y")])
    fetches = list[list[int]]()
    for ratio in (1, 0.01):
        machine = load_machine("small-npu", {"spm": "64KiB", "compression.weight": ratio})
        problem = lower(graph, machine)
        operands = problem.operations[0].mappings[0].operands
        fetches.append([each.fetches for each in operands])
    (x_dear, w_dear, _), (x_free, w_free, _) = fetches
    assert w_free > w_dear
    assert x_free < x_dear


def test_cuts_are_of_problems_that_move_alike() -> None:
    dear, cheap = two_products(16, "0.5"), two_products(16, "0.25")
    plain = replace(dear, machine=replace(dear.machine, compression=()))
    assert len({fingerprint(each) for each in (dear, cheap, plain)}) == 3


def test_bytes_round_up_beyond_64_bits() -> None:
    moved = MovedBytes(numerator=np.array([9_999, 10_000]), denominator=10_000)
    sizes = np.array([2**59 + 1, 2**59 + 1])
    exact = [-(-(2**59 + 1) * 9_999 // 10_000), 2**59 + 1]
    assert moved.of(np.array([0, 1]), sizes).tolist() == exact
