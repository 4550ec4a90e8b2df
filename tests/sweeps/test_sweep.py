"""What the sweep finds, against solving each point by itself."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.order import depth_first, reorder
from spmopt.core.problem import Problem
from spmopt.core.result import OUT_OF_TIME, Outcome, Status
from spmopt.core.scheduler import Request
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row
from spmopt.experiments.store import RowTable, merge
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.io.files import write_problem
from spmopt.policies import belady
from spmopt.solving import solve
from spmopt.sweeps import run, work
from spmopt.sweeps.cases import Network, Order, SweepCase
from spmopt.sweeps.curve import Between
from spmopt.sweeps.rows import SweepColumns, row_of
from spmopt.sweeps.run import Sweep, run_sweeps
from spmopt.sweeps.work import Finding, SolveOptions, enclose
from spmopt.verifier import bound
from tests.solving.fakes import install
from tests.tiny import Op, tiny

MACHINE = load_machine("rtx2080ti")
SEARCH = SolveOptions(tolerance=1e-2)
BERT = Network(
    name="bert-tiny",
    training=True,
    batch=2,
    parameters=(("layers", 1), ("sequence", 32)),
    mapper="panel",
)
SIZES = tuple(range(400_000, 800_001, 25_000))


Found = dict[tuple[int, str], Finding]
Points = Sequence[tuple[int, str]]


def swept(case: SweepCase, schedulers: Sequence[str], done: Points = (), jobs: int = 1) -> Found:
    """All that is found, by capacity and scheduler."""
    found: Found = {}
    table = RowTable(None, SweepColumns(), {})
    for size, name in done:
        nothing = Finding(scheduler=name, status=Status.UNKNOWN)
        table.add([row_of(case, size, nothing, SEARCH.objective)])

    def record(case: SweepCase, spm_bytes: int, finding: Finding, objective: str) -> Row:
        assert (spm_bytes, finding.scheduler) not in found
        found[spm_bytes, finding.scheduler] = finding
        return row_of(case, spm_bytes, finding, objective)

    sweep = Sweep(cases=(case,), schedulers=tuple(schedulers), search=SEARCH)
    with pytest.MonkeyPatch.context() as patch, TaskQueue(jobs) as queue:
        patch.setattr(run, "row_of", record)
        run_sweeps([sweep], table, queue, warn=pytest.fail)
    return found


def test_points_are_what_solving_them_gives() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES)
    found = swept(case, ["belady", "fluid"])
    assert set(found) == {(size, name) for size in SIZES for name in ("belady", "fluid")}
    graph = load_network("bert-tiny", batch=2, training=True, layers=1, sequence=32)
    for size in SIZES[::8]:
        problem = lower(graph, replace(MACHINE, spm_bytes=size), mapper="panel")
        direct = solve(problem, "belady", Request(tolerance=1e-3, threads=1))
        belady_here, fluid_here = found[size, "belady"], found[size, "fluid"]
        assert belady_here.totals == direct.totals
        assert belady_here.verified
        assert belady_here.bound == fluid_here.bound
        assert direct.bound is not None
        assert fluid_here.bound is not None
        assert fluid_here.value is not None
        assert direct.bound <= fluid_here.value
        assert fluid_here.value <= fluid_here.bound * (1 + Fraction(SEARCH.tolerance))
    solves = [each.solve_s for each in found.values() if each.verified is False]
    assert 2 <= sum(seconds is not None for seconds in solves) < len(SIZES)


def test_what_is_done_is_left_out_and_changes_nothing() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES)
    every = swept(case, ["stream", "fluid"])
    done = [key for key in every if key[0] != SIZES[3] or key[1] == "stream"]
    (rest,) = swept(case, ["stream", "fluid"], done).values()
    whole = every[SIZES[3], "fluid"]
    assert replace(rest, solve_s=None) == replace(whole, solve_s=None)
    assert swept(case, ["stream", "fluid"], list(every)) == {}


def in_depth_first_order(problem: Problem, request: Request) -> Outcome:
    order = depth_first(problem)
    residency_plan = belady(reorder(problem, order), request).residency_plan
    assert residency_plan is not None
    return Outcome(
        residency_plan=replace(residency_plan, steps=replace(residency_plan.steps, operation=order))
    )


def test_another_order_is_held_against_its_own_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lru=in_depth_first_order)
    network = Network(name="squeezenet", training=True, batch=1)
    sizes = (2**20, 2**22)
    found = swept(SweepCase(network=network, machine=MACHINE, capacities=sizes), ["lru", "belady"])
    graph = load_network("squeezenet", batch=1, training=True)
    for size in sizes:
        walk, listed = found[size, "lru"], found[size, "belady"]
        assert (walk.order_name, listed.order_name) == ("depth-first", "listed")
        problem = lower(graph, replace(MACHINE, spm_bytes=size))
        turned = reorder(problem, depth_first(problem))
        direct = solve(turned, "fluid", Request(tolerance=1e-3, threads=1)).bound
        assert direct is not None
        assert walk.bound == pytest.approx(direct, rel=2e-2)
        assert walk.bound is not None
        assert walk.value is not None
        assert walk.bound <= walk.value
        assert walk.totals == solve(turned, "belady", Request(threads=1)).totals


def test_capacities_too_small_are_infeasible(tmp_path: Path) -> None:
    problem = tiny(
        {"w": (10, "in"), "x": (8, "in"), "y": (8, "keep")},
        [Op(reads="w x", writes="y", required_resident="w", cycles=3), Op(reads="x w", cycles=1)],
        spm=40,
    )
    write_problem(tmp_path / "i.json", problem)
    network = Network(name=str(tmp_path / "i.json"), mapper=problem.mapper)
    case = SweepCase(network=network, machine=problem.machine, capacities=(8, 12, 40))
    found = swept(case, ["belady", "residency", "fluid"])
    status = {key: each.status for key, each in found.items()}
    assert {status[8, name] for name in ("belady", "residency", "fluid")} == {Status.INFEASIBLE}
    assert status[40, "residency"] is Status.OPTIMAL
    assert Status.INFEASIBLE not in (status[12, "belady"], status[12, "residency"])
    value, lower_bound = found[40, "fluid"].value, found[40, "fluid"].bound
    assert value is not None
    assert lower_bound is not None
    assert lower_bound <= value <= lower_bound * (1 + Fraction(SEARCH.tolerance))


def test_cuts_are_of_commands_without_set_up() -> None:
    """Schedules are held against what the same duals prove with it, the relaxation without."""
    machine = replace(MACHINE, dma_setup_cycles=300)
    case = SweepCase(network=BERT, machine=machine, capacities=SIZES[:2])
    (section,), _ = work.prepare(case)
    solved = enclose(section, None, SIZES[1], SEARCH)
    assert solved.certificate is not None
    with_setups = [bound(section.problem(size), solved.certificate) for size in SIZES[:2]]
    plain = section.problem(SIZES[1])
    plain = replace(plain, machine=replace(plain.machine, dma_setup_cycles=0))
    assert solved.lower == bound(plain, solved.certificate) < with_setups[1]
    between = Between(lower=solved.lower, upper=solved.upper, cut=solved, chord=(SIZES[1],))
    both: list[dict[Order, Between]] = [{None: between}, {}]
    for known in both:
        lru, fluid = work.point(section, SIZES[1], ("lru", "fluid"), known, SEARCH)
        assert lru.bound == with_setups[1]
        if known:
            assert (fluid.value, fluid.bound) == (solved.upper, solved.lower)
            assert fluid.note == "of commands without set-up"
    found = swept(case, ["lru", "fluid"])
    for size in SIZES[:2]:
        lru, fluid = found[size, "lru"], found[size, "fluid"]
        assert fluid.bound is not None
        assert fluid.value is not None
        assert lru.bound is not None
        assert lru.value is not None
        assert fluid.bound <= fluid.value
        assert fluid.bound < lru.bound <= lru.value


def test_an_untrue_cut_is_an_error() -> None:
    (section,), _ = work.prepare(SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[-2:]))
    solved = enclose(section, None, SIZES[-1], SEARCH)
    assert solved.lower is not None
    assert solved.certificate is not None
    assert bound(section.problem(SIZES[-1]), solved.certificate) == solved.lower
    known: dict[Order, Between] = {
        None: Between(lower=solved.lower + 1, upper=solved.upper, cut=solved, chord=())
    }
    with pytest.raises(ScheduleError, match="another bound than their cut"):
        work.point(section, SIZES[-1], ("fluid",), known, SEARCH)


def test_a_bound_above_a_schedule_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    (section,), _ = work.prepare(SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[-1:]))
    monkeypatch.setattr(work, "bound", lambda *_: Fraction(10**12))
    with pytest.raises(ScheduleError, match="one of them is wrong"):
        work.point(section, SIZES[-1], ("belady",), {}, SEARCH)


def test_a_bound_that_was_not_solved_in_time_is_marked() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:2])
    (section,), _ = work.prepare(case)
    hurried = replace(SEARCH, time_limit_s=0.0)
    solved = enclose(section, None, SIZES[0], hurried)
    between = Between(lower=solved.lower, upper=solved.upper, cut=solved, chord=())
    assert between.gap is not None
    open_end = f"enclosed to within {float(100 * between.gap):.3g} % only"
    both: list[dict[Order, Between]] = [{}, {None: between}]
    for known in both:
        lru, page = work.point(section, SIZES[0], ("lru", "residency"), known, hurried)
        assert lru.status is Status.FEASIBLE
        assert lru.note == f"its bound is from a relaxation {open_end}"
        assert "its bound is" in page.note or OUT_OF_TIME in page.note
    (lru,) = work.point(section, SIZES[0], ("lru",), {}, SEARCH)
    assert lru.note == ""


def test_sections_and_policies_come_first() -> None:
    """Rows of a section before the curves of the next, those of optimizers last."""
    case = SweepCase(network=BERT, machine=MACHINE, capacities=(40_000, 80_000, 120_000, 160_000))
    found, _ = work.prepare(case)
    parts = [section.capacities for section in found]
    assert [len(part) for part in parts] == [1, 3]
    keys = list(swept(case, ["residency", "belady", "fluid"]))
    assert keys == [
        (size, name)
        for part in parts
        for names in (("belady", "fluid"), ("residency",))
        for size in part
        for name in names
    ]


def test_a_network_that_cannot_be_built_is_bad_input() -> None:
    network = replace(BERT, parameters=(("layres", 2),))
    with pytest.raises(InputError, match="did you mean layers"):
        swept(SweepCase(network=network, machine=MACHINE, capacities=SIZES[:1]), ["belady"])


def test_processes_give_the_same() -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:4])
    alone = swept(case, ["belady", "fluid"])
    several = swept(case, ["belady", "fluid"], jobs=2)
    assert {key: replace(one, solve_s=None) for key, one in several.items()} == {
        key: replace(one, solve_s=None) for key, one in alone.items()
    }


def test_shards_have_the_rows_of_the_whole(tmp_path: Path) -> None:
    case = SweepCase(network=BERT, machine=MACHINE, capacities=SIZES[:5])
    whole = Sweep(cases=(case,), schedulers=("belady", "fluid"), search=SEARCH)
    parts = [whole.shard(f"{k}/2") for k in (1, 2)]
    for sweep, cut in [(whole, {}), *parts]:
        path = tmp_path / f"{cut.get('shard', ['all'])[0]}.csv"
        with TaskQueue() as queue:
            run_sweeps([sweep], RowTable(path, SweepColumns(), cut), queue)
    merge([tmp_path / "2.csv", tmp_path / "1.csv"], tmp_path / "merged.csv")
    merged, direct = (untimed(tmp_path / name) for name in ("merged.csv", "all.csv"))
    assert merged == direct
    assert [len(untimed(tmp_path / name)) for name in ("1.csv", "2.csv")] == [4, 6]


def untimed(path: Path) -> list[Row]:
    """Rows of a table but for the seconds."""
    names, *lines = csv.reader(path.read_text().splitlines()[1:])
    assert names == list(SweepColumns().types)
    return [{**SweepColumns().row(line), "solve_s": None} for line in lines]
