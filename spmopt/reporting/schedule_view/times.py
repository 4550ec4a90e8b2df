"""Times of a schedule: step after step, or as the replay ran it.

*Steps.* A step begins when the one before it has ended, after ``d`` cycles (rule R6 of the problem
statement). In it the loads of required-resident operands (``L`` cycles) come first, then the
computation begins; the other commands of the channel follow in queue order at once, those of an
outward channel of its own when the computation begins; the stores of required-resident results
(``S``) end the step. With ``d = max(X, L + c + S)``, duplex ``max(in + S, L + out, L + c + S)``,
all of it fits.

*Replay.* The times of :func:`spmopt.verifier.replay`. A step begins when the operation before it
has ended, and ends with its own; the last one lasts until the last store has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.stalls import Cause, inward
from spmopt.analysis.steps import StepFigures
from spmopt.core.table import Bools, Ints
from spmopt.verifier import Replay
from spmopt.verifier.arrays import AFTER, BEFORE
from spmopt.verifier.durations import per_step

TIMINGS = ("step", "async")


@dataclass(frozen=True, kw_only=True, eq=False)
class Times:
    """Cycles since the start of the schedule.

    Attributes
    ----------
    timing
        One of :data:`TIMINGS`.
    cycles
        End of the schedule.
    start, duration : (n,)
        Of each step; they follow each other without a gap and fill ``cycles``.
    compute_start, operation_end : (n,)
        When the engine begins; when the operation is done, its streams included.
    stall_by_cause : (causes, n)
        ``duration`` less the computation, by cause. Of the replay by the transfers meanwhile, so
        that both channels of a duplex machine, or ports of banks, may add up to more.
    command_start, command_end : (k,)
        Of each command, in the order of the schedule.
    command_stall : (k,)
        Part of the stall that is due to it; of the replay, while the engine waits.
    """

    timing: str
    cycles: int
    start: Ints
    duration: Ints
    compute_start: Ints
    operation_end: Ints
    stall_by_cause: Ints
    command_start: Ints
    command_end: Ints
    command_stall: Ints

    @property
    def cause(self) -> Ints:
        """(n,) The :class:`~spmopt.analysis.stalls.Cause` of most of each step's stall."""
        stalled = self.stall_by_cause.any(axis=0)
        return np.where(stalled, self.stall_by_cause.argmax(axis=0), Cause.NONE)


def step_times(figures: StepFigures) -> Times:
    """Lay out a legal schedule step after step."""
    view, duration, cycles = figures.view, figures.cycles, figures.stalls.cycles
    step, steps = view.schedule.commands.step, view.timeline.steps
    is_before, is_after = view.command_phase == BEFORE, view.command_phase == AFTER
    before = per_step(cycles[is_before], step[is_before], steps)
    after = per_step(cycles[is_after], step[is_after], steps)
    start = np.cumsum(duration) - duration
    # A simplex channel has one queue for both directions.
    is_outward = ~inward(view) & ~is_after & view.problem.machine.duplex
    offset = np.select(
        [is_after, is_outward],
        [
            (duration - after)[step] + _queue(cycles, step, is_after, steps),
            before[step] + _queue(cycles, step, is_outward, steps),
        ],
        _queue(cycles, step, ~is_after & ~is_outward, steps),
    )
    return Times(
        timing="step",
        cycles=int(duration.sum()),
        start=start,
        duration=duration,
        compute_start=start + before,
        operation_end=start + duration - after,
        stall_by_cause=figures.stalls.by_cause,
        command_start=start[step] + offset,
        command_end=start[step] + offset + cycles,
        command_stall=figures.stalls.stall_cycles,
    )


def replay_times(figures: StepFigures, run: Replay) -> Times:
    """Take the times from the replay of a legal schedule."""
    start = np.concatenate(([0], run.operation_end[:-1]))
    end = np.concatenate((start[1:], [run.cycles]))
    compute_end = run.operation_start + figures.compute_cycles

    def idle(time: Ints, step: Ints) -> Ints:
        """Return cycles up to ``time``, within ``step``, in which the engine waits."""
        waited = np.minimum(time, run.operation_start[step]) - start[step]
        return waited + np.maximum(0, time - compute_end[step])

    # A command may run through several operations: one pair for each.
    first = np.searchsorted(end, run.command_start, side="right")
    last = np.searchsorted(start, run.command_end, side="left")
    command, step = expand(first, last)
    waiting = idle(np.minimum(run.command_end[command], end[step]), step) - idle(
        np.maximum(run.command_start[command], start[step]), step
    )
    by_cause = np.zeros((len(Cause), start.size), np.int64)
    np.add.at(by_cause, (figures.stalls.cause[command], step), waiting)
    # The engine is held by the port, not by a transfer, so this part is not in ``waiting``.
    by_cause[Cause.PORT] = figures.operation_cycles - figures.compute_cycles
    return Times(
        timing="async",
        cycles=run.cycles,
        start=start,
        duration=end - start,
        compute_start=run.operation_start,
        operation_end=run.operation_end,
        stall_by_cause=by_cause,
        command_start=run.command_start,
        command_end=run.command_end,
        command_stall=per_step(waiting, command, run.command_start.size),
    )


def expand(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return pairs (row, place) for every place in ``first[row]:last[row]``, row after row."""
    counts = np.maximum(last - first, 0)
    row = np.repeat(np.arange(counts.size), counts)
    place = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts) + first[row]
    return row, place


def _queue(cycles: Ints, step: Ints, queue: Bools, steps: int) -> Ints:
    """Return (k,) cycles of the commands of the ``queue`` that are ahead of each in its step."""
    upto = np.concatenate(([0], np.cumsum(np.where(queue, cycles, 0))))
    first = np.searchsorted(step, np.arange(steps))
    ahead: Ints = upto[:-1] - upto[first][step]
    return ahead
