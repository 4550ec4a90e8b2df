"""What a search has found up to now, told while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Interim:
    """News of a search; what is None has not changed. Nothing follows from it for the result.

    Attributes
    ----------
    value
        Objective of the best schedule so far, in units of the objective.
    bound
        What every legal schedule costs at least; ``of_class``: every one of the scheduler's class.
    verified
        The verifier has found ``value``; else it is what the search claims.
    certified
        ``bound`` was evaluated in exact integers; else it is what the search claims.
    own_order
        The schedule runs the operations in another order than the instance's, so that bounds of
        that order say nothing about it.
    scheduler
        Who was asked for the schedule; said by :mod:`spmopt.solve`.
    """

    value: Fraction | float | None = None
    bound: Fraction | float | None = None
    of_class: bool = False
    verified: bool = False
    certified: bool = False
    own_order: bool = False
    scheduler: str = ""


Hear = Callable[[Interim], None]


def unheard(news: Interim) -> None:
    """Nobody listens."""
    del news
