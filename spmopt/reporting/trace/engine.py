"""Operations, computation, transfers and stalls of a schedule, as the threads of a process.

Threads: the operations, each until the next may begin; the computation; the commands of the DMA
channel by direction; the stalls, named by their cause; and, with banks, moves between addresses, an
instant each. A flow goes from every load to the first operation that uses the bytes. A fused
schedule has two more threads, of its fused groups and their fusion tiles. Fusion tiles of an
operation bear its name, so that viewers add them up. A counter has the scratchpad by kinds of
tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from spmopt.analysis import Cause
from spmopt.analysis.stalls import bytes_moved, inward
from spmopt.core.schedule import Command
from spmopt.reporting.fused_groups import block_name, group_labels
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.schedule_view.residencies import next_use
from spmopt.reporting.trace.events import ENGINE, Event, Group

OPERATIONS, COMPUTE, DMA_IN, DMA_OUT, STALLS = THREADS = range(1, 6)
FUSED_GROUPS, FUSION, MOVES = 6, 7, 8
_NAMES = ("operations", "compute", "DMA in", "DMA out", "stalls")
_OF_FUSION_PLANS = {FUSED_GROUPS: "fused groups", FUSION: "fusion tiles"}
_KINDS = [kind.name.lower().replace("_", " ") for kind in Command]


def engine_events(group: Group) -> Iterator[Event]:
    """Yield the process, each thread in the order of time."""
    picture, process = group.picture, group.process(ENGINE)
    yield from process.with_name(group.title, process.pid)
    for thread, name in zip(THREADS, _NAMES, strict=True):
        yield from process.thread(thread, name, thread)
    for thread, name in _OF_FUSION_PLANS.items() if picture.fused_groups else ():
        yield from process.thread(thread, name, thread - FUSION)  # above the operations
    if picture.problem.machine.banks:
        yield from process.thread(MOVES, "moves between banks", MOVES)
    yield from _fused_groups(group)
    yield from _steps(group)
    yield from _transfers(group)
    yield from _moves(group)
    yield from _occupancy(group)


def _fused_groups(group: Group) -> Iterator[Event]:
    """Yield fused groups, and below them their fusion tiles."""
    add, edges = group.process(ENGINE).slice, group.edges
    for number, each in enumerate(group.picture.fused_groups):
        args: Event = {"fused_group": number, "micro_batches": each.fused_group.micro_batches}
        span = edges[each.begin_step], edges[each.end_step]
        yield add(FUSED_GROUPS, "fused group", group_labels(each)[0], span, args)
    for number, each in enumerate(group.picture.fused_groups):
        for block, (begin, end) in enumerate(pairwise([*each.blocks, each.end_step])):
            more: Event = {"fused_group": number, "block": block_name(each, block)}
            span = edges[begin], edges[end]
            yield add(FUSION, "fusion tile", f"fused group {number}", span, more)


def _steps(group: Group) -> Iterator[Event]:
    """Yield operations, computations, and the stall before and after each."""
    picture, add = group.picture, group.process(ENGINE).slice
    times, cycles = picture.times, picture.view.timeline.compute_cycles
    layers, tile_of = picture.analysis.layers, picture.problem.tile_of
    begins, ends = group.ns(times.compute_start), group.ns(times.compute_start + cycles)
    columns = (cycles.tolist(), times.cause.tolist(), layers.layer.tolist())
    spans = zip(pairwise(group.edges), begins, ends, *columns, strict=True)
    for step, ((start, stop), begin, end, computed, cause, layer) in enumerate(spans):
        operation = group.operations[step]
        name, args = tile_of.get(operation, operation), {"operation": operation, "step": step}
        more: Event = {**args, "layer": layers.names[layer]}
        yield add(OPERATIONS, "operation", name, (start, stop), more)
        # Viewers draw slices of no length as marks of their own: leave them out.
        if computed:
            yield add(COMPUTE, "compute", name, (begin, end), {**args, "cycles": computed})
        why: Event = {**args, "cause": Cause(cause).words}
        for since, until in ((start, begin), (end, stop)):
            # A stall may lie before the computation, after it, or on both sides.
            if since < until:
                yield add(STALLS, "stall", Cause(cause).words, (since, until), why)


def _transfers(group: Group) -> Iterator[Event]:
    """Yield DMA commands, and a flow from each load to the first operation that uses it."""
    picture, process = group.picture, group.process(ENGINE)
    view, table = picture.view, picture.view.schedule.commands
    following = np.where(
        table.kind == Command.LOAD, next_use(view, table.tensor, table.step - 1), -1
    )
    columns = zip(
        np.where(inward(view), DMA_IN, DMA_OUT).tolist(),
        table.step.tolist(),
        [_KINDS[kind] for kind in table.kind.tolist()],
        [view.name(tensor) for tensor in table.tensor.tolist()],
        bytes_moved(view).tolist(),
        picture.analysis.steps.stalls.cause.tolist(),
        group.ns(picture.times.command_start),
        group.ns(picture.times.command_end),
        following.tolist(),
        strict=True,
    )
    for row, (thread, step, kind, tensor, size, cause, start, end, use) in enumerate(columns):
        args: Event = {"tensor": tensor, "bytes": size, "operation": group.operations[step]}
        args |= {"step": step, "cause": Cause(cause).words}
        yield process.slice(thread, kind, f"{kind} {tensor}", (start, end), args)
        if use >= 0:
            flow = {"cat": "load", "id": group.flow(row)}
            yield process.event("s", DMA_IN, "load to use", start, **flow)
            # A load may still run when its user begins; a flow must not point backwards.
            arrow = max(start, group.edges[use])
            yield process.event("f", OPERATIONS, "load to use", arrow, bp="e", **flow)


def _moves(group: Group) -> Iterator[Event]:
    """Yield moves to another address on chip as a step opens."""
    view, process = group.picture.view, group.process(ENGINE)
    for step, tensor, begin, end in sorted(view.schedule.moves.rows()):
        name = view.name(tensor)
        args: Event = {"tensor": name, "bytes": end - begin, "step": step}
        # ``s: t``: an instant of its thread, not of the whole process.
        more = {"s": "t", "cat": "move", "args": args}
        yield process.event("i", MOVES, f"move {name}", group.edges[step], **more)


def _occupancy(group: Group) -> Iterator[Event]:
    """Yield bytes by kind as steps change them, and nothing at the end."""
    occupied, process = group.picture.occupied, group.process(ENGINE)
    used = np.flatnonzero(occupied.any(axis=1))
    names = [KINDS[kind] for kind in used.tolist()]
    changes = np.ones(occupied.shape[1], bool)
    changes[1:] = (occupied[:, 1:] != occupied[:, :-1]).any(axis=0)
    for step in np.flatnonzero(changes).tolist():
        held = dict(zip(names, occupied[used, step].tolist(), strict=True))
        yield process.counter("SPM", group.edges[step], held)
    # A counter keeps its last value for ever; close it at the end.
    yield process.counter("SPM", group.edges[-1], dict.fromkeys(names, 0))
