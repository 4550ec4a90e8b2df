"""The page of a search of machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spmopt.reporting.page.schedule import SHARED
from spmopt.reporting.page.shell import html
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plain import plain
from spmopt.reporting.search.front import Front, front_record


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCommands:
    """The commands that show the schedule of a trial and network."""

    trial: int
    network: str
    commands: tuple[str, ...]


def front_page(front: Front, schedules: Iterable[TrialCommands] = ()) -> str:
    """Return a self-contained page; ``schedules`` say how to show those of the front."""
    return html(
        title=f"{front.name}: {front.subject}",
        subtitle=front.lines[0],
        body="front.html",
        scripts=(*SHARED, "front", "front-page"),
        blocks={
            "front": front_record(front),
            "look": {"series": COLORS},
            "commands": {"schedules": plain(tuple(schedules))},
        },
    )
