"""Limits of a search, and its progress: a count, so that it ends the same way again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

AT_ONCE = 1 << 20
"""Moves at a time, of some 400 bytes each."""
_COMPARED, _CHOICES = 8, 10
"""Comparisons of two states, and choices for a move, that take as long as a move."""
_SHARED = 4
"""Moves that take as long as one in which stores share idle time."""


class TooLargeError(Exception):
    """More moves than allowed, or than there is time for."""


class TooManyAtOnceError(Exception):
    """More moves than there is memory for at a time."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How far a search goes.

    Attributes
    ----------
    moves
        That are looked at in all, at most.
    states
        Of each layer only so many of least bound go on, and of the moves from them ten times as
        many as they are chosen; then nothing is proved. None: all.
    parts
        By step, into which an idle channel is cut where two stores share it. Without, none do, and
        where they could nothing is proved.
    """

    moves: int
    states: int | None = None
    parts: Sequence[int] = ()


class Work:
    """Progress of a search, and whether it has left out moves that could be better."""

    def __init__(self, effort: Effort, late: Callable[[], bool]) -> None:
        self.effort, self._late = effort, late
        self.moves = 0
        self.exhaustive = True

    def count(self, moves: int) -> None:
        """Count moves looked at, before they take up memory.

        Raises
        ------
        TooLargeError
            There are too many in all, or it is late.
        TooManyAtOnceError
            There are too many at a time.
        """
        self.moves += min(moves, AT_ONCE)
        if self.moves > self.effort.moves or self._late():
            raise TooLargeError
        if moves > AT_ONCE:
            raise TooManyAtOnceError

    def look(self, choices: int) -> None:
        """Count choices for moves, most of which are too dear to be moves."""
        self.count(choices // _CHOICES)

    def share(self, moves: int) -> None:
        """Count moves in which stores share idle time."""
        self.count(_SHARED * moves)

    def compare(self, states: int) -> None:
        """Count comparisons of a state with so many others."""
        self.count(1 + states // _COMPARED)
