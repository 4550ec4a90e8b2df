"""The verifier: every rule, the replay, and the totals recomputed."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import ScheduleError
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import Schedule
from spmopt.core.table import Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.durations import durations
from spmopt.verifier.replay import Replay, replay
from spmopt.verifier.rules import RULES, rule_r0, rule_r6, rule_r12, totals
from spmopt.verifier.violation import Violation

SHOWN = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """The verdict.

    Attributes
    ----------
    violations
        Empty when the schedule is legal and its claims are true.
    totals
        Recomputed, exact; None when a rule other than R6 is broken.
    step_cycles : (n,)
        ``d_i``, or None like ``totals``.
    replay
        Times of the event-driven replay, or None when R0 to R12 are broken.
    """

    violations: tuple[Violation, ...]
    totals: Totals | None = None
    step_cycles: Ints | None = None
    replay: Replay | None = None

    @property
    def legal(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations


def verify(problem: Problem, schedule: Schedule, claimed: Totals | None = None) -> Report:
    """Check ``schedule`` against every rule and by replay; recompute its totals.

    Takes nothing from a scheduler or solver but the schedule. ``claimed`` totals must equal the
    recomputed ones.
    """
    # The other rules index tables by these numbers: R0 first, alone.
    violations = rule_r0(problem, schedule)
    if violations:
        return Report(violations=tuple(violations))
    view = ScheduleArrays.of(problem, schedule)
    violations = [violation for rule in RULES for violation in rule(view)]
    if violations:
        return Report(violations=tuple(violations))
    time = durations(view)
    # Retention needs durations, which mean something once R1 to R11 hold.
    violations = rule_r12(view, time.step)
    if violations:
        return Report(violations=tuple(violations))
    run = replay(view, time)
    if run.violations:
        return Report(violations=run.violations, replay=run)
    exact = totals(view, time, run.cycles)
    violations = rule_r6(exact, claimed)
    # Proved never to happen (spmopt.verifier.replay): a fault of ours, not of the schedule.
    if exact.replay_cycles > exact.makespan_cycles:
        text = f"took {exact.replay_cycles} cycles, the makespan is {exact.makespan_cycles}"
        violations.append(Violation(rule="replay", step=None, tensor=None, message=text))
    return Report(violations=tuple(violations), totals=exact, step_cycles=time.step, replay=run)


def require_legal(problem: Problem, schedule: Schedule, claimed: Totals | None = None) -> Report:
    """Do as :func:`verify`, but a schedule that is not legal is an error.

    Raises
    ------
    ScheduleError
        Naming the first violations, in one line.
    """
    report = verify(problem, schedule, claimed)
    if report.legal:
        return report
    shown = "; ".join(str(violation) for violation in report.violations[:SHOWN])
    more = len(report.violations) - SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    raise ScheduleError(f"schedule of {problem.name} is not legal: {shown}{rest}")
