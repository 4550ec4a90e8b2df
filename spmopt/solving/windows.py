"""Fewer DMA commands in schedules of programs that count bytes, where commands have a set-up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from time import monotonic

from spmopt.core.clock import cpu_s
from spmopt.core.result import LEFT_OUT, Result
from spmopt.core.timeline import timeline
from spmopt.solving.barriers import BY_WINDOWS, NOTHING_BETTER, WINDOWS
from spmopt.solving.checked_calls import TENSORS, CheckedCalls
from spmopt.solving.records import within_class

_WINDOWS = "formulations.residency.plain.windows"


def with_merged_commands(calls: CheckedCalls, result: Result, spent_s: float) -> Result:
    """Decide windows of steps anew, from the schedule of whole tensors or of a fusion plan.

    ``spent_s`` of the time limit are over. The clock ends the search within the rest; counted work
    has the same limit in each run, so that no result depends on the time spent before.
    """
    request, plan = calls.request, result.residency_plan
    machine = calls.problem.machine
    # The program of a window has one memory, in which every tensor may stay.
    if plan is None or machine.banks or machine.bypass or _is_best(calls, result):
        return result
    wall, cpu = monotonic(), cpu_s()
    left_s = max(0.0, request.time_limit_s - spent_s)
    own = replace(request, time_limit_s=left_s, started=wall, on_incumbent=calls.tell)
    problem = calls.problem if result.fused is None else result.fused
    phase, line = own.phase(request.time_limit_s), timeline(problem, plan.steps)
    improve = import_module(_WINDOWS).improve
    better = improve(problem, phase, line, replace(plan, ranges=None), whole=_keeps_whole(result))
    checked = calls.check(WINDOWS, problem, None, better)
    kept = result.plus(monotonic() - wall, cpu_s() - cpu)
    assert checked.value is not None
    assert result.value is not None
    if checked.value >= result.value:
        return kept
    calls.tell_schedule(checked)
    notes = (*_still_true(result), BY_WINDOWS)
    return replace(within_class(kept, checked.value).with_schedule_of(checked), notes=notes)


def _keeps_whole(result: Result) -> bool:
    return result.scheduler == TENSORS and result.fused is None


def _still_true(old: Result) -> Iterator[str]:
    """Yield the notes on a schedule that hold for the one in its place as well."""
    of_start, of_program = (
        NOTHING_BETTER.partition("{")[0],
        LEFT_OUT.split("{")[1].partition("}")[2],
    )
    for note in old.notes:
        # Notes are texts, so that they are told by the fixed parts of their formats.
        if not note.startswith(of_start) and of_program not in note:
            yield note


def _is_best(calls: CheckedCalls, result: Result) -> bool:
    """Whether a result's own dual values prove its schedule to be as good as was asked for.

    Those of a fusion plan prove nothing about all of them.
    """
    if result.value is None or result.fused is not None:
        return False
    duals, known = result.certificate, result.class_bound
    proved = None if duals is None else calls.evaluate(duals)
    least = Fraction(0) if proved is None else proved.value
    # Windows of whole tensors find nothing that a bound for these does not hold for.
    if known is not None and _keeps_whole(result):
        least = max(least, Fraction(known.value))
    return result.value <= least * (1 + Fraction(calls.request.tolerance))
