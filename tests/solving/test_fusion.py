"""The scheduler of tiles.

Never worse than page, never below its bound, best of all fusion plans.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import spmopt
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.schedule import _Search
from formulations.fusion.trials import FusionPlanTrials
from formulations.residency import page
from spmopt.audit import audit
from spmopt.core.errors import InputError
from spmopt.core.fusion import certificate as sizes
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import FUSION_SPACES
from spmopt.core.fusion.tileable_graph import source_graph, tileable_graph_of, whole
from spmopt.core.graph import Graph
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.params import DEFAULTS
from spmopt.core.problem import Problem
from spmopt.core.result import End, Result, Status
from spmopt.core.scheduler import Incumbent, Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.solving import compare, solve
from spmopt.solving.case import Case
from spmopt.solving.records import Bound
from spmopt.solving.solver import _bound_of_plan
from spmopt.verifier import require_legal
from spmopt.verifier.fusion_bound import fusion_bound
from tests.checked import need
from tests.formulations.fusion.random_tileable_graph import fusion_plans
from tests.graph.networks import convolution, mlp
from tests.solving.fakes import free
from tests.thorough import THOROUGH, nightly, some


def lowered(graph: spmopt.Workload | Graph, spm: str) -> Problem:
    found = spmopt.lower(graph, spmopt.machine("rtx2080ti", spm=spm))
    assert isinstance(found, Problem)
    return found


def tight(graph: Graph, mapper: str = "choose") -> Problem:
    """Lower a tiny graph for a machine on which it does not fit."""
    machine = spmopt.machine("rtx2080ti", spm="256B", page="16B", bandwidth="10GB/s")
    found = spmopt.lower(graph, machine, mapper=mapper)
    assert isinstance(found, Problem)
    return found


def request(**given: Any) -> Request:
    return replace(Request(time_limit_s=8.0), **given)


@pytest.mark.parametrize("objective", some(["time", "traffic", "energy"], 3))
def test_it_is_never_worse_than_page_nor_below_its_bound(objective: str) -> None:
    problem = lowered(spmopt.load("resnet18", batch=4), "1MB") if THOROUGH else tight(convolution())
    aim, news = objective_named(objective, problem.machine), list[Incumbent]()

    def enough() -> bool:
        """A bound has been told, and a fusion plan better than layer by layer.

        The limit is for a busy machine, which may have no time for either within seconds.
        """
        told = [each for each in news if each.of_fusion_plans]
        values = [each.value for each in told if each.value is not None]
        return any(each.bound for each in told) and bool(values) and min(values) < values[0]

    asked = request(time_limit_s=60.0, objective=aim, on_incumbent=news.append, stop=enough)
    page, fusion = compare(problem, ["residency", "fusion"], replace(asked, tolerance=1e-2))
    assert need(fusion.value) <= need(page.value)
    assert fusion.fusion_bound is not None
    assert fusion.fusion_bound == page.fusion_bound
    assert fusion.fusion_bound <= need(fusion.value)
    assert fusion.fused is not None
    require_legal(fusion.fused, need(fusion.schedule))
    assert fusion.fusion_certificate is not None
    assert (
        fusion_bound(source_graph(fusion.fused), fusion.fusion_certificate) == fusion.fusion_bound
    )


def layers() -> Graph:
    """Two layers of two samples: few fusion plans."""
    b = GraphBuilder("layers")
    hidden = b.add("Gemm", [b.input("x", (2, 4)), b.weight("w1", (4, 16)), b.weight("b1", (16,))])
    softmax = b.add("Softmax", [hidden])
    return b.finish([b.add("Gemm", [softmax, b.weight("w2", (16, 3)), b.weight("b2", (3,))])])


def least_of(problem: Problem, most: Fraction) -> Fraction:
    """What a problem takes at least; where this may be below ``most``, the time of a schedule."""
    bound = need(solve(problem, "lp-bound", request(tolerance=1e-3)).bound)
    if bound >= most:
        return Fraction(bound)
    value = need(solve(problem, "residency", request(tolerance=1e-3)).value)
    return value


@pytest.mark.parametrize("make", [layers, pytest.param(convolution, marks=nightly)])
def test_of_a_tiny_network_it_finds_the_best_of_all_fusion_plans(make: object) -> None:
    assert callable(make)
    problem = tight(make(), "tiled")
    result = solve(problem, "fusion", request(tolerance=0.0, time_limit_s=60.0))
    assert result.value is not None
    found = source_graph(need(result.fused))
    numbers = sorted({number for each in found.operations for number in each.mappings})
    every = fusion_plans(found, ways=[(number, 1, 0) for number in numbers])
    # Fused groups that are whole make one problem, whatever their boundaries.
    apart = {
        tuple(each for each in fusion_plan if each.count > 1): fusion_plan for fusion_plan in every
    }
    assert len(apart) > 9
    for fusion_plan in apart.values():
        chunked, _ = source_graph(need(result.fused)).problem(fusion_plan)
        least = least_of(chunked, result.value)
        assert need(result.fusion_bound) <= least
        assert result.value <= least * 1001 / 1000
    page = need(solve(problem, "residency", request(tolerance=1e-4)).value)
    assert page > result.value * 101 / 100


def test_covers_are_scheduled_once_and_as_long_as_they_may_be_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fusion plans that differ in boundaries of whole groups are one.

    Others end once it is proved.
    """
    tried, ended, given = list[Problem](), list[Problem](), FusionPlanTrials.schedule_all

    def remember(
        trials: FusionPlanTrials, problem: Problem, asked: Request, *given_: Any, **options: Any
    ) -> page.Rounded | None:
        outcome = given(trials, problem, asked, *given_, **options)
        if not options["refined"]:  # else it is the best once more, to a finer tolerance
            tried.append(problem)
            ended.extend([problem] if asked.stop() else [])
        return outcome

    monkeypatch.setattr(FusionPlanTrials, "schedule_all", remember)
    result = solve(tight(mlp(), "tiled"), "fusion:space=batch", request(tolerance=0.04))
    assert len(tried) > 4
    assert not any(each in tried[:at] for at, each in enumerate(tried))
    trials = FusionPlanTrials(tileable_graph_of(tight(mlp(), "tiled")), request(), 0.0)
    trials.attempt(need(result.fused).fusion_plan)
    ended.clear()
    trials.attempt(whole(trials.tileable))
    assert ended
    for problem in ended:
        assert least_of(problem, need(result.value)) >= need(result.value)


def test_an_problem_without_a_graph_is_refused_in_one_line() -> None:
    problem = tight(layers())
    with pytest.raises(InputError, match="fusion tiles need a network"):
        solve(replace(problem, listed=None), "fusion", request())
    with pytest.raises(InputError, match="was changed after it was lowered"):
        solve(replace(problem, mapper="mine"), "fusion", request())


def test_a_time_limit_of_nothing_still_gives_a_schedule() -> None:
    problem = tight(mlp())
    result: Result = solve(problem, "fusion", request(time_limit_s=0.0))
    assert result.value is not None
    assert result.verified


def test_of_a_small_listing_too_what_is_left_is_not_solved_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of its 180 fused groups took seconds after an interrupt."""
    problem, solved, solve_one = (
        tight(training_graph(mlp())),
        list[FusedGroup](),
        FusedGroupArcs._solve,
    )

    def counted(self: FusedGroupArcs, fused_group: FusedGroup, *, twice: bool) -> Any:
        solved.append(fused_group)
        return solve_one(self, fused_group, twice=twice)

    monkeypatch.setattr(FusedGroupArcs, "_solve", counted)
    result = solve(problem, "fusion", request(time_limit_s=0.0, threads=1))
    assert result.verified
    assert len(solved) < 20


def of_fusion_spaces(graph: Graph, tolerance: float) -> list[float]:
    """Return what is found in each fusion space, once its fusion plans and claims are checked."""
    problem = tight(graph)
    found = {
        name: solve(problem, f"fusion:space={name}", request(tolerance=tolerance))
        for name in FUSION_SPACES
    }
    page = solve(problem, "residency", request(tolerance=tolerance))
    assert found["none"].value == page.value
    for name, result in found.items():
        assert result.fused is not None
        fusion_space = need(result.fusion_certificate).fusion_space
        assert fusion_space.name == name
        assert not source_graph(result.fused).outside(fusion_space, result.fused.fusion_plan)
        assert audit(result.fused, result).violations == ()
    return [float(result.value or 0) for result in found.values()]


def pooled() -> Graph:
    """A small convolution, ReLU and pooling."""
    b = GraphBuilder("pooled")
    c = b.add("Conv", [b.input("x", (2, 2, 4, 4)), b.weight("w", (2, 2, 3, 3))], pads=(1, 1, 1, 1))
    relu = b.add("Relu", [c])
    return b.finish([b.add("MaxPool", [relu], kernel_shape=(2, 2), strides=(2, 2))])


@nightly
def test_a_smaller_family_is_no_better_and_its_fusion_plans_are_of_it() -> None:
    """Of a tileable graph whose fusion plans are few: each search ends because all are tried."""
    none, fuse, batch, every = of_fusion_spaces(pooled(), 1e-3)
    assert none >= fuse >= every > 0
    assert none >= batch >= every
    assert none > every


def test_a_fusion_plan_outside_the_family_of_its_bound_is_refused() -> None:
    problem = tight(mlp(), "tiled")
    result = solve(problem, "fusion:space=batch", request(tolerance=0.04))
    assert result.fused is not None
    assert result.fusion_certificate is not None
    assert max(each.micro_batches for each in result.fused.fusion_plan) > 1
    fusion_space = source_graph(result.fused).fusion_space("none")
    certificate = FusionCertificate(
        fusion_space=fusion_space, objective=MAKESPAN, bits=60, duals={}
    )
    claimed = replace(result, fusion_certificate=certificate)
    said = [each.message for each in audit(result.fused, claimed).violations]
    assert any("over other fusion plans than the schedule's" in each for each in said)


def test_a_schedule_of_a_fusion_plan_in_another_order_claims_no_bound_over_the_space(
    tmp_path: Path,
) -> None:
    b = GraphBuilder("towers")
    w, towers = b.weight("w", (8, 8)), list[int]()
    for name in ("x", "z"):
        y = b.add("MatMul", [b.input(name, (4, 8)), w], name=f"{name}w")
        towers.append(b.add("Relu", [y], name=f"{name}r"))
    # The products come first, so that depth first is another order.
    listed = b.finish([b.add("Add", towers, name="sum")])
    nodes = tuple(listed.nodes[at] for at in (0, 2, 1, 3, 4))
    machine = spmopt.machine("rtx2080ti", spm="256B", page="1B")
    problem = spmopt.lower(replace(listed, nodes=nodes), machine)
    plan = [FusedGroup(begin=0, end=len(problem.operations))]
    found = spmopt.solve(problem, "tsai", fusion_plan=plan, time_limit=1)
    assert found.result.order is not None
    found.save(tmp_path / "found.json")
    assert spmopt.verify(tmp_path / "found.json").violations == ()


def test_layer_by_layer_comes_first_with_its_bound() -> None:
    problem, news = tight(convolution(), "tiled"), list[Incumbent]()
    asked = replace(request(tolerance=1e-2), on_incumbent=news.append)
    result = solve(problem, "fusion:space=batch", asked)
    (page,) = result.beside
    assert (page.scheduler, page.fused) == ("residency", None)
    assert need(result.value) <= need(page.value)
    assert need(page.bound) <= need(page.value)
    names = list(dict.fromkeys(each.scheduler for each in news))
    assert names == ["residency", "fusion:space=batch"]
    assert {each.of_fusion_plans for each in news if each.scheduler == names[1]} == {True}
    certain = [each.bound for each in news if each.scheduler == "residency" and each.certified]
    assert certain[-1] == need(page.bound)
    first = next(at for at, each in enumerate(news) if each.scheduler == names[1])
    assert any(each.certified for each in news[:first])


def test_a_long_list_has_values_of_short_fused_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of all fused groups of 10,000 operations would take 7 GB in each table."""
    monkeypatch.setattr(sizes, "ALL_OF", 1)
    monkeypatch.setattr(sizes, "MOST_OPERATIONS", 4)
    # It ends by its gap: the limit is for a busy machine.
    asked = request(tolerance=0.3, threads=1, time_limit_s=600.0)
    result = solve(tight(training_graph(mlp()), "tiled"), "fusion:space=batch", asked)
    (page,) = result.beside
    proof = need(result.fusion_certificate)
    assert len(source_graph(need(result.fused)).operations) > 8
    assert max(each.end - each.begin for each in (*proof.duals, *proof.runs)) <= 4
    assert 0 < need(result.fusion_bound) <= need(result.value) < need(page.value)
    assert result.verified


def test_a_search_that_its_time_ends_does_not_say_that_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though the bound is exact, as of a network of few operations."""
    asked = request(time_limit_s=600.0, threads=1)
    assert solve(tight(layers(), "tiled"), "fusion", asked).end != End.LIMIT
    monkeypatch.setattr(_Search, "_over", property(lambda _: True))
    result = solve(tight(layers(), "tiled"), "fusion", asked)
    assert (result.end, result.cut_short) == (End.LIMIT, False)


def test_a_plan_is_refined_whose_rounded_schedule_hides_what_it_is_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 16 pages rounding lost 60 % of a plan that windows made the best of all."""
    tileable = tileable_graph_of(tight(convolution()))
    params = replace(DEFAULTS, fusion=replace(DEFAULTS.fusion, finalists=1))
    trials = FusionPlanTrials(tileable, request(time_limit_s=600.0, params=params), 0.0)
    trials.attempt(whole(tileable))
    best, refined = need(trials.best), list[Problem]()
    promising, hopeless = (replace(best.problem, name=name) for name in ("promising", "hopeless"))
    for at, (problem, bound) in enumerate(((promising, 0.9), (hopeless, 1.1))):
        plan = (FusedGroup(begin=at, end=at + 1, micro_batches=2),)
        own = replace(best, fusion_plan=plan, problem=problem, value=2 * best.value)
        trials._keep(replace(own, bound=bound * float(best.value)))
    assert [each.problem for each in trials.open] == [promising]

    def refine(problem: Problem, *_: Any) -> Result:
        refined.append(problem)
        return best.outcome

    monkeypatch.setattr(page, "refine", refine)
    trials.finish()
    assert promising in refined
    assert hopeless not in refined


def test_without_tiles_the_bound_of_the_list_holds_too() -> None:
    """The better dual values may be those of the schedule that the search starts from."""
    problem = tight(mlp())
    tileable = tileable_graph_of(problem)
    listed = Bound(value=Fraction(10**9), certificate=free(problem, MAKESPAN))
    layers = tileable.problem(whole(tileable))[0]
    tiled = next(plan for plan in fusion_plans(tileable) if any(g.count > 1 for g in plan))
    fused = tileable.problem(tiled)[0]
    for plan, expected in ((layers, listed.value), (fused, None)):
        result = Result(fused=plan, certificate=free(plan, MAKESPAN))
        found = need(_bound_of_plan(Case(problem, request()), result, listed))
        own = need(_bound_of_plan(Case(problem, request()), result, None))
        assert found.value == (own.value if expected is None else expected)
        assert own.value < listed.value


def test_residency_that_runs_after_fusion_is_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has all of the limit, where the start of a fusion search has a part."""
    problem = tight(convolution(), "tiled")
    listed = solve(problem, "residency", request(tolerance=1e-2))
    fused = solve(problem, "fusion:space=batch", request(tolerance=0.04))
    worse = replace(fused, value=need(listed.value) + 1, status=Status.UNKNOWN)

    def run_each(case: Case, entries: object) -> list[Result]:
        case.listed = listed
        return [worse, listed]

    monkeypatch.setattr("spmopt.solving.solver.run_each", run_each)
    found, _ = compare(problem, ["fusion", "residency"], request(tolerance=1e-2))
    assert found.value == listed.value


def test_all_operations_in_one_group_move_every_byte_once() -> None:
    """A plan of one group has no boundary; there are too many plans to try all."""
    b = GraphBuilder("chain")
    x = b.add("MatMul", [b.input("x", (256, 64)), b.weight("w", (64, 256))])
    for operator in ("Relu", "Sigmoid", "Tanh", "Exp"):
        x = b.add(operator, [x])
    graph = b.finish([b.add("MatMul", [x, b.weight("v", (256, 16))])])
    problem = spmopt.lower(graph, spmopt.machine("small-npu", spm="112KiB"))
    found = spmopt.solve(problem, fusion="all", objective="traffic", time_limit=20).result
    assert found.status is Status.OPTIMAL
    assert found.value == 4 * (256 * 64 + 64 * 256 + 256 * 16 + 256 * 16)
