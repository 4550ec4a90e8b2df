"""The page of a search of machines, with the schedules of its front as far as there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from spmopt.reporting.page.schedule import SHARED, VIEW, look, parted
from spmopt.reporting.page.shell import Json, html, packed
from spmopt.reporting.palette import COLORS
from spmopt.reporting.search.front import Front, front_record

ROOM = 12_000_000
"""Bytes that schedules take of a page, all together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSchedule:
    """A schedule of a trial.

    Attributes
    ----------
    trial, network
        Whose.
    commands
        What shows it where the page does not hold it.
    record
        Makes its :func:`~spmopt.reporting.schedule_view.record.schedule_record`; None: there is
        none to be had.
    """

    trial: int
    network: str
    commands: tuple[str, ...]
    record: Callable[[], Json] | None = None


def front_page(front: Front, schedules: Iterable[TrialSchedule] = (), *, room: int = ROOM) -> str:
    """Return a self-contained page; it holds the first ``schedules``, up to ``room`` bytes."""
    blocks: dict[str, Json | str] = {
        "front": front_record(front),
        "look": {**look(), "series": COLORS},
    }
    opened = []
    for place, each in enumerate(schedules):
        name = f"schedule-{place}"
        parts = _packed(each, room)
        room -= sum(map(len, parts))
        if parts:
            blocks[f"{name}-view"], blocks[f"{name}-tables"] = parts
        opened.append(
            {
                "trial": each.trial,
                "network": each.network,
                "commands": list(each.commands),
                "block": name if parts else None,
            }
        )
    return html(
        title=f"{front.name}: {front.subject}",
        subtitle=front.lines[0],
        body="front.html",
        spare="schedule.html",
        scripts=(*SHARED, *VIEW, "front", "front-page"),
        blocks={**blocks, "opened": {"schedules": opened}},
    )


def _packed(shown: TrialSchedule, room: int) -> tuple[str, ...]:
    """Return both parts of a schedule as blocks; none where there is no schedule, or no room."""
    if shown.record is None or room <= 0:
        return ()
    parts = tuple(packed(part) for part in parted(shown.record()))
    return parts if sum(map(len, parts)) <= room else ()
