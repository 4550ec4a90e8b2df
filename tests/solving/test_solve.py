from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt import load, lower
from spmopt.audit import audit
from spmopt.cli import _explain
from spmopt.cli.codes import Code
from spmopt.core.errors import ContradictionError, InfeasibleError, ScheduleError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import REQUIRED_RESIDENT
from spmopt.core.problem import Problem
from spmopt.core.result import (
    LARGEST_TOLERANCE,
    WHOLE_TENSORS,
    ClassBound,
    Result,
    Status,
)
from spmopt.core.schedule import Residency, Stores
from spmopt.core.scheduler import Request
from spmopt.hardware.machines import load_machine
from spmopt.policies.belady import belady
from spmopt.policies.static import stream
from spmopt.schedulers import registry
from spmopt.schedulers.registry import SCHEDULERS, find
from spmopt.solving import checked_calls, compare, solve
from spmopt.verifier import bound, verify
from tests.checked import need
from tests.solving.fakes import Answer, bounds_only, exact, free, install, keeps_start
from tests.strategies import random_problem
from tests.thorough import some

PROBLEM = random_problem(32, max_operations=8, max_tensors=6, required_resident=False)
POLICIES = ["stream", "lru", "belady"]


def nowhere(problem: Problem, request: Request) -> Result:
    raise InfeasibleError("operation conv1: its required-resident operand exceeds the scratchpad")


def without_residency_plan(problem: Problem, request: Request) -> Result:
    return Result(residency_plan=None, certificate=free(problem, request.objective))


def lost_results(problem: Problem, request: Request) -> Result:
    """A residency plan that keeps every tensor everywhere, far more than there is room for."""
    residency_plan = need(belady(problem, request).residency_plan)
    steps = len(problem.operations)
    rows = [(tensor, 0, steps, each.size_bytes) for tensor, each in enumerate(problem.tensors)]
    held = Residency.of_rows(rows)
    return Result(residency_plan=replace(residency_plan, residency=held, stores=Stores.empty()))


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC, energy_objective(PROBLEM.machine)])
def test_policies_are_verified_and_bounded(
    monkeypatch: pytest.MonkeyPatch, objective: Objective
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    results = compare(PROBLEM, POLICIES, Request(objective=objective))
    assert [result.scheduler for result in results] == POLICIES
    for result in results:
        assert result.verified
        report = verify(PROBLEM, need(result.schedule), result.totals)
        assert report.legal
        assert report.totals == result.totals
        assert result.value == need(report.totals).value(objective)
        assert result.bound == bound(PROBLEM, need(result.certificate))
        assert result.gap == pytest.approx(float(exact(result) / result.bound - 1))


def test_all_are_held_against_the_best_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(problem: Problem, request: Request) -> Result:
        certificate = free(problem, request.objective)
        full = np.full(
            len(problem.operations), int(2**40 / problem.machine.bytes_per_cycle), np.int64
        )
        return Result(
            residency_plan=None, certificate=replace(certificate, dram_in=full, dram_out=full)
        )

    install(monkeypatch, residency=keeps_start, lp_bound=nothing)
    machine = replace(PROBLEM.machine, duplex=False)
    problem = replace(PROBLEM, machine=machine)
    page, fluid, lru = compare(problem, ["residency", "lp-bound", "lru"], Request())
    assert page.bound == fluid.bound == lru.bound
    best = max(
        bound(problem, free(problem, MAKESPAN)),
        bound(problem, fluid.certificate or free(problem, MAKESPAN)),
    )
    assert page.bound == best
    assert fluid.value is None
    assert (fluid.status, fluid.verified, fluid.gap) == (Status.UNKNOWN, False, None)


def test_optimizer_starts_from_the_best_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, residency=keeps_start)
    names = [*find("residency").starts, "residency"]
    *policies, page = compare(PROBLEM, names, Request(objective=TRAFFIC))
    assert exact(page) == min(exact(result) for result in policies)
    assert fakes.requests["residency"][0].start is not None
    assert page.solve_s >= sum(result.solve_s for result in policies)


def test_optimizer_is_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=stream, whole=without_residency_plan, lp_bound=bounds_only)
    best, page, whole = compare(
        PROBLEM, ["belady", "residency", "residency:granularity=tensor"], Request(objective=TRAFFIC)
    )
    (streamed,) = compare(PROBLEM, ["stream"], Request(objective=TRAFFIC))
    assert exact(best) < exact(streamed)
    for result in (page, whole):
        assert result.value == best.value
        assert result.schedule == best.schedule
        assert result.notes[-1].startswith("nothing better found than belady")


def test_whole_tensors_do_not_start_from_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, whole=keeps_start, residency=keeps_start)
    names = [
        "belady-size:granularity=page",
        *find("residency:granularity=tensor").starts,
        "residency",
        "residency:granularity=tensor",
    ]
    objective = Request(objective=TRAFFIC)
    differ = 0
    for seed in some(range(20), 2):
        problem = random_problem(seed, max_operations=12, max_tensors=8, max_tensor_pages=6)
        *policies, page, whole = map(exact, compare(problem, names, objective))
        assert page == min(policies)
        assert whole == min(policies[1:])
        differ += page < whole
    assert differ >= 1


def test_status_follows_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=keeps_start)
    loose = solve(PROBLEM, "residency", Request(tolerance=1e9))
    assert loose.gap is not None
    assert loose.gap > LARGEST_TOLERANCE
    assert loose.status is Status.FEASIBLE
    assert solve(PROBLEM, "residency", Request(tolerance=0.0)).status is Status.FEASIBLE
    for tolerance, status in ((loose.gap, Status.OPTIMAL), (loose.gap / 2, Status.FEASIBLE)):
        monkeypatch.setattr("spmopt.core.result.LARGEST_TOLERANCE", 1.0)
        assert solve(PROBLEM, "residency", Request(tolerance=tolerance)).status is status


def test_illegal_schedule_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=lost_results)
    with pytest.raises(ScheduleError, match=r"scheduler residency: .*not legal: R"):
        solve(PROBLEM, "residency", Request())


def test_untrue_bound_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=keeps_start)
    monkeypatch.setattr(checked_calls, "bound", lambda *_: Fraction(10**30))
    with pytest.raises(ScheduleError, match=r"bound 1e\+30 is above the schedule of"):
        solve(PROBLEM, "residency", Request())


def test_certificate_for_another_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(problem: Problem, request: Request) -> Result:
        return Result(residency_plan=request.start, certificate=free(problem, TRAFFIC))

    install(monkeypatch, residency=mistaken)
    with pytest.raises(ScheduleError, match="another objective"):
        solve(PROBLEM, "residency", Request(objective=MAKESPAN))


def test_infeasible_is_a_status_with_its_reason() -> None:
    operation = PROBLEM.operations[0]
    mappings = tuple(
        replace(mapping, operands=tuple(REQUIRED_RESIDENT for _ in mapping.operands))
        for mapping in operation.mappings
    )
    big = replace(PROBLEM.tensors[operation.tensors[0]], size_bytes=10**6)
    tensors = list(PROBLEM.tensors)
    tensors[operation.tensors[0]] = big
    problem = replace(
        PROBLEM,
        tensors=tuple(tensors),
        operations=(replace(operation, mappings=mappings), *PROBLEM.operations[1:]),
    )
    result = solve(problem, "belady", Request())
    assert result.status is Status.INFEASIBLE
    assert result.schedule is None
    assert operation.name in result.notes[0]


def test_contradiction_about_feasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=nowhere)
    with pytest.raises(ScheduleError, match="infeasible, but"):
        solve(PROBLEM, "residency", Request())


def test_no_plan_and_no_start_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes: dict[str, Answer] = {"residency": without_residency_plan, "belady-size": nowhere}
    install(monkeypatch, belady=nowhere, stream=nowhere, whole=nowhere, **fakes)
    entry = replace(
        registry.SCHEDULERS["residency"], starts=SCHEDULERS["residency:granularity=tensor"].starts
    )
    own = {**registry.SCHEDULERS, "residency": entry}
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own=own))
    page, whole = compare(PROBLEM, ["residency", "residency:granularity=tensor"], Request())
    assert (page.status, page.verified) == (Status.UNKNOWN, False)
    assert page.bound is not None
    assert whole.status is Status.INFEASIBLE


def test_stop_leaves_out_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, belady=belady, lp_bound=bounds_only)
    request = Request(stop=lambda: "belady" in fakes.requests)
    results = compare(PROBLEM, ["belady", "lru", "stream"], request)
    assert [result.scheduler for result in results] == ["belady"]
    assert results[0].verified
    assert results[0].bound is not None


def test_stop_ends_the_policies_that_an_optimizer_starts_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fakes = install(monkeypatch, belady=belady, stream=stream, residency=keeps_start)
    page = solve(PROBLEM, "residency", Request(stop=lambda: "belady" in fakes.requests))
    assert page.verified
    assert list(fakes.requests) == ["belady", "residency"]
    # A policy that finds no schedule is no reason to have none.
    fakes = install(monkeypatch, belady=nowhere, stream=stream, residency=keeps_start)
    assert solve(PROBLEM, "residency", Request(stop=lambda: True)).verified


def test_a_class_bound_is_what_its_duals_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    def claims(problem: Problem, request: Request) -> Result:
        duals = replace(free(problem, request.objective), holds_for=WHOLE_TENSORS)
        known = ClassBound(value=1e30, holds_for=WHOLE_TENSORS, proved_by="x", certificate=duals)
        return replace(keeps_start(problem, request), class_bound=known)

    install(monkeypatch, whole=claims)
    known = need(solve(PROBLEM, "whole", Request()).class_bound)
    computing = sum(op.mappings[0].compute_cycles for op in PROBLEM.operations)
    assert known.value == computing


def test_a_schedule_is_kept_where_its_certificate_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What fails in certifying is no error of the user, and costs no schedule."""

    def dear(problem: Problem, request: Request) -> Result:
        proof = free(problem, request.objective)
        duals = proof.dram_in + 2**50
        proof = replace(proof, dram_in=duals, dram_out=duals)
        return Result(residency_plan=request.start, certificate=proof)

    install(monkeypatch, residency=dear)
    result = solve(PROBLEM, "residency", Request())
    assert result.verified
    assert result.bound is None
    assert result.status is Status.FEASIBLE
    (note,) = [note for note in result.notes if note.startswith("no bound: ")]
    assert "exceed the dual value of its time" in note
    assert not audit(PROBLEM, result).violations


def test_a_contradiction_is_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, residency=lost_results)
    with pytest.raises(ContradictionError) as found:
        solve(PROBLEM, "residency", Request())
    assert _explain(found.value) == Code.INTERNAL


def test_a_fusion_search_starts_alike_whoever_ran_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that solve and compare give one result for one time limit."""

    def by_tolerance(problem: Problem, request: Request) -> Result:
        """Prove with other dual values, as a longer search does."""
        proof = free(problem, request.objective)
        return Result(
            residency_plan=request.start,
            certificate=replace(proof, bits=40 if request.tolerance == 1e-4 else 41),
        )

    starts = list[int]()

    def from_first(problem: Problem, request: Request) -> Result:
        starts.append(need(need(request.first)(False).certificate).bits)
        return without_residency_plan(problem, request)

    install(monkeypatch, residency=by_tolerance, fusion=from_first, lp_bound=bounds_only)
    solve(PROBLEM, "fusion", Request())
    compare(PROBLEM, ["residency", "fusion"], Request())
    assert starts == [41, 41]


def test_program_that_the_solver_refuses_leads_to_the_answer_without_it() -> None:
    """HiGHS takes no coefficient of 1e15 or more, which pages of 2^50 bytes make."""
    machine = replace(PROBLEM.machine, spm_bytes=2**60, page_bytes=2**50)
    result = solve(replace(PROBLEM, machine=machine), find("residency"), Request(time_limit_s=2.0))
    assert (result.verified, result.status) == (True, Status.FEASIBLE)
    assert any(note.startswith("HiGHS refused the program (page size") for note in result.notes)


def test_fusion_on_a_scratchpad_of_an_exabyte() -> None:
    """Its bytes in all micro-batches do not fit 64 bits."""
    problem = lower(load("bert-tiny", batch=64), load_machine("rtx2080ti", {"spm": "1048576TiB"}))
    request = Request(time_limit_s=0.6)
    assert solve(problem, find("fusion"), request).verified
