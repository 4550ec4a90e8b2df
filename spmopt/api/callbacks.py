"""Callbacks: progress, incumbents and warnings of a running function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from warnings import warn

if TYPE_CHECKING:
    from spmopt.core.scheduler import Incumbent


def _warn(message: str) -> None:
    # 4: the warning shall point at the caller of the public function.
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
        Polled during the search; when it returns true, the function returns its incumbent.
    on_incumbent
        Gets each better schedule and bound.
    note
        Gets messages on the course of the work, e.g. that other processes share it.
    warn
        Gets doubts about an input; default: a Python warning.
    interrupts
        Exceptions that end a sweep, a search or gradients in tiles early, with a partial result;
        all others pass through (default: all).
    """

    progress: Callable[[str, float | None], None] = _silent
    stop: Callable[[], bool] = _never
    on_incumbent: Callable[[Incumbent], None] = _silent
    note: Callable[[str], None] = _silent
    warn: Callable[[str], None] = _warn
    interrupts: tuple[type[BaseException], ...] = ()


QUIET = Callbacks()
"""Warnings only."""
