"""Schedules as a trace that Perfetto and Chrome show: the Trace Event Format, as JSON.

Each schedule is a group of processes. ``engine`` has operations, computation, DMA, stalls, moves
between banks, and a counter of bytes on chip. ``addresses`` has a process for the scratchpad, or
for each of its banks: residencies in lanes from low addresses to high ones, with the causes of
loads and evictions. Two schedules are two such groups, which begin at time zero.

Time stamps are microseconds. The viewers keep nanoseconds, so that every time is rounded to one
first; of two things that follow each other the second begins where the first ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from spmopt.reporting.headings import describe
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import MARKS, names
from spmopt.reporting.trace.addresses import address_events
from spmopt.reporting.trace.engine import engine_events
from spmopt.reporting.trace.events import Event, Group

__all__ = ["trace_events", "trace_text"]


def trace_events(pictures: Sequence[ScheduleView]) -> list[Event]:
    """Return the events of one schedule or of two, in plain JSON types."""
    return [
        event
        for group in _groups(pictures)
        for events in (engine_events, address_events)
        for event in events(group)
    ]


def _groups(pictures: Sequence[ScheduleView]) -> Iterator[Group]:
    marks = MARKS if len(pictures) > 1 else ("",)
    for place, (picture, mark) in enumerate(zip(pictures, marks, strict=True)):
        # A single schedule needs no mark to be told apart.
        own = f"{picture.problem.name}, {picture.result.scheduler}"
        title = f"{mark}: {names(pictures)[place]}" if mark else own
        yield Group(picture=picture, place=place, title=title)


def trace_text(pictures: Sequence[ScheduleView], events: Sequence[Event]) -> str:
    """Return the file: the ``events`` of these pictures, as JSON in one line."""
    about = [_about(picture) for picture in pictures]
    document = {
        "displayTimeUnit": "ns",
        "otherData": about[0] if len(about) == 1 else dict(zip(MARKS, about, strict=True)),
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def _about(picture: ScheduleView) -> dict[str, object]:
    return {
        "problem": picture.problem.name,
        "scheduler": picture.result.scheduler,
        "machine": describe(picture.problem.machine),
        "timing": picture.times.timing,
        "cycles": picture.times.cycles,
        "clock_hz": picture.problem.machine.clock_hz,
    }
