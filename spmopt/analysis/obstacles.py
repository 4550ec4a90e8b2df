"""Free room and free channel time along the steps, and how many bytes may move back into them.

Bytes that step ``q`` moves could be moved in an earlier step ``p`` if the channel had time to
spare there, and if the scratchpad had room to hold them from ``p`` on. With ``S(a, b)`` the bytes
that fit into the spare time of steps a to b, and ``R(p)`` the least room from ``p`` to where they
are resident anyway, so many bytes can go back at most::

    min over j of  S(j + 1, q - 1) + R(j)

because bytes moved in steps up to ``j`` all take room in ``j``. Where ``R`` first falls below a
value it is the room of that step, so only such steps are looked at: each points to the nearest
earlier one with less room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

import numpy as np

from spmopt.analysis.moves import Moves
from spmopt.analysis.stalls import Stalls, inward, split
from spmopt.analysis.steps import StepFigures
from spmopt.core.table import Bools, Ints
from spmopt.verify.durations import per_step
from spmopt.verify.view import AFTER, BEFORE


@dataclass(frozen=True, kw_only=True, eq=False)
class Terrain:
    """Steps of a schedule, as they follow each other or turned round.

    Attributes
    ----------
    room : (n,)
        Free bytes of the scratchpad.
    spare : (n + 1,)
        Bytes that fit into the spare time of the channel, summed up to each step.
    lower : (n,)
        The nearest earlier step with less room, or -1.
    """

    room: Ints
    spare: Ints
    lower: Ints

    @classmethod
    def of(cls, room: Ints, spare: Ints) -> Self:
        """``spare`` per step."""
        upto = np.concatenate(([0], np.cumsum(spare)))
        return cls(room=room, spare=upto, lower=_nearest_lower(room))

    def movable(self, move: Moves) -> Ints:
        """Bytes that can go back, per move."""
        most, low = move.size_bytes.copy(), move.low
        behind = self.spare[move.step] - self.spare[np.clip(move.start + 1, low, move.step)]
        position = move.start.copy()
        active = np.flatnonzero(position >= low)
        first = self.room[position[active]]
        most[active] = np.minimum(most[active], behind[active] + first)
        while active.size:
            position[active] = self.lower[position[active]]
            active = active[position[active] >= low[active]]
            place = position[active]
            behind = self.spare[move.step[active]] - self.spare[place + 1]
            found = behind < most[active]  # further back is more spare time still
            active, place, behind = active[found], place[found], behind[found]
            most[active] = np.minimum(most[active], behind + self.room[place])
        limit = self.spare[move.step] - self.spare[np.minimum(low, move.step)]
        return np.where(move.supplied, most, np.minimum(most, limit))


def _nearest_lower(room: Ints) -> Ints:
    """(n,) The nearest earlier step with less room, or -1."""
    lower: list[int] = []
    values: list[int] = room.tolist()
    for step, value in enumerate(values):
        earlier = step - 1
        while earlier >= 0 and values[earlier] >= value:
            earlier = lower[earlier]
        lower.append(earlier)
    return np.array(lower, np.int64)


class Obstacle(IntEnum):
    """What is in the way of another time."""

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
        Its stall in cycles; they add up to the stall of all steps.
    full_step
        The step without room for it that is nearest, or -1.
    busy_step
        The nearest step that it could move to but for the channel, or -1.
    limit_step
        How far it could move: to the step in which the bytes are on chip anyway, if there is one.
    supplied
        There is one.
    later
        It could be made later; earlier otherwise.
    """

    command: Ints
    by_obstacle: Ints
    full_step: Ints
    busy_step: Ints
    limit_step: Ints
    supplied: Bools
    later: Bools

    @property
    def stall_cycles(self) -> Ints:
        """(k,) Stall of each."""
        total: Ints = self.by_obstacle.sum(axis=0)
        return total


def obstacles(figures: StepFigures) -> Obstacles:
    """Find what is in the way of every transfer that a step waits for."""
    view, stall = figures.view, figures.stalls
    command = np.flatnonzero(stall.stall_cycles > 0)
    room = view.instance.machine.spm_pages * view.page_bytes - figures.occupied_bytes
    moves = Moves.of(view, command)
    amounts = np.zeros((len(Obstacle), command.size), np.int64)
    out = ~inward(view)[command]
    for outward in (False, True):
        spare = _spare_bytes(figures, stall, outward)
        for later in (False, True):
            rows = np.flatnonzero((moves.later == later) & (out == outward))
            turned = slice(None, None, -1 if later else 1)
            terrain = Terrain.of(room[turned], spare[turned])
            amounts[:, rows] = _amounts(terrain, moves.take(rows))
    count = command.size
    shares = split(
        stall.stall_cycles[command],
        amounts.T.ravel(),
        np.arange(len(Obstacle) * count) // len(Obstacle),
    )
    full, busy = _steps(moves, amounts, room)
    return Obstacles(
        command=command,
        by_obstacle=shares.reshape(count, len(Obstacle)).T,
        full_step=full,
        busy_step=busy,
        limit_step=np.where(moves.later, room.size - 1 - moves.low, moves.low),
        supplied=moves.supplied,
        later=moves.later,
    )


def _spare_bytes(figures: StepFigures, stall: Stalls, out: bool) -> Ints:
    """(n,) Bytes of one more command that the step has time for without becoming longer."""
    view, machine = figures.view, figures.view.instance.machine
    busy, step = stall.cycles, view.schedule.commands.step
    if machine.duplex:
        # Into the scratchpad and stores of stationary results, or out of it and loads.
        phase = view.command_phase
        other = phase == (BEFORE if out else AFTER)
        busy = np.where((inward(view) != out) | other, busy, 0)
    free = figures.cycles - per_step(busy, step, figures.cycles.size) - machine.dma_setup_cycles
    free = np.maximum(free, 0).astype(object) * machine.dram_bytes_per_s // machine.clock_hz
    return np.asarray(np.minimum(free, 2**40), np.int64)


def _amounts(terrain: Terrain, moves: Moves) -> Ints:
    """(obstacles, k) Bytes behind each obstacle."""
    size, step, start = moves.size_bytes, moves.step, moves.start
    # Room that is needed at once: in the step itself by what streams, and next to it.
    fits = np.where(start == step, np.minimum(size, terrain.room[step]), size)
    near = moves.needs_next
    fits[near] = np.minimum(fits[near], terrain.room[step[near] - 1])
    movable = terrain.movable(replace(moves, size_bytes=fits))
    result = np.zeros((len(Obstacle), size.size), np.int64)
    result[Obstacle.CAPACITY] = size - fits
    result[Obstacle.AVOIDABLE] = movable
    rest = np.where(step > moves.low, Obstacle.CHANNEL, Obstacle.DEPENDENCY)
    result[rest, np.arange(size.size)] = fits - movable
    return result


def _steps(moves: Moves, amounts: Ints, room: Ints) -> tuple[Ints, Ints]:
    """(k,) The nearest full and the nearest busy step, or -1."""
    last = room.size - 1
    step = np.where(moves.later, last - moves.step, moves.step)
    near = np.where(moves.later, step + 1, step - 1)
    beside = room[np.clip(near, 0, last)]
    own = (moves.start == moves.step) & ~(moves.needs_next & (beside < room[step]))
    return (
        np.where(amounts[Obstacle.CAPACITY] > 0, np.where(own, step, near), -1),
        np.where(amounts[Obstacle.CHANNEL] > 0, near, -1),
    )
