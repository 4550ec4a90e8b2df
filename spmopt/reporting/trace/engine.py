"""What a schedule runs when, as the threads of a process.

Threads: the operations, each until the next may begin; what the engine computes; the commands of
the DMA channel by direction; the stalls, named by their cause; and, with banks, what moves between
addresses, an instant each. A flow goes from every load to the operation that first uses what it
brings. Of a fused schedule two more threads have its fused groups and their fusion tiles, and
fusion tiles of an operation bear its name, so that viewers add them up. Counters have the
scratchpad by kinds of tensors, and the rate of DRAM in each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from spmopt.analysis import Cause
from spmopt.analysis.stalls import bytes_moved, inward
from spmopt.analysis.steps import Reals
from spmopt.core.schedule import Command
from spmopt.core.table import Bools, Ints
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.schedule_view.residencies import next_use
from spmopt.reporting.trace.events import ENGINE, Event, Group

OPERATIONS, COMPUTE, DMA_IN, DMA_OUT, STALLS = THREADS = range(1, 6)
FUSED_GROUPS, FUSION, MOVES = 6, 7, 8
_NAMES = ("operations", "compute", "DMA in", "DMA out", "stalls")
_OF_FUSION_PLANS = {FUSED_GROUPS: "fused_groups", FUSION: "micro_batches"}
_KINDS = [kind.name.lower().replace("_", " ") for kind in Command]
_CAUSES = [cause.words for cause in Cause]
RATE = "DRAM bytes per second"


def engine_events(group: Group) -> Iterator[Event]:
    """Yield the process of what runs, each thread in the order of time."""
    made = _Engine(group)
    yield from made.metadata()
    yield from made.fused_groups()
    yield from made.operations()
    yield from made.engine()
    yield from made.transfers()
    yield from made.moves()
    yield from made.flows()
    yield from made.occupancy()
    yield from made.rates()


class _Engine:
    """Makes the events of one schedule."""

    def __init__(self, group: Group) -> None:
        self._group, self._process = group, group.process(ENGINE)
        self._picture = picture = group.picture
        self._view, self._operation = picture.view, group.operations
        of = picture.problem.tile_of
        self._whole = [of.get(name, name) for name in group.operations]
        self._start, self._end = group.edges[:-1], group.edges[1:]
        self._command_start = group.ns(picture.times.command_start)

    def metadata(self) -> Iterator[Event]:
        picture, process = self._picture, self._process
        yield from process.with_name(self._group.title, process.pid)
        for thread, name in zip(THREADS, _NAMES, strict=True):
            yield from process.thread(thread, name, thread)
        for thread, name in _OF_FUSION_PLANS.items() if picture.fused_groups else ():
            yield from process.thread(thread, name, thread - FUSION)  # above the operations
        if picture.problem.machine.banks:
            yield from process.thread(MOVES, "moves between banks", MOVES)

    def fused_groups(self) -> Iterator[Event]:
        """Yield fused groups, and below them their fusion tiles."""
        add = self._process.slice
        for number, fused_group in enumerate(self._picture.fused_groups):
            args: Event = {"fused_group": number, "micro_batches": fused_group.micro_batches}
            span = self._start[fused_group.begin], self._end[fused_group.end - 1]
            yield add(FUSED_GROUPS, "fused_group", fused_group.labels[0], span, args)
        for number, fused_group in enumerate(self._picture.fused_groups):
            blocks = [*fused_group.blocks, fused_group.end]
            for block, (begin, end) in enumerate(pairwise(blocks)):
                span = self._start[begin], self._end[end - 1]
                more: Event = {"fused_group": number, "block": fused_group.block_name(block)}
                yield add(FUSION, "piece", f"fused group {number}", span, more)

    def operations(self) -> Iterator[Event]:
        of = self._picture.analysis.layers
        columns = zip(self._operation, of.layer.tolist(), self._start, self._end, strict=True)
        for step, (name, layer, start, end) in enumerate(columns):
            args = {"operation": name, "layer": of.names[layer], "step": step}
            whole = self._whole[step]
            yield self._process.slice(OPERATIONS, "operation", whole, (start, end), args)

    def engine(self) -> Iterator[Event]:
        """Yield what is computed, and the stall before and after it."""
        times, cycles = self._picture.times, self._view.timeline.compute_cycles
        begins = self._group.ns(times.compute_start)
        ends = self._group.ns(times.compute_start + cycles)
        columns = (cycles.tolist(), times.cause.tolist())
        spans = zip(self._start, begins, ends, self._end, *columns, strict=True)
        add = self._process.slice
        for step, (start, begin, end, stop, computed, cause) in enumerate(spans):
            name = self._whole[step]
            args = {"operation": self._operation[step], "step": step}
            if computed:
                yield add(COMPUTE, "compute", name, (begin, end), {**args, "cycles": computed})
            why = {**args, "cause": _CAUSES[cause]}
            for since, until in ((start, begin), (end, stop)):
                if since < until:
                    yield add(STALLS, "stall", _CAUSES[cause], (since, until), why)

    def transfers(self) -> Iterator[Event]:
        table, view, times = self._view.schedule.commands, self._view, self._picture.times
        columns = zip(
            np.where(inward(view), DMA_IN, DMA_OUT).tolist(),
            table.step.tolist(),
            [_KINDS[kind] for kind in table.kind.tolist()],
            [view.name(tensor) for tensor in table.tensor.tolist()],
            bytes_moved(view).tolist(),
            self._picture.analysis.steps.stalls.cause.tolist(),
            self._command_start,
            self._group.ns(times.command_end),
            strict=True,
        )
        for thread, step, kind, tensor, size, cause, start, end in columns:
            args: Event = {"tensor": tensor, "bytes": size, "operation": self._operation[step]}
            args |= {"step": step, "cause": _CAUSES[cause]}
            yield self._process.slice(thread, kind, f"{kind} {tensor}", (start, end), args)

    def moves(self) -> Iterator[Event]:
        """Yield what changes its address on chip as a step opens, and from which bank to which."""
        rows, ends = self._picture.residencies, np.cumsum(self._picture.problem.machine.bank_pages)
        bank = np.searchsorted(ends, rows.page, "right")
        left: dict[tuple[int, int], int] = {}
        came: dict[tuple[int, int], int] = {}
        columns = (rows.tensor, bank, rows.begin, rows.end)
        for tensor, place, begin, end in zip(*(each.tolist() for each in columns), strict=True):
            came.setdefault((tensor, begin), place)
            left.setdefault((tensor, end), place)
        for step, tensor, begin, end in sorted(self._view.schedule.moves.rows()):
            name = self._view.name(tensor)
            args: Event = {"tensor": name, "bytes": end - begin, "step": step}
            args |= {"from_bank": left.get((tensor, step)), "to_bank": came.get((tensor, step))}
            more = {"s": "t", "cat": "move", "args": args}
            at = self._group.edges[step]
            yield self._process.event("i", MOVES, f"move {name}", at, **more)

    def flows(self) -> Iterator[Event]:
        """Yield a flow from each load to the operation that first uses what it brings, if any."""
        table, view = self._view.schedule.commands, self._view
        load = np.flatnonzero(table.kind == Command.LOAD)
        steps = next_use(view, table.tensor[load], table.step[load] - 1)
        for row, step in zip(load.tolist(), steps.tolist(), strict=True):
            if step >= 0:
                start = self._command_start[row]
                flow = {"cat": "load", "id": self._group.flow(row)}
                yield self._process.event("s", DMA_IN, "load to use", start, **flow)
                arrow = max(start, self._start[step])
                yield self._process.event("f", OPERATIONS, "load to use", arrow, bp="e", **flow)

    def occupancy(self) -> Iterator[Event]:
        """Yield bytes by kind as steps change them, and nothing at the end."""
        occupied = self._picture.occupied
        used = np.flatnonzero(occupied.any(axis=1))
        names = [KINDS[kind] for kind in used.tolist()]
        for step in np.flatnonzero(changes(occupied)).tolist():
            held = dict(zip(names, occupied[used, step].tolist(), strict=True))
            yield self._process.counter("SPM", self._start[step], held)
        yield self._process.counter("SPM", self._end[-1], dict.fromkeys(names, 0))

    def rates(self) -> Iterator[Event]:
        """Yield the mean rate of DRAM in each step that takes time, by direction."""
        lasts = self._picture.times.duration
        some = np.flatnonzero(lasts)
        clock = self._picture.problem.machine.clock_hz
        moved = np.stack([self._move(inside=True), self._move(inside=False)])[:, some]
        rates = np.rint(moved * clock / lasts[some]).astype(np.int64)
        chosen = np.flatnonzero(changes(rates))
        for at, step in zip(chosen.tolist(), some[chosen].tolist(), strict=True):
            each = dict(zip(("in", "out"), rates[:, at].tolist(), strict=True))
            yield self._process.counter(RATE, self._start[step], each)
        yield self._process.counter(RATE, self._end[-1], {"in": 0, "out": 0})

    def _move(self, *, inside: bool) -> Reals:
        """Return (n,) bytes that cross one way while each step lasts, whosever commands they are.

        Commands of one direction follow each other, each at a steady rate.
        """
        times, into = self._picture.times, inward(self._view) == inside
        start, end = times.command_start[into], times.command_end[into]
        order = np.lexsort((end, start))
        begins, ends = start[order], end[order]
        size = bytes_moved(self._view)[into][order]
        upto = np.cumsum(size)
        knots = np.stack([begins, ends], axis=1).ravel()
        sofar = np.stack([upto - size, upto], axis=1).ravel()
        edges = np.append(times.start, times.start[-1:] + times.duration[-1:])
        at = np.interp(edges, knots, sofar, left=0) if knots.size else np.zeros(edges.size)
        found: Reals = np.diff(at)
        return found


def changes(rows: Ints) -> Bools:
    """Return (n,) the columns of ``rows`` that differ from the one before; the first always."""
    found = np.ones(rows.shape[1], bool)
    found[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return found
