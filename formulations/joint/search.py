"""What is asked of the joint model's process, and what it answers; loads no solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from formulations.solver import apart
from spmopt.core.instance import Instance
from spmopt.core.schedule import Plan, Schedule
from spmopt.core.table import Ints

_WORKER = "formulations.joint.cpsat_worker:search"
_GRACE_S = 0.25  # for a solver that is late


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to search.

    Attributes
    ----------
    order : (n,)
        The only order of operations allowed; None for all that keep the dependences.
    paged
        Count pages only, without addresses: a bound for paged schedules too. Placements found
        then mean nothing.
    threads
        With one the search takes the same course every time.
    tolerance
        Relative gap at which the search ends by itself.
    same
        Then settle on a schedule that does not depend on the course that the search took.
    without
        Names of families of constraints to leave out, for tests.
    """

    time_limit_s: float = 60.0
    threads: int = 2
    tolerance: float = 0.0
    same: bool = False
    order: Ints | None = None
    paged: bool = False
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A schedule whose replay takes ``cycles``, or less."""

    schedule: Schedule
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """No schedule of the class replays in less than ``cycles``; ``infeasible``: there is none."""

    cycles: int
    infeasible: bool = False


def search(
    instance: Instance,
    settings: Settings,
    start: Plan | None = None,
    stop: Callable[[], bool] = bool,
) -> Iterator[Found | Proved]:
    """Better and better schedules and bounds, from the solver's own process.

    Just ends when the time is up or ``stop`` says so; what came before stays true. Starting the
    process and building the model are part of the time.
    """
    due = monotonic() + settings.time_limit_s  # the clock is the same in all processes
    yield from apart.stream(
        _WORKER,
        instance,
        settings,
        start,
        due,
        time_limit_s=settings.time_limit_s + _GRACE_S,
        stop=stop,
    )
