"""The scheduler ``joint``: least ``replay_cycles`` of whole, contiguous tensors, in any order."""

from __future__ import annotations

from formulations.joint.facts import Facts, analyse
from formulations.joint.horizon import least_cycles
from formulations.joint.search import Found, Settings, search
from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance
from spmopt.core.modes import fitting_modes
from spmopt.core.result import ClassBound, Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request

CLASS = "the replay of whole tensors, moved whole, in one range of addresses each, in any order"
_MOST_USES = 300
_TOO_LARGE = (
    "not searched, for {} uses of tensors are more than {}: this is the schedule of the best policy"
)


def schedule(instance: Instance, request: Request) -> Outcome:
    """Search from the best plan of whole tensors; any time, with the bound proved so far.

    The best plan of all, ``request.start``, need not be of the class (it may hold parts of
    tensors), and may be better than all schedules of it; the caller compares replays.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    fitting_modes(instance)
    facts = analyse(instance)
    if len(facts.uses) > _MOST_USES:
        return Outcome(plan=request.start, notes=(_TOO_LARGE.format(len(facts.uses), _MOST_USES),))
    settings = Settings(
        time_limit_s=request.remaining_s(),
        threads=request.threads,
        tolerance=request.tolerance,
        same=request.threads > 1,
    )
    best: Found | None = None
    least = least_cycles(facts)
    request.report("searching orders, times and addresses", None)
    for answer in search(instance, settings, _hint(facts, request), request.stop):
        if isinstance(answer, Found):
            best = answer
        elif answer.infeasible:
            raise InfeasibleError("no schedule keeps stationary operands in one range each")
        else:
            least = max(least, answer.cycles)
        request.report_incumbent(
            value=None if best is None else best.cycles, bound=least, of_class=True
        )
    bound = ClassBound(value=float(least), holds_for=CLASS, proved_by="CP-SAT")
    if best is None:
        return Outcome(plan=request.start, class_bound=bound)
    return Outcome(plan=None, schedule=best.schedule, class_bound=bound)


def _hint(facts: Facts, request: Request) -> Plan | None:
    """The best plan that holds tensors as the model does; without one, the best of all."""
    plans = [plan for plan in (request.start, *request.others) if plan is not None]
    return next((plan for plan in plans if _is_whole(facts, plan)), request.start)


def _is_whole(facts: Facts, plan: Plan) -> bool:
    rows = plan.residency
    held = zip(rows.tensor.tolist(), rows.size_bytes.tolist(), strict=True)
    return all(size_bytes == facts.size(tensor) for tensor, size_bytes in held)
