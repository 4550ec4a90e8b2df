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

from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.analysis.moves import Moves
from spmopt.core.table import Ints


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
