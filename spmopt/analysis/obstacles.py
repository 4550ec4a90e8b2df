"""Why a transfer that a step waits for is not made at another time.

Bytes that come in (a load, a stream) could have come earlier, or have been kept since they were
last on chip; results that a step sends out could be sent later, or be kept until their last use; an
older result that is stored now could have been stored earlier; loads of the first step for others
could come later. Walking away from the step, the first thing in the way is the obstacle, byte by
byte:

* *capacity*: next to the step there is no space for them. They could be nowhere beyond, either;
* *channel*: there is space for them in some steps, but the channel has no time to spare there;
* *dependency*: there is no such step: the first one needs them, or the last one made them;
* *avoidable*: nothing: they fit into spare time and space, or could be kept all along.

Each transfer is looked at by itself, with everything else where it is: two that are avoidable
may be so by the same space. Space is counted in free pages, those of all banks together where the
scratchpad has some, time in bytes that fit into it; ports of banks are not looked at.

Bytes that step ``q`` moves could be moved in an earlier step ``p`` if the channel had time to
spare there, and if the scratchpad had space to hold them from ``p`` on. With ``S(a, b)`` the bytes
that fit into the spare time of steps a to b, and ``R(p)`` the least free bytes from ``p`` to where
they are resident anyway, so many bytes can go back at most::

    min over j of  S(j + 1, q - 1) + R(j)

because bytes moved in steps up to ``j`` all take space in ``j``. Where ``R`` first falls below a
value it is the free bytes of that step, so only such steps are looked at: each points to the
nearest earlier one with fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product
from typing import Self

import numpy as np

from spmopt.analysis.shifts import Shifts
from spmopt.analysis.stalls import StallShares, inward, split
from spmopt.analysis.steps import StepFigures
from spmopt.core.table import Ints
from spmopt.verifier.arrays import AFTER, BEFORE
from spmopt.verifier.durations import per_step


@dataclass(frozen=True, kw_only=True, eq=False)
class Slack:
    """Steps of a schedule, as they follow each other or turned round.

    Attributes
    ----------
    free : (n,)
        Free bytes of the scratchpad.
    spare : (n + 1,)
        Bytes that fit into the spare time of the channel, summed up to each step.
    lower : (n,)
        The nearest earlier step with fewer free bytes, or -1.
    """

    free: Ints
    spare: Ints
    lower: Ints

    @classmethod
    def of(cls, free: Ints, spare: Ints) -> Self:
        """Sum up ``spare``, which is per step, and look up lower steps."""
        upto = np.concatenate(([0], np.cumsum(spare)))
        return cls(free=free, spare=upto, lower=_nearest_lower(free))

    def movable(self, move: Shifts) -> Ints:
        """Return bytes that can go back, per move."""
        most, low = move.size_bytes.copy(), move.low
        # Spare time of the steps strictly between the target and the step itself.
        behind = self.spare[move.step] - self.spare[np.clip(move.start + 1, low, move.step)]
        position = move.start.copy()
        active = np.flatnonzero(position >= low)
        first = self.free[position[active]]
        most[active] = np.minimum(most[active], behind[active] + first)
        # Each turn goes to the next step with less room: only there can the minimum change.
        while active.size:
            position[active] = self.lower[position[active]]
            active = active[position[active] >= low[active]]
            place = position[active]
            behind = self.spare[move.step[active]] - self.spare[place + 1]
            found = behind < most[active]  # further back is more spare time still
            active, place, behind = active[found], place[found], behind[found]
            most[active] = np.minimum(most[active], behind + self.free[place])
        # Bytes that are nowhere on chip must cross the channel in some step from ``low`` on.
        limit = self.spare[move.step] - self.spare[np.minimum(low, move.step)]
        return np.where(move.supplied, most, np.minimum(most, limit))


def _nearest_lower(free: Ints) -> Ints:
    """Return (n,) the nearest earlier step with fewer free bytes, or -1."""
    lower: list[int] = []
    values: list[int] = free.tolist()
    for step, value in enumerate(values):
        earlier = step - 1
        # Follows links already found, so that all steps take linear time together.
        while earlier >= 0 and values[earlier] >= value:
            earlier = lower[earlier]
        lower.append(earlier)
    return np.array(lower, np.int64)


class Obstacle(IntEnum):
    """Obstacles to another time."""

    CAPACITY = 0
    CHANNEL = 1
    DEPENDENCY = 2
    AVOIDABLE = 3

    @property
    def words(self) -> str:
        """As people read it."""
        return self.name.lower()


@dataclass(frozen=True, kw_only=True, eq=False)
class Obstacles:
    """Commands that a step waits for (k,), in the order of the schedule.

    Attributes
    ----------
    command
        Its row of the command table.
    by_obstacle : (obstacles, k)
        Its stall in cycles; they add up to the stall of all steps but for that of ports.
    full_step
        The step without space for it that is nearest, or -1.
    busy_step
        The nearest step that it could move to but for the channel, or -1.
    limit_step
        How far it could move: to the step in which the bytes are on chip anyway, if there is one.
    shifts
        Shifts that they are judged by.
    """

    command: Ints
    by_obstacle: Ints
    full_step: Ints
    busy_step: Ints
    limit_step: Ints
    shifts: Shifts

    @property
    def stall_cycles(self) -> Ints:
        """(k,) Stall of each."""
        total: Ints = self.by_obstacle.sum(axis=0)
        return total


def obstacles(figures: StepFigures) -> Obstacles:
    """Find the obstacles of every transfer that a step waits for."""
    view, stall = figures.view, figures.stalls
    command = np.flatnonzero(stall.stall_cycles > 0)
    free = view.problem.machine.spm_pages * view.page_bytes - figures.occupied_bytes
    shifts = Shifts.of(view, command)
    amounts = np.zeros((len(Obstacle), command.size), np.int64)
    out = ~inward(view)[command]
    ratios = view.timeline.moved.ratio[view.schedule.commands.tensor[command]]
    # Duplex channels have spare time of their own; later moves see the steps turned round.
    for outward in (False, True):
        spare = _spare_bytes(figures, stall, outward)
        for later, ratio in product((False, True), np.unique(ratios).tolist()):
            rows = np.flatnonzero((shifts.later == later) & (out == outward) & (ratios == ratio))
            turned = slice(None, None, -1 if later else 1)
            # In the time of so many bytes more of a compressed tensor arrive.
            there = np.floor(spare[turned] / ratio).astype(np.int64)
            amounts[:, rows] = _amounts(Slack.of(free[turned], there), shifts.take(rows))
    count = command.size
    shares = split(
        stall.stall_cycles[command],
        amounts.T.ravel(),
        np.arange(len(Obstacle) * count) // len(Obstacle),
    )
    full, busy = _steps(shifts, amounts, free)
    return Obstacles(
        command=command,
        by_obstacle=shares.reshape(count, len(Obstacle)).T,
        full_step=full,
        busy_step=busy,
        limit_step=np.where(shifts.later, free.size - 1 - shifts.low, shifts.low),
        shifts=shifts,
    )


def _spare_bytes(figures: StepFigures, stall: StallShares, out: bool) -> Ints:
    """Return (n,) bytes of one more command that the step has time for, becoming no longer."""
    view, machine = figures.view, figures.view.problem.machine
    busy, step = stall.cycles, view.schedule.commands.step
    if machine.duplex:
        # Into the scratchpad and stores of required-resident results, or out of it and loads.
        phase = view.command_phase
        other = phase == (BEFORE if out else AFTER)
        busy = np.where((inward(view) != out) | other, busy, 0)
    free = figures.cycles - per_step(busy, step, figures.cycles.size) - machine.dma_setup_cycles
    # Cycles times bytes per second exceed 64 bits: Python's integers, then capped.
    free = np.maximum(free, 0).astype(object) * machine.dram_bytes_per_s // machine.clock_hz
    return np.asarray(np.minimum(free, 2**40), np.int64)


def _amounts(slack: Slack, shifts: Shifts) -> Ints:
    """Return (obstacles, k) bytes behind each obstacle."""
    size, step, start = shifts.size_bytes, shifts.step, shifts.start
    # Room that is needed at once: in the step itself by what streams, and next to it.
    fits = np.where(start == step, np.minimum(size, slack.free[step]), size)
    near = shifts.needs_next
    fits[near] = np.minimum(fits[near], slack.free[step[near] - 1])
    movable = slack.movable(replace(shifts, size_bytes=fits))
    result = np.zeros((len(Obstacle), size.size), np.int64)
    result[Obstacle.CAPACITY] = size - fits
    result[Obstacle.AVOIDABLE] = movable
    # A step to move to exists, so only the channel's time is missing.
    rest = np.where(step > shifts.low, Obstacle.CHANNEL, Obstacle.DEPENDENCY)
    result[rest, np.arange(size.size)] = fits - movable
    return result


def _steps(shifts: Shifts, amounts: Ints, free: Ints) -> tuple[Ints, Ints]:
    """Return (k,) the nearest full and the nearest busy step, or -1."""
    last = free.size - 1
    step = np.where(shifts.later, last - shifts.step, shifts.step)
    near = np.where(shifts.later, step + 1, step - 1)
    beside = free[np.clip(near, 0, last)]
    own = (shifts.start == shifts.step) & ~(shifts.needs_next & (beside < free[step]))
    return (
        np.where(amounts[Obstacle.CAPACITY] > 0, np.where(own, step, near), -1),
        np.where(amounts[Obstacle.CHANNEL] > 0, near, -1),
    )
