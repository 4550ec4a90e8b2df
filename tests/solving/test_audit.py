from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.residency.plain.search import CLASS
from spmopt.audit import audit
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective
from spmopt.core.result import (
    WHOLE_TENSORS,
    Certificate,
    ClassBound,
    Result,
    Status,
    is_optimal,
)
from spmopt.core.scheduler import Request
from spmopt.solving import compare, solve
from spmopt.verifier import bound
from tests.checked import need
from tests.solving.fakes import bounds_only, free, install
from tests.strategies import random_problem

PROBLEM = random_problem(32, max_operations=8, max_tensors=6, required_resident=False)


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> Result:
    install(monkeypatch, lp_bound=bounds_only)
    return compare(PROBLEM, ["belady"], Request())[0]


@pytest.fixture
def certificate(result: Result) -> Certificate:
    return need(result.certificate)


def complaint(result: Result) -> str:
    found = audit(PROBLEM, result).violations
    assert len(found) == 1, found
    return str(found[0])


def test_true_claims_stand(result: Result) -> None:
    found = audit(PROBLEM, result)
    assert found.violations == ()
    assert (found.value, found.bound, found.totals) == (result.value, result.bound, result.totals)


def test_a_bound_alone_stands(result: Result) -> None:
    bare = replace(
        result, schedule=None, totals=None, value=None, status=Status.UNKNOWN, verified=False
    )
    found = audit(PROBLEM, bare)
    assert found.violations == ()
    assert (found.value, found.bound) == (None, result.bound)


FALSE: list[tuple[str, Callable[[Result], dict[str, Any]]]] = [
    ("dram_in_bytes", lambda r: {"totals": replace(need(r.totals), dram_in_bytes=1)}),
    ("the objective is", lambda r: {"value": Fraction(1, 3)}),
    ("prove a bound of", lambda r: {"bound": need(r.bound) + 1}),
    ("no dual values to prove it", lambda r: {"certificate": None}),
    ("none is claimed", lambda r: {"bound": None}),
    ("for another objective", lambda r: {"objective": replace(MAKESPAN, name="mine")}),
    ("infeasible, yet", lambda r: {"status": Status.INFEASIBLE}),
    (
        "optimal without both",
        lambda r: {"status": Status.OPTIMAL, "bound": None, "certificate": None},
    ),
    ("the tolerance asked for is 0.0001", lambda r: {"status": Status.OPTIMAL}),
    ("the usual tolerance", lambda r: {"status": Status.OPTIMAL, "tolerance": None}),
    ("figures of a schedule are claimed, but", lambda r: NONE | {"verified": True}),
    ("a verified schedule is claimed, but", lambda r: NONE | EMPTY | {"verified": True}),
    ("feasible without a schedule", lambda r: NONE | EMPTY | {"status": Status.FEASIBLE}),
]
NONE: dict[str, Any] = {"schedule": None, "status": Status.UNKNOWN, "verified": False}
EMPTY: dict[str, Any] = {"value": None, "totals": None}


@pytest.mark.parametrize(("said", "changes"), FALSE, ids=[said for said, _ in FALSE])
def test_a_false_claim_is_seen(
    said: str, changes: Callable[[Result], dict[str, Any]], result: Result
) -> None:
    assert need(result.gap) > 1e-3
    assert said in complaint(replace(result, **changes(result)))


def test_less_than_the_duals_prove_may_be_claimed(result: Result) -> None:
    """As an earlier version did."""
    assert audit(PROBLEM, replace(result, bound=need(result.bound) - 1)).violations == ()


def test_wrong_objective(result: Result) -> None:
    cheap = replace(MAKESPAN, cycle=Fraction(1, 2))
    assert "weights are not those" in str(audit(PROBLEM, replace(result, objective=cheap)))
    energy = energy_objective(random_problem(3).machine)
    assert "weights are not those of the objective energy" in str(
        audit(PROBLEM, replace(result, objective=energy))
    )


def test_illegal_duals(result: Result, certificate: Certificate) -> None:
    heavy = np.full_like(certificate.dram_in, 2**50)
    dear = replace(certificate, dram_in=heavy, dram_out=heavy)
    assert "exceed the dual value of its time" in str(
        audit(PROBLEM, replace(result, certificate=dear)).violations
    )
    short = replace(certificate, spm=certificate.spm[1:])
    assert "one dual value for each" in str(
        audit(PROBLEM, replace(result, certificate=short)).violations
    )


@pytest.mark.parametrize("tolerance", [0.011, 1e300])
def test_no_tolerance_of_a_file_makes_optimal_what_is_far_from_its_bound(
    result: Result, tolerance: float
) -> None:
    assert need(result.gap) > 0.03
    far = replace(result, status=Status.OPTIMAL, tolerance=tolerance)
    assert "the largest that counts is 0.01" in complaint(far)
    assert audit(PROBLEM, replace(far, status=Status.FEASIBLE)).violations == ()
    assert is_optimal(0.01, tolerance)
    assert not is_optimal(0.0101, tolerance)


def test_infeasible_is_proved_again(result: Result) -> None:
    bare = replace(
        result,
        schedule=None,
        totals=None,
        value=None,
        verified=False,
        status=Status.INFEASIBLE,
        bound=None,
        certificate=None,
    )
    assert "infeasible is not true" in complaint(bare)
    mapping = replace(
        PROBLEM.operations[0].mappings[0], scratch_bytes=PROBLEM.machine.spm_bytes * 2 + 1
    )
    first = replace(PROBLEM.operations[0], mappings=(mapping,))
    tight = replace(PROBLEM, operations=(first, *PROBLEM.operations[1:]))
    found = audit(tight, bare)
    assert found.violations == ()
    assert f"operation {first.name}: its scratch needs" in str(need(found.infeasible))


def test_bound_for_fewer_schedules(result: Result) -> None:
    rounded = float(need(result.value)) * (1 + 1e-9)
    known = ClassBound(value=rounded, holds_for="whole tensors", proved_by="a solver")
    assert audit(PROBLEM, replace(result, class_bound=known)).violations == ()
    high = replace(known, value=rounded * 1.01)
    assert "the bound for whole tensors" in complaint(replace(result, class_bound=high))


def test_a_claim_is_solved_again_on_demand() -> None:
    drawn = (random_problem(seed, max_operations=6, max_tensors=5) for seed in range(40))
    solved = ((problem, solve(problem, "residency", Request())) for problem in drawn)
    # Of the others the certificate is the proof.
    problem, best = next(pair for pair in solved if pair[1].class_bound is not None)
    assert need(best.class_bound).holds_for == CLASS
    assert audit(problem, best).repeated is None
    found = audit(problem, best, Request(time_limit_s=20.0))
    assert not found.violations
    assert need(need(found.repeated).bound) >= float(need(best.value)) * (1 - 1e-3)


def test_a_claim_above_a_schedule_is_refused() -> None:
    """The stream's schedule is worse than the best, and no bound for its class."""
    problem = random_problem(3, max_operations=6, max_tensors=5)
    stream = solve(problem, "stream", Request())
    known = ClassBound(value=float(need(stream.value)), holds_for=CLASS, proved_by="a solver")
    claim = replace(stream, class_bound=known)
    assert not audit(problem, claim).violations
    (violation,) = audit(problem, claim, Request(time_limit_s=20.0)).violations
    assert "is above a schedule of" in str(violation)


def test_no_claim_of_a_class_makes_an_optimum(result: Result) -> None:
    known = ClassBound(value=float(result.value or 0), holds_for=CLASS, proved_by="a solver")
    claim = replace(result, status=Status.OPTIMAL, class_bound=known)
    assert "optimal is not true" in complaint(claim)


def test_a_certified_bound_for_fewer_schedules(result: Result) -> None:
    duals = replace(free(PROBLEM, MAKESPAN), holds_for=WHOLE_TENSORS)
    value = float(bound(PROBLEM, duals, WHOLE_TENSORS))
    known = ClassBound(value=value, holds_for=WHOLE_TENSORS, proved_by="duals", certificate=duals)

    def said(changed: ClassBound) -> str:
        return complaint(replace(result, class_bound=changed))

    assert audit(PROBLEM, replace(result, class_bound=known)).violations == ()
    assert "the dual values prove" in said(replace(known, value=value - 1))
    assert "for whole tensors, not for halves" in said(replace(known, holds_for="halves"))
    all_schedules = replace(duals, holds_for="")
    assert "not for whole tensors" in said(replace(known, certificate=all_schedules))
    other = replace(duals, objective=replace(MAKESPAN, name="other"))
    assert "another objective" in said(replace(known, certificate=other))
    back = replace(duals, order=np.arange(len(PROBLEM.operations))[::-1])
    assert "the dual values prove none" in said(replace(known, certificate=back))


def test_a_bound_of_a_class_is_none_of_all_schedules(
    result: Result, certificate: Certificate
) -> None:
    """Nor does it say so by leaving out for which schedules its dual values are."""
    of_class = replace(certificate, holds_for=WHOLE_TENSORS)
    found = audit(PROBLEM, replace(result, certificate=of_class)).violations
    assert "its dual values are for whole tensors, not for all schedules" in str(found[0])


def test_illegal_schedule(result: Result) -> None:
    assert result.schedule is not None
    moved = replace(
        result.schedule,
        commands=result.schedule.commands.take(np.arange(1, len(result.schedule.commands))),
    )
    found = audit(PROBLEM, replace(result, schedule=moved))
    assert found.violations[0].rule.startswith("R")
    assert found.totals is None


def test_a_traffic_certificate_proves_no_time(result: Result, certificate: Certificate) -> None:
    other = replace(certificate, objective=TRAFFIC)
    assert "for another objective" in str(
        audit(PROBLEM, replace(result, certificate=other)).violations
    )
