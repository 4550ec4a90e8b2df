"""A result file is checked against itself: schedule, totals, objective, bound, status.

Takes nothing on trust but the problem, in fusion tiles nothing but the graph: no scheduler is
involved, and no solver unless a claim is to be solved again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from spmopt.audit.fusion import from_graph, unfaithful, unlike
from spmopt.audit.repeat import Repeated, repeat_claim
from spmopt.core.errors import Conflict, InputError
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.fusion_space import FUSION_SPACES
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.mappings import unfit
from spmopt.core.objective import Objective, objective_named
from spmopt.core.order import same_order
from spmopt.core.problem import Problem
from spmopt.core.result import LARGEST_TOLERANCE, Result, Status, Totals, is_optimal, relative_gap
from spmopt.core.scheduler import Request
from spmopt.verifier import Replay, Violation, bound, verify
from spmopt.verifier.fusion_bound import fusion_bound

_SOLVER_ROUNDING = Fraction(1, 10**6)
"""How far, relatively, a bound of a solver in floating point may be above the exact value."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Violations of a result, and its recomputed figures.

    Attributes
    ----------
    violations
        Rules broken and claims that are not true; empty when all is well.
    totals
        Recomputed from the schedule; None when there is none, or it is illegal.
    value, bound
        Recomputed, exact; None where the result has nothing to recompute them from.
    infeasible
        Reason why no legal schedule exists, where the result truly claims that.
    replay
        Its times, where the schedule got as far as the replay.
    fusion_bound
        Over all fusion plans, recomputed, exact; None of a result as a whole.
    repeated
        The bound of a class that the result claims, solved again where that was asked for.
    """

    violations: tuple[Violation, ...]
    totals: Totals | None
    value: Fraction | None
    bound: Fraction | None
    infeasible: Conflict | None = None
    replay: Replay | None = None
    fusion_bound: Fraction | None = None
    repeated: Repeated | None = None

    @property
    def best_bound(self) -> Fraction | None:
        """The larger of both bounds: one over the fusion space holds for each of them."""
        known = [each for each in (self.bound, self.fusion_bound) if each is not None]
        return max(known, default=None)


def audit(problem: Problem, result: Result, repeat: Request | None = None) -> Audit:
    """Recompute everything that ``result`` claims about ``problem``.

    ``repeat``: limits of a solver that repeats a bound which only a solver claims; None for none.
    """
    complaints = _objective(problem, result.objective)
    totals: Totals | None = None
    value: Fraction | None = None
    replay: Replay | None = None
    violations: tuple[Violation, ...] = ()
    if result.schedule is not None:
        report = verify(problem, result.schedule, result.totals)
        violations, totals, replay = report.violations, report.totals, report.replay
        value = None if totals is None else totals.value(result.objective)
    proved: Fraction | None = None
    if result.certificate is not None:
        try:
            proved = bound(problem, result.certificate)
        except InputError as error:
            complaints.append(f"the dual values prove no bound: {error}")
        else:
            complaints += _proof(result, value, proved, result.bound, "")
    elif result.bound is not None:
        complaints.append(
            f"a bound of {result.bound} is claimed, but there are no dual values to prove it"
        )
    complaints += _class_proof(problem, result)
    of_fusion, covered = _fusion(problem, result, value)
    # Holds for the problem, whichever status is claimed.
    infeasible = unfit(problem)
    status_bound = proved if result.fused is None else covered
    complaints += _figures(result, value)
    complaints += _status(result, value, status_bound, infeasible)
    repeated = None
    if repeat is not None and not (complaints or violations):
        repeated = repeat_claim(problem, result, repeat)
        complaints += [repeated.complaint] if repeated is not None and repeated.complaint else []
    return Audit(
        violations=(*violations, *of_fusion, *_claims(complaints)),
        totals=totals,
        value=value,
        bound=proved,
        infeasible=infeasible if result.status is Status.INFEASIBLE else None,
        replay=replay,
        fusion_bound=covered,
        repeated=repeated,
    )


def _claims(complaints: Iterable[str]) -> Iterator[Violation]:
    return (Violation(rule="claim", step=None, tensor=None, message=each) for each in complaints)


def _objective(problem: Problem, objective: Objective) -> list[str]:
    """Check that an objective of a known name has the weights of that name."""
    try:
        known = objective_named(objective.name, problem.machine)
    except InputError:
        return []  # a weighted sum of its own
    same = known == objective
    return [] if same else [f"the weights are not those of the objective {objective.name}"]


def _figures(result: Result, value: Fraction | None) -> list[str]:
    """Compare figures of the schedule with the recomputed ones."""
    complaints = []
    if result.schedule is None and (result.value is not None or result.totals is not None):
        complaints.append("figures of a schedule are claimed, but there is none")
    elif result.schedule is None and result.verified:
        complaints.append("a verified schedule is claimed, but there is none")
    if value is not None and result.value != value:
        complaints.append(f"the objective is {value}, but {_claim(result.value)}")
    known = result.class_bound
    if known is not None and value is not None:
        # A solver's bound is in floating point.
        most = value if known.certified else value * (1 + _SOLVER_ROUNDING)
        if known.value > float(most):
            complaints.append(
                f"the bound for {known.holds_for}, {known.value:.9g}, is above the schedule's "
                f"{value}"
            )
    return complaints


def _proof(
    result: Result, value: Fraction | None, proved: Fraction, claimed: Fraction | None, where: str
) -> Iterator[str]:
    """Compare a proved bound with the claimed one, and with the schedule."""
    # Less than they prove is true: older versions proved less with the same dual values.
    if claimed is None or claimed > proved:
        yield f"the dual values prove a bound of {proved}{where}, but {_claim(claimed)}"
    proof = result.fusion_certificate if where else result.certificate
    if proof is not None and proof.objective != result.objective:
        yield f"the dual values of the bound{where} are for another objective"
    if value is None:
        return
    # A bound over the fusion space is for the order of the tileable graph.
    order = result.certificate.order if result.certificate is not None and not where else None
    if not same_order(order, result.order):
        yield f"the bound{where} holds for another order than the schedule's"
    elif proved > value:
        yield f"the bound{where}, {proved}, is above the schedule's {value}"


def _fusion(
    problem: Problem, result: Result, value: Fraction | None
) -> tuple[tuple[Violation, ...], Fraction | None]:
    """Check fusion tiles against the graph, and return the bound proved over the fusion space."""
    fused = result.fused
    if fused is None:
        said = (
            f"a bound of {result.fusion_bound} over the fusion space is claimed, but there "
            "is no fusion plan"
        )
        return tuple(_claims([] if result.fusion_bound is None else [said])), None
    complaints = list[str]()
    try:
        tileable = from_graph(fused, problem)
        expected, _ = tileable.problem(fused.fusion_plan)
        complaints += unlike(expected, problem)
        wrong = unfaithful(tileable, fused.fusion_plan, problem)
    except InputError as error:
        return tuple(_claims([*complaints, str(error)])), None
    proved, said_of_bound = _fusion_plan_proof(tileable, fused.fusion_plan, result, value)
    return (*wrong, *_claims(complaints + said_of_bound)), proved


def _fusion_plan_proof(
    tileable: TileableGraph, fusion_plan: FusionPlan, result: Result, value: Fraction | None
) -> tuple[Fraction | None, list[str]]:
    """Return the bound that the dual values of fused groups prove, and complaints about it."""
    space, certificate = "over the fusion space", result.fusion_certificate
    if certificate is None:
        said = f"a bound of {result.fusion_bound} {space} is claimed, but there are no dual values"
        return None, [] if result.fusion_bound is None else [f"{said} to prove it"]
    try:
        proved = fusion_bound(tileable, certificate)
    except InputError as error:
        return None, [f"the dual values prove no bound {space}: {error}"]
    complaints = [*_proof(result, value, proved, result.fusion_bound, f" {space}")]
    fusion_space = certificate.fusion_space
    if fusion_space.name not in FUSION_SPACES:
        complaints.append(
            f"no fusion plans are called {fusion_space.name!r}, over which the bound is to be"
        )
    elif not fusion_space.includes(tileable.fusion_space(fusion_space.name)):
        complaints.append(
            f"the bound is over fewer fusion plans than are called {fusion_space.name!r}"
        )
    outside = tileable.outside(fusion_space, fusion_plan)
    if outside:
        complaints.append(f"the bound is over other fusion plans than the schedule's: {outside}")
    return proved, complaints


def _class_proof(problem: Problem, result: Result) -> list[str]:
    """Compare the bound that the dual values of a class prove with the claimed one."""
    known = result.class_bound
    if known is None or known.certificate is None:
        return []
    name = f"the bound for {known.holds_for}"
    try:
        proved = bound(problem, known.certificate, known.holds_for)
    except InputError as error:
        return [f"{name}: the dual values prove none: {error}"]
    complaints = []
    if known.value != float(proved):
        complaints.append(f"{name}: the dual values prove {proved}, but {known.value} is claimed")
    if known.certificate.objective != result.objective:
        complaints.append(f"{name}: the dual values are for another objective")
    if result.schedule is not None and not same_order(known.certificate.order, result.order):
        complaints.append(f"{name}: it holds for another order than the schedule's")
    return complaints


def _status(
    result: Result, value: Fraction | None, proved: Fraction | None, infeasible: Conflict | None
) -> list[str]:
    """Check the status against recomputed figures; ``infeasible`` is the proof, if there is one.

    In fusion tiles ``proved`` is the bound over the fusion space.
    """
    bound_said = result.bound if result.fused is None else result.fusion_bound
    match result.status:
        case Status.OPTIMAL if result.value is None or bound_said is None:
            return ["optimal without both a schedule and a bound"]
        # A bound of the layer-by-layer problem proves nothing over fusion plans.
        case Status.OPTIMAL if value is not None and proved is not None:
            return _optimal(result, relative_gap(value, proved))
        case Status.FEASIBLE if result.schedule is None and result.value is None:
            return ["feasible without a schedule"]
        case Status.INFEASIBLE | Status.FAILED if result.schedule is not None:
            return [f"{result.status}, yet there is a schedule"]
        case Status.INFEASIBLE if infeasible is None:
            return ["infeasible is not true: in some mapping every operation fits the scratchpad"]
    return []


def _optimal(result: Result, gap: float | None) -> list[str]:
    """Check the gap of a result against its tolerance, or the default one."""
    tolerance, whose = result.tolerance, "the tolerance asked for"
    if tolerance is None:
        tolerance, whose = Request.tolerance, "the usual tolerance (the file has none)"
    if is_optimal(gap, tolerance):
        return []
    # Else any schedule could call itself optimal.
    if tolerance > LARGEST_TOLERANCE:
        whose = f"the tolerance asked for is {tolerance:g}, the largest that counts"
        tolerance = LARGEST_TOLERANCE
    distance = "there is no gap to a bound of 0" if gap is None else f"the gap is {gap:.6g}"
    return [f"optimal is not true: {distance}, {whose} is {tolerance:g}"]


def _claim(value: Fraction | None) -> str:
    return "none is claimed" if value is None else f"{value} is claimed"
