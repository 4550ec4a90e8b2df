"""Rows of a sweep, against solving each point by itself."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import ContradictionError, InputError
from spmopt.core.order import depth_first, reorder
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row
from spmopt.experiments.store import RowTable
from spmopt.hardware.machines import load_machine
from spmopt.io.files import write_problem
from spmopt.policies.belady import belady
from spmopt.solving import solve
from spmopt.sweeps import run, work
from spmopt.sweeps.cases import Network, SweepCase, lower_network
from spmopt.sweeps.rows import SweepColumns, about, row_of
from spmopt.sweeps.run import Sweep, run_sweeps
from spmopt.sweeps.work import SolveOptions
from tests.checked import need
from tests.solving.fakes import bounds_only, install, keeps_start
from tests.thorough import nightly
from tests.tiny import Op, tiny

MACHINE = load_machine("rtx2080ti")
OPTIONS = SolveOptions(tolerance=1e-2)
BERT = Network(
    name="bert-tiny",
    training=True,
    batch=2,
    parameters=(("layers", 1), ("sequence", 32), ("hidden", 16)),
    mapper="panel",
)
SIZES = (50_000, 60_000, 75_000, 100_000)

Found = dict[tuple[int, str], tuple[Result, str]]
Points = Sequence[tuple[int, str]]


def swept(case: SweepCase, schedulers: Sequence[str], done: Points = (), jobs: int = 1) -> Found:
    """Results, each with its order, by capacity and scheduler, in the order of their making."""
    found: Found = {}
    table = RowTable(None, SweepColumns(), {})
    sweep = Sweep(cases=(case,), schedulers=tuple(schedulers), search=OPTIONS)
    nothing = dict.fromkeys(SweepColumns().types)
    for size, name in done:
        table.add([{**nothing, **about(case, size, name)}])

    def record(case: SweepCase, spm_bytes: int, result: Result, order: str, objective: str) -> Row:
        assert (spm_bytes, result.scheduler) not in found
        found[spm_bytes, result.scheduler] = result, order
        return row_of(case, spm_bytes, result, order, objective)

    with pytest.MonkeyPatch.context() as patch, TaskQueue(jobs) as queue:
        patch.setattr(run, "row_of", record)
        run_sweeps([sweep], table, queue, warn=pytest.fail)
    return found


def test_points_are_what_solving_them_gives() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES)
    found = swept(case, ["belady", "lp-bound"])
    assert set(found) == {(size, name) for size in SIZES for name in ("belady", "lp-bound")}
    for size in SIZES[::3]:
        problem = lower_network(BERT, replace(MACHINE, spm_bytes=size))
        direct = solve(problem, "belady", OPTIONS.request(problem))
        here, bounded = found[size, "belady"][0], found[size, "lp-bound"][0]
        assert here.totals == direct.totals
        assert here.verified
        assert here.bound == bounded.bound is not None
        assert direct.bound is not None
        assert float(need(here.bound)) == pytest.approx(float(direct.bound), rel=OPTIONS.tolerance)


def test_rows_that_are_there_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:2])
    every = swept(case, ["stream", "belady"])
    done = [key for key in every if key != (SIZES[1], "belady")]
    assert [*swept(case, ["stream", "belady"], done)] == [(SIZES[1], "belady")]
    assert swept(case, ["stream", "belady"], list(every)) == {}


def in_depth_first_order(problem: Problem, request: Request) -> Result:
    order = depth_first(problem)
    residency_plan = belady(reorder(problem, order), request).residency_plan
    assert residency_plan is not None
    return Result(
        residency_plan=replace(residency_plan, steps=replace(residency_plan.steps, operation=order))
    )


def test_another_order_is_held_against_its_own_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lru=in_depth_first_order)
    network = Network(name="squeezenet", training=True, batch=1)
    case = SweepCase(network=network, machine=MACHINE, capacities=(2**20,))
    found = swept(case, ["lru", "belady"])
    walk, listed = found[2**20, "lru"], found[2**20, "belady"]
    assert (walk[1], listed[1]) == ("depth-first", "listed")
    problem = lower_network(network, replace(MACHINE, spm_bytes=2**20))
    turned = reorder(problem, depth_first(problem))
    direct = solve(turned, "lp-bound", OPTIONS.request(turned)).bound
    assert walk[0].bound == pytest.approx(direct, rel=2e-2)
    assert walk[0].totals == solve(turned, "belady", Request(threads=1)).totals


def test_capacities_too_small_are_infeasible(tmp_path: Path) -> None:
    problem = tiny(
        {"w": (10, "in"), "x": (8, "in"), "y": (8, "keep")},
        [Op(reads="w x", writes="y", required_resident="w", cycles=3), Op(reads="x w", cycles=1)],
        spm=40,
    )
    write_problem(tmp_path / "i.json", problem)
    network = Network(name=str(tmp_path / "i.json"), mapper=problem.mapper)
    case = SweepCase(network=network, machine=problem.machine, capacities=(8, 12, 40))
    found = swept(case, ["belady", "residency", "lp-bound"])
    status = {key: each.status for key, (each, _) in found.items()}
    names = ("belady", "residency", "lp-bound")
    assert {status[8, name] for name in names} == {Status.INFEASIBLE}
    assert status[40, "residency"] is Status.OPTIMAL
    assert Status.INFEASIBLE not in (status[12, "belady"], status[12, "residency"])
    assert found[40, "lp-bound"][0].bound is not None


def test_a_bound_above_a_schedule_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def contradict(*_: object) -> None:
        raise ContradictionError("the bound 2 is above the schedule of belady, 1 cycles")

    monkeypatch.setattr(work, "compare", contradict)
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:1])
    with pytest.raises(ContradictionError, match="is above the schedule"):
        swept(case, ["belady"])


def test_policies_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of quick schedulers of a case before those of optimizers."""
    install(monkeypatch, lp_bound=bounds_only, residency=keeps_start)
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:2])
    assert [*swept(case, ["residency", "belady", "stream"])] == [
        *((size, name) for size in SIZES[:2] for name in ("belady", "stream")),
        *((size, "residency") for size in SIZES[:2]),
    ]


def test_a_network_that_cannot_be_built_is_bad_input() -> None:
    network = replace(BERT, parameters=(("layres", 2),))
    with pytest.raises(InputError, match="did you mean layers"):
        swept(SweepCase(network=network, machine=MACHINE, capacities=SIZES[:1]), ["belady"])


@nightly
def test_processes_give_the_same() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:2])
    alone, several = (
        [
            {**row_of(case, size, *each, "time"), "solve_s": 0}
            for (size, _), each in sorted(swept(case, ["belady", "lp-bound"], jobs=jobs).items())
        ]
        for jobs in (1, 2)
    )
    assert several == alone
