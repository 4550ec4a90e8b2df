"""What a running function reports to its caller, and asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from warnings import warn

if TYPE_CHECKING:
    from spmopt.core.scheduler import Incumbent


def _warn(message: str) -> None:
    warn(message, stacklevel=4)


def _silent(*news: object) -> None:
    del news


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """Functions that are called while another one runs.

    Attributes
    ----------
    progress
        Gets a message and, where it is known, the fraction done.
    stop
        Asked often; once true, the best found so far is returned.
    on_incumbent
        Gets better schedules and bounds as they are found.
    note
        Gets messages about what is going on, as that other processes share the work.
    warn
        Gets what is doubtful about an input; by default a Python warning.
    interrupts
        Exceptions that end a sweep, a search or gradients in tiles early, with what was found so
        far as their result; others, and these too by default, pass through.
    """

    progress: Callable[[str, float | None], None] = _silent
    stop: Callable[[], bool] = _never
    on_incumbent: Callable[[Incumbent], None] = _silent
    note: Callable[[str], None] = _silent
    warn: Callable[[str], None] = _warn
    interrupts: tuple[type[BaseException], ...] = ()


QUIET = Callbacks()
"""Warnings only."""
