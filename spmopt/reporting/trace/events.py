"""Events of the Trace Event Format, by process and thread, at whole nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import floor, inf, nextafter

import numpy as np

from spmopt.core.table import Ints
from spmopt.reporting.schedule_view import ScheduleView

Event = dict[str, object]
Span = tuple[int, int]
"""Nanoseconds: begin and end."""
_NS_PER_S = 10**9
# From the processes of one schedule to those of the next; no thread but that of operations has the
# number of its process, as viewers would take it for the main one.
_PIDS = 100_000
ENGINE, BANKS = 1, _PIDS // 2
"""Processes of the first schedule, from top to bottom; for each bank one, from that number on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """The processes of one schedule: its picture, its place (0 or 1), its title."""

    picture: ScheduleView
    place: int
    title: str

    def process(self, kind: int) -> Process:
        """Return a process, by its number in the first schedule."""
        return Process(kind + self.place * _PIDS)

    def flow(self, row: int) -> int:
        """Return the number of a flow, which no other schedule has."""
        # Far above any number of commands of one schedule.
        return row + self.place * 2**40

    def ns(self, cycles: Ints) -> list[int]:
        """Round to nanoseconds, in Python's integers: 64 bits could overflow."""
        clock = self.picture.problem.machine.clock_hz
        # Rounded half up: floor(x + 1/2) with x = one * 1e9 / clock.
        return [(2 * one * _NS_PER_S + clock) // (2 * clock) for one in cycles.tolist()]

    @cached_property
    def edges(self) -> list[int]:
        """Nanoseconds at which each step begins, and the end of the last one."""
        times = self.picture.times
        return self.ns(np.append(times.start, times.start[-1:] + times.duration[-1:]))

    @cached_property
    def operations(self) -> list[str]:
        """Operation of each step."""
        order = self.picture.view.timeline.order.tolist()
        return [self.picture.problem.operations[index].name for index in order]


@dataclass(frozen=True, slots=True)
class Process:
    """A process; threads are numbered from 1."""

    pid: int

    def with_name(self, name: str, order: int) -> Iterator[Event]:
        """Yield its name, and its place among all processes."""
        about: Event = {"ph": "M", "pid": self.pid}
        yield {**about, "name": "process_name", "args": {"name": name}}
        yield {**about, "name": "process_sort_index", "args": {"sort_index": order}}

    def thread(self, thread: int, name: str, order: int) -> Iterator[Event]:
        """Yield the name of a thread, and its place in the process."""
        about: Event = {"ph": "M", "pid": self.pid, "tid": thread}
        yield {**about, "name": "thread_name", "args": {"name": name}}
        yield {**about, "name": "thread_sort_index", "args": {"sort_index": order}}

    def event(self, phase: str, thread: int, name: str, ns: int, **more: object) -> Event:
        """Return an event at a time."""
        event: Event = {"ph": phase, "pid": self.pid, "tid": thread, "name": name}
        return {**event, "ts": microseconds(ns), **more}

    def slice(
        self, thread: int, kind: str, name: str, span: Span, args: Mapping[str, object]
    ) -> Event:
        """Return a slice of time."""
        lasts = microseconds(span[1] - span[0])
        return self.event("X", thread, name, span[0], cat=kind, dur=lasts, args=args)

    def counter(self, name: str, ns: int, values: Mapping[str, int]) -> Event:
        """Return values of a counter from a time on."""
        event: Event = {"ph": "C", "pid": self.pid, "name": name}
        return {**event, "ts": microseconds(ns), "args": values}


def microseconds(ns: int) -> float:
    """Return ``ns`` nanoseconds as a number that a viewer cuts back to just so many.

    Next to 1.001 us, for one, is a double a little below: 1000 ns once it is cut.
    """
    value = ns / 1000
    return value if floor(value * 1000) >= ns else nextafter(value, inf)
