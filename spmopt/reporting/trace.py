"""A picture as a trace that Perfetto and Chrome show: the Trace Event Format, as JSON.

Threads: the operations, each until the next may begin; what the engine computes; the commands of
the DMA channel by direction; and the stalls, named by their cause. A counter has the scratchpad by
kinds of tensors. What moves between banks is an instant. A flow goes from every load to the
operation that first uses what it brings. Of a schedule in pieces two more threads have its segments
and their pieces, and pieces of an operation bear its name, so that viewers add them up.

Time stamps are microseconds. The viewers keep nanoseconds, so that every time is rounded to one
first; of two things that follow each other the second begins where the first ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from math import floor, inf, nextafter

import numpy as np

from spmopt.analysis import Cause
from spmopt.analysis.stalls import inward, moved_bytes
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.reporting.headings import describe
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import next_use

Event = dict[str, object]
PROCESS = 1
OPERATIONS, COMPUTE, DMA_IN, DMA_OUT, STALLS = THREADS = range(1, 6)
_NAMES = ("operations", "compute", "DMA in", "DMA out", "stalls")
SEGMENTS, PIECES = 6, 7
_OF_COVERS = {SEGMENTS: "segments", PIECES: "pieces"}
_NS_PER_S = 10**9
_KINDS = [kind.name.lower().replace("_", " ") for kind in Command]
_CAUSES = [cause.words for cause in Cause]


def trace_text(picture: ScheduleView, events: list[Event]) -> str:
    """Return the file: the ``events`` of a picture, as JSON in one line."""
    document = {
        "displayTimeUnit": "ns",
        "otherData": {
            "instance": picture.instance.name,
            "scheduler": picture.result.scheduler,
            "machine": describe(picture.instance.machine),
            "timing": picture.times.timing,
            "cycles": picture.times.cycles,
            "clock_hz": picture.instance.machine.clock_hz,
        },
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def trace_events(picture: ScheduleView) -> list[Event]:
    """Return the events, in plain JSON types."""
    return list(_Tracer(picture).events())


def microseconds(ns: int) -> float:
    """Return ``ns`` nanoseconds as a number that a viewer cuts back to just so many.

    Next to 1.001 us, for one, is a double a little below: 1000 ns once it is cut.
    """
    value = ns / 1000
    return value if floor(value * 1000) >= ns else nextafter(value, inf)


class _Tracer:
    """Makes the events of one picture."""

    def __init__(self, picture: ScheduleView) -> None:
        times, view = picture.times, picture.view
        self._picture, self._view = picture, view
        operations = [picture.instance.operations[k].name for k in view.timeline.order.tolist()]
        self._operation = operations
        of = picture.instance.piece_of
        self._whole = [of.get(name, name) for name in operations]
        self._start = self._ns(times.start)
        self._end = self._ns(times.start + times.duration)
        self._command_start = self._ns(times.command_start)

    def events(self) -> Iterator[Event]:
        """Yield all, each thread in the order of time."""
        yield from self._metadata()
        yield from self._segments()
        yield from self._operations()
        yield from self._engine()
        yield from self._transfers()
        yield from self._moves()
        yield from self._flows()
        yield from self._counters()

    def _metadata(self) -> Iterator[Event]:
        picture = self._picture
        title = f"{picture.instance.name}, {picture.result.scheduler}"
        about = {"ph": "M", "pid": PROCESS}
        yield {**about, "name": "process_name", "args": {"name": title}}
        for thread, name in zip(THREADS, _NAMES, strict=True):
            yield {**about, "tid": thread, "name": "thread_name", "args": {"name": name}}
            order = {"sort_index": thread}
            yield {**about, "tid": thread, "name": "thread_sort_index", "args": order}
        for thread, name in _OF_COVERS.items() if picture.segments else ():
            yield {**about, "tid": thread, "name": "thread_name", "args": {"name": name}}
            order = {"sort_index": thread - PIECES}  # above the operations
            yield {**about, "tid": thread, "name": "thread_sort_index", "args": order}

    def _segments(self) -> Iterator[Event]:
        """Yield segments, and below them their pieces."""
        for number, segment in enumerate(self._picture.segments):
            args: Event = {"segment": number, "pieces": segment.pieces}
            span = self._start[segment.begin], self._end[segment.end - 1]
            yield _slice(SEGMENTS, "segment", segment.labels[0], span, args)
        for number, segment in enumerate(self._picture.segments):
            blocks = [*segment.blocks, segment.end]
            for block, (begin, end) in enumerate(pairwise(blocks)):
                span = self._start[begin], self._end[end - 1]
                name = f"segment {number}"
                more: Event = {"segment": number, "block": segment.block_name(block)}
                yield _slice(PIECES, "piece", name, span, more)

    def _operations(self) -> Iterator[Event]:
        of = self._picture.analysis.layers
        columns = zip(self._operation, of.layer.tolist(), self._start, self._end, strict=True)
        for step, (name, layer, start, end) in enumerate(columns):
            args = {"operation": name, "layer": of.names[layer], "step": step}
            yield _slice(OPERATIONS, "operation", self._whole[step], (start, end), args)

    def _engine(self) -> Iterator[Event]:
        """Yield what is computed, and the stall before and after it."""
        times, cycles = self._picture.times, self._view.timeline.compute_cycles
        begins, ends = self._ns(times.compute_start), self._ns(times.compute_start + cycles)
        columns = (cycles.tolist(), times.cause.tolist())
        spans = zip(self._start, begins, ends, self._end, *columns, strict=True)
        for step, (start, begin, end, stop, computed, cause) in enumerate(spans):
            name = self._whole[step]
            args = {"operation": self._operation[step], "step": step}
            if computed:
                yield _slice(COMPUTE, "compute", name, (begin, end), {**args, "cycles": computed})
            why = {**args, "cause": _CAUSES[cause]}
            for since, until in ((start, begin), (end, stop)):
                if since < until:
                    yield _slice(STALLS, "stall", _CAUSES[cause], (since, until), why)

    def _transfers(self) -> Iterator[Event]:
        table, view, times = self._view.schedule.commands, self._view, self._picture.times
        columns = zip(
            np.where(inward(view), DMA_IN, DMA_OUT).tolist(),
            table.step.tolist(),
            [_KINDS[kind] for kind in table.kind.tolist()],
            [view.name(tensor) for tensor in table.tensor.tolist()],
            moved_bytes(view).tolist(),
            self._picture.analysis.steps.stalls.cause.tolist(),
            self._command_start,
            self._ns(times.command_end),
            strict=True,
        )
        for thread, step, kind, tensor, size, cause, start, end in columns:
            args: Event = {"tensor": tensor, "bytes": size, "operation": self._operation[step]}
            args |= {"step": step, "cause": _CAUSES[cause]}
            yield _slice(thread, kind, f"{kind} {tensor}", (start, end), args)

    def _moves(self) -> Iterator[Event]:
        """Yield what changes its address on chip, between banks, as a step opens."""
        opened = [*self._start, self._end[-1]]
        for step, tensor, begin, end in sorted(self._view.schedule.moves.rows()):
            name = self._view.name(tensor)
            args = {"tensor": name, "bytes": end - begin, "step": step}
            more = {"s": "t", "cat": "move", "args": args}
            yield _event("i", OPERATIONS, f"move {name}", opened[step], **more)

    def _flows(self) -> Iterator[Event]:
        """Yield a flow from each load to the operation that first uses what it brings, if any."""
        table, view = self._view.schedule.commands, self._view
        load = np.flatnonzero(table.kind == Command.LOAD)
        steps = next_use(view, table.tensor[load], table.step[load] - 1)
        for row, step in zip(load.tolist(), steps.tolist(), strict=True):
            if step >= 0:
                start, flow = self._command_start[row], {"cat": "load", "id": row}
                yield _event("s", DMA_IN, "load to use", start, **flow)
                arrow = max(start, self._start[step])
                yield _event("f", OPERATIONS, "load to use", arrow, bp="e", **flow)

    def _counters(self) -> Iterator[Event]:
        """Yield bytes by kind as steps change them, and nothing at the end."""
        occupied = self._picture.occupied
        used = np.flatnonzero(occupied.any(axis=1))
        names = [KINDS[kind] for kind in used.tolist()]
        changes = np.ones(occupied.shape[1], bool)
        changes[1:] = (occupied[:, 1:] != occupied[:, :-1]).any(axis=0)
        rows = [
            (self._start[step], occupied[used, step].tolist()) for step in np.flatnonzero(changes)
        ]
        for ns, sizes in (*rows, (self._end[-1], [0] * len(names))):
            held = dict(zip(names, sizes, strict=True))
            counter = {"ph": "C", "pid": PROCESS, "name": "SPM"}
            yield {**counter, "ts": microseconds(ns), "args": held}

    def _ns(self, cycles: Ints) -> list[int]:
        """Round to nanoseconds, in Python's integers: 64 bits could overflow."""
        clock = self._picture.instance.machine.clock_hz
        return [(2 * one * _NS_PER_S + clock) // (2 * clock) for one in cycles.tolist()]


def _event(phase: str, thread: int, name: str, ns: int, **more: object) -> Event:
    event = {"ph": phase, "pid": PROCESS, "tid": thread, "name": name}
    return {**event, "ts": microseconds(ns), **more}


def _slice(thread: int, kind: str, name: str, span: tuple[int, int], args: Event) -> Event:
    start, end = span
    lasts = microseconds(end - start)
    return _event("X", thread, name, start, cat=kind, dur=lasts, args=args)
