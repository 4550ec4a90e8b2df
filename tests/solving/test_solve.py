from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt.audit import audit
from spmopt.cli import _explain
from spmopt.cli.codes import Code
from spmopt.core.errors import ContradictionError, InfeasibleError, InputError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import STATIONARY
from spmopt.core.result import (
    EVERY_SCHEDULE,
    LARGEST_TOLERANCE,
    WHOLE_TENSORS,
    ClassBound,
    Outcome,
    Status,
)
from spmopt.core.schedule import Residency, Stores
from spmopt.core.scheduler import Request
from spmopt.policies import belady, stream
from spmopt.schedulers import registry
from spmopt.schedulers.registry import SCHEDULERS, find
from spmopt.solving import checked_calls, compare, solve
from spmopt.verifier import bound, verify
from tests.solving.fakes import Answer, bounds_only, exact, free, install, keeps_start
from tests.strategies import random_instance

INSTANCE = random_instance(32, max_operations=8, max_tensors=6, stationary=False)
POLICIES = ["stream", "lru", "belady"]


def nowhere(instance: Instance, request: Request) -> Outcome:
    raise InfeasibleError("operation conv1: its stationary operand exceeds the scratchpad")


def without_plan(instance: Instance, request: Request) -> Outcome:
    return Outcome(plan=None, certificate=free(instance, request.objective))


def lost_results(instance: Instance, request: Request) -> Outcome:
    """A plan that keeps every tensor everywhere, far more than there is room for."""
    plan = belady(instance, request).plan
    assert plan is not None
    tensors = np.arange(len(instance.tensors))
    steps = np.full_like(tensors, len(instance.operations))
    sizes = np.array([t.size_bytes for t in instance.tensors])
    rows = Residency(tensor=tensors, begin=0 * tensors, end=steps, size_bytes=sizes)
    return Outcome(plan=replace(plan, residency=rows, stores=Stores.empty()))


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC, energy_objective(INSTANCE.machine)])
def test_policies_are_verified_and_bounded(
    monkeypatch: pytest.MonkeyPatch, objective: Objective
) -> None:
    install(monkeypatch, fluid=bounds_only)
    results = compare(INSTANCE, POLICIES, Request(objective=objective))
    assert [result.scheduler for result in results] == POLICIES
    for result in results:
        assert result.verified
        assert result.schedule is not None
        report = verify(INSTANCE, result.schedule, result.totals)
        assert report.legal
        assert report.totals == result.totals
        assert report.totals is not None
        assert result.value == report.totals.value(objective)
        assert result.certificate is not None
        assert result.bound == bound(INSTANCE, result.certificate)
        assert result.gap == pytest.approx(float(exact(result) / result.bound - 1))


def test_all_are_held_against_the_best_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(instance: Instance, request: Request) -> Outcome:
        certificate = free(instance, request.objective)
        full = np.full(
            len(instance.operations), int(2**40 / instance.machine.bytes_per_cycle), np.int64
        )
        return Outcome(plan=None, certificate=replace(certificate, dram_in=full, dram_out=full))

    install(monkeypatch, page=keeps_start, fluid=nothing)
    machine = replace(INSTANCE.machine, duplex=False)
    instance = replace(INSTANCE, machine=machine)
    page, fluid, lru = compare(instance, ["page", "fluid", "lru"], Request())
    assert page.bound == fluid.bound == lru.bound
    best = max(
        bound(instance, free(instance, MAKESPAN)),
        bound(instance, fluid.certificate or free(instance, MAKESPAN)),
    )
    assert page.bound == best
    assert fluid.value is None
    assert (fluid.status, fluid.verified, fluid.gap) == (Status.UNKNOWN, False, None)


def test_optimizer_starts_from_the_best_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, page=keeps_start)
    names = [*find("page").starts, "page"]
    *policies, page = compare(INSTANCE, names, Request(objective=TRAFFIC))
    assert exact(page) == min(exact(result) for result in policies)
    assert fakes.requests["page"][0].start is not None
    assert page.solve_s >= sum(result.solve_s for result in policies)


def test_optimizer_is_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=stream, whole=without_plan, fluid=bounds_only)
    best, page, whole = compare(INSTANCE, ["belady", "page", "whole"], Request(objective=TRAFFIC))
    (streamed,) = compare(INSTANCE, ["stream"], Request(objective=TRAFFIC))
    assert exact(best) < exact(streamed)
    for result in (page, whole):
        assert result.value == best.value
        assert result.schedule == best.schedule
        assert result.notes[-1].startswith("nothing better found than belady")


def test_optimizer_is_never_worse_than_a_policy_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes: dict[str, Answer] = {"belady": stream, "belady-size": stream, "lru": belady}
    install(monkeypatch, whole=stream, fluid=bounds_only, **fakes)
    lru, whole = compare(INSTANCE, ["lru", "whole"], Request(objective=TRAFFIC))
    (streamed,) = compare(INSTANCE, ["stream"], Request(objective=TRAFFIC))
    assert exact(lru) < exact(streamed)
    assert whole.schedule == lru.schedule
    assert whole.notes[-1].startswith("nothing better found than lru")


def test_whole_tensors_do_not_start_from_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, whole=keeps_start, page=keeps_start)
    names = ["belady-size:granularity=page", *find("whole").starts, "page", "whole"]
    objective = Request(objective=TRAFFIC)
    differ = 0
    for seed in range(20):
        instance = random_instance(seed, max_operations=12, max_tensors=8, max_tensor_pages=6)
        *policies, page, whole = map(exact, compare(instance, names, objective))
        assert page == min(policies)
        assert whole == min(policies[1:])
        differ += page < whole
    assert differ >= 3


def test_each_policy_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, belady=belady, page=keeps_start, whole=keeps_start)
    compare(INSTANCE, ["belady", "page", "whole"], Request())
    assert len(fakes.requests["belady"]) == 1


def test_status_follows_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=keeps_start)
    loose = solve(INSTANCE, "page", Request(tolerance=1e9))
    assert loose.gap is not None
    assert loose.gap > LARGEST_TOLERANCE
    assert loose.status is Status.FEASIBLE
    assert solve(INSTANCE, "page", Request(tolerance=0.0)).status is Status.FEASIBLE
    for tolerance, status in ((loose.gap, Status.OPTIMAL), (loose.gap / 2, Status.FEASIBLE)):
        monkeypatch.setattr("spmopt.core.result.LARGEST_TOLERANCE", 1.0)
        assert solve(INSTANCE, "page", Request(tolerance=tolerance)).status is status


def test_illegal_schedule_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=lost_results)
    with pytest.raises(ScheduleError, match=r"scheduler page: .*not legal: R"):
        solve(INSTANCE, "page", Request())


@pytest.mark.parametrize("worse", [False, True])
def test_untrue_bound_by_enumeration_never_leaves(
    monkeypatch: pytest.MonkeyPatch, worse: bool
) -> None:
    """Whether its own schedule is below it, or that of a policy that it starts from."""

    def page(instance: Instance, request: Request) -> Outcome:
        known = ClassBound(value=1e30, holds_for=EVERY_SCHEDULE, proved_by="an enumeration")
        outcome = stream(instance, request) if worse else keeps_start(instance, request)
        return replace(outcome, class_bound=known)

    install(monkeypatch, page=page)
    with pytest.raises(
        ScheduleError, match=r"bound 1e\+30 of an enumeration is above the schedule"
    ):
        solve(INSTANCE, "page", Request())


def test_untrue_bound_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=keeps_start)
    monkeypatch.setattr(checked_calls, "bound", lambda *_: Fraction(10**30))
    with pytest.raises(ScheduleError, match=r"bound 1e\+30 is above the schedule of"):
        solve(INSTANCE, "page", Request())


def test_certificate_for_another_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(instance: Instance, request: Request) -> Outcome:
        return Outcome(plan=request.start, certificate=free(instance, TRAFFIC))

    install(monkeypatch, page=mistaken)
    with pytest.raises(ScheduleError, match="another objective"):
        solve(INSTANCE, "page", Request(objective=MAKESPAN))


def test_infeasible_is_a_status_with_its_reason() -> None:
    operation = INSTANCE.operations[0]
    modes = tuple(
        replace(mode, operands=tuple(STATIONARY for _ in mode.operands)) for mode in operation.modes
    )
    big = replace(INSTANCE.tensors[operation.tensors[0]], size_bytes=10**6)
    tensors = list(INSTANCE.tensors)
    tensors[operation.tensors[0]] = big
    instance = replace(
        INSTANCE,
        tensors=tuple(tensors),
        operations=(replace(operation, modes=modes), *INSTANCE.operations[1:]),
    )
    result = solve(instance, "belady", Request())
    assert result.status is Status.INFEASIBLE
    assert result.schedule is None
    assert operation.name in result.notes[0]


def test_contradiction_about_feasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=nowhere)
    with pytest.raises(ScheduleError, match="infeasible, but"):
        solve(INSTANCE, "page", Request())


def test_no_plan_and_no_start_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes: dict[str, Answer] = {"page": without_plan, "belady-size": nowhere}
    install(monkeypatch, belady=nowhere, stream=nowhere, whole=nowhere, **fakes)
    entry = replace(registry.SCHEDULERS["page"], starts=SCHEDULERS["whole"].starts)
    own = {**registry.SCHEDULERS, "page": entry}
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own=own))
    page, whole = compare(INSTANCE, ["page", "whole"], Request())
    assert (page.status, page.verified) == (Status.UNKNOWN, False)
    assert page.bound is not None
    assert whole.status is Status.INFEASIBLE


def test_stop_leaves_out_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, belady=belady, fluid=bounds_only)
    request = Request(stop=lambda: "belady" in fakes.requests)
    results = compare(INSTANCE, ["belady", "lru", "stream"], request)
    assert [result.scheduler for result in results] == ["belady"]
    assert results[0].verified
    assert results[0].bound is not None


def test_stop_ends_the_policies_that_an_optimizer_starts_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fakes = install(monkeypatch, belady=belady, stream=stream, page=keeps_start)
    page = solve(INSTANCE, "page", Request(stop=lambda: "belady" in fakes.requests))
    assert page.verified
    assert list(fakes.requests) == ["belady", "page"]
    # A policy that finds no schedule is no reason to have none.
    fakes = install(monkeypatch, belady=nowhere, stream=stream, page=keeps_start)
    assert solve(INSTANCE, "page", Request(stop=lambda: True)).verified


def test_the_start_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []
    install(monkeypatch, page=keeps_start, fluid=bounds_only)
    request = Request(report=lambda message, done: verified.append(message))
    page = solve(INSTANCE, "page", request)
    assert page.verified
    assert "belady: verifying" in verified
    assert "page: verifying" not in verified


def test_notes_and_class_bound_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ClassBound(value=1.0, holds_for="whole tensors", proved_by="HiGHS")

    def talks(instance: Instance, request: Request) -> Outcome:
        return replace(keeps_start(instance, request), notes=("said",), class_bound=known)

    install(monkeypatch, whole=talks)
    result = solve(INSTANCE, "whole", Request())
    assert result.notes == ("said",)
    assert result.class_bound == known


def test_a_class_bound_is_what_its_prices_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    def claims(instance: Instance, request: Request) -> Outcome:
        prices = replace(free(instance, request.objective), holds_for=WHOLE_TENSORS)
        known = ClassBound(value=1e30, holds_for=WHOLE_TENSORS, proved_by="x", certificate=prices)
        return replace(keeps_start(instance, request), class_bound=known)

    install(monkeypatch, whole=claims)
    known = solve(INSTANCE, "whole", Request()).class_bound
    assert known is not None
    computing = sum(op.modes[0].compute_cycles for op in INSTANCE.operations)
    assert known.value == computing


def test_names_are_checked_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, belady=belady)
    with pytest.raises(InputError, match="no scheduler called 'pages'"):
        compare(INSTANCE, ["belady", "pages"], Request())
    assert fakes.requests == {}


def test_progress_names_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    install(monkeypatch, page=stream)
    solve(INSTANCE, "page", Request(report=lambda message, done: said.append(message)))
    assert "page: scheduling" in said
    assert "page: verifying" in said
    assert "belady: verifying" in said


def test_a_schedule_is_kept_where_its_certificate_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What fails in certifying is no error of the user, and costs no schedule."""

    def dear(instance: Instance, request: Request) -> Outcome:
        proof = free(instance, request.objective)
        prices = proof.dram_in + 2**50
        proof = replace(proof, dram_in=prices, dram_out=prices)
        return Outcome(plan=request.start, certificate=proof)

    install(monkeypatch, page=dear)
    result = solve(INSTANCE, "page", Request())
    assert result.verified
    assert result.bound is None
    assert result.status is Status.FEASIBLE
    (note,) = [note for note in result.notes if note.startswith("no bound: ")]
    assert "exceed the price of its time" in note
    assert not audit(INSTANCE, result).violations


def test_a_contradiction_is_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, page=lost_results)
    with pytest.raises(ContradictionError) as found:
        solve(INSTANCE, "page", Request())
    assert _explain(found.value) == Code.INTERNAL


def test_a_fusion_search_starts_alike_whoever_ran_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that solve and compare give one result for one time limit."""

    def by_tolerance(instance: Instance, request: Request) -> Outcome:
        """Prove with other prices, as a longer search does."""
        proof = free(instance, request.objective)
        return Outcome(
            plan=request.start,
            certificate=replace(proof, bits=40 if request.tolerance == 1e-4 else 41),
        )

    fakes = install(monkeypatch, page=by_tolerance, pieces=without_plan, fluid=bounds_only)
    solve(INSTANCE, "pieces", Request())
    compare(INSTANCE, ["page", "pieces"], Request())
    alone, beside = fakes.requests["pieces"]
    assert alone.prices is not None
    assert beside.prices is not None
    assert alone.prices.bits == beside.prices.bits == 41
