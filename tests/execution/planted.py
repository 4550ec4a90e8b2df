"""Errors planted into programs: each breaks one rule, and whoever executes it must notice.

All are planted where they matter: in what is used afterwards (:mod:`.liveness`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from spmopt.execution.commands import Kind, Program, Releases, Segments, Use
from tests.execution.liveness import used_bytes

Plant = Callable[[Program, np.random.Generator], Program | None]
"""Returns a program with an error; None where it has no place for one of its kind."""
_DMA = (Kind.LOAD, Kind.STORE, Kind.STREAM_IN, Kind.STREAM_OUT)


def reordered(program: Program, order: Sequence[int]) -> Program:
    """The program with these of its commands, in this order."""
    place = {old: new for new, old in enumerate(order)}
    rows = sorted(
        (place[row[0]], at, row[1:])
        for at, row in enumerate(program.segments.rows())
        if row[0] in place
    )
    kept = sorted(place)
    releases = [
        (min((place[k] for k in kept if k >= row[0]), default=len(order)), *row[1:])
        for row in program.releases.rows()
    ]
    return replace(
        program,
        commands=program.commands.take(np.array(order, np.int64)),
        segments=Segments.of_rows([(command, *rest) for command, _, rest in rows]),
        releases=Releases.of_rows(sorted(releases)),
    )


def lost_command(program: Program, generator: np.random.Generator) -> Program | None:
    """Some load, store or stream does not take place."""
    used, kinds = used_bytes(program), program.commands.kind.tolist()
    chosen = _any(generator, [k for k, kind in enumerate(kinds) if kind in _DMA and used[k].any()])
    if chosen is None:
        return None
    return reordered(program, [k for k in range(len(program.commands)) if k != chosen])


def wrong_address(program: Program, generator: np.random.Generator) -> Program | None:
    """A load or store, or an operation, uses another page of the scratchpad."""
    table, size = program.segments, program.problem.machine.page_bytes
    room = program.problem.machine.spm_pages * size
    chosen = _any(generator, _that_matter(program))
    if chosen is None:
        return None
    address, count = int(table.spm_address[chosen]), int(table.size_bytes[chosen])
    others = [each for each in range(0, room - count + 1, size) if each != address]
    if not others:
        return None
    addresses = table.spm_address.copy()
    addresses[chosen] = generator.choice(others)
    return replace(program, segments=replace(table, spm_address=addresses))


def wrong_offset(program: Program, generator: np.random.Generator) -> Program | None:
    """A load or store uses bytes of its tensor a bit further on, or back."""
    table, kinds = program.segments, program.commands.kind[program.segments.command]
    sizes = np.array([each.size_bytes for each in program.problem.tensors])
    movable = np.isin(kinds, (Kind.LOAD, Kind.STORE)) & (table.size_bytes < sizes[table.tensor])
    chosen = _any(generator, [row for row in _that_matter(program) if movable[row]])
    if chosen is None:
        return None
    begin = table.begin.copy()
    most = int(sizes[table.tensor[chosen]] - table.size_bytes[chosen])
    begin[chosen] = generator.choice([each for each in {0, most} if each != begin[chosen]] or [0])
    if begin[chosen] == table.begin[chosen]:
        return None
    return replace(program, segments=replace(table, begin=begin))


def early_eviction(program: Program, generator: np.random.Generator) -> Program | None:
    """What an operation or a store still reads is given up right before it."""
    table = program.segments
    chosen = _any(
        generator, [k for k in _that_matter(program) if table.use[k] in (Use.READ, Use.UPDATE)]
    )
    if chosen is None:
        return None
    lost = (
        int(table.command[chosen]),
        int(table.spm_address[chosen]),
        int(table.size_bytes[chosen]),
    )
    rows = sorted([*program.releases.rows(), lost])
    return replace(program, releases=Releases.of_rows(rows))


def load_before_store(program: Program, generator: np.random.Generator) -> Program | None:
    """What a load or stream brings has not been stored yet."""
    commands, used = program.commands, used_bytes(program)
    into = np.flatnonzero(np.isin(commands.kind, (Kind.LOAD, Kind.STREAM_IN))).tolist()
    out = np.flatnonzero(np.isin(commands.kind, (Kind.STORE, Kind.STREAM_OUT))).tolist()
    pairs = [
        (later, earlier)
        for later in into
        for earlier in out
        if earlier < later
        and commands.tensor[earlier] == commands.tensor[later]
        and (used[earlier] & used[later]).any()
        and not any(
            earlier < k < later and commands.tensor[k] == commands.tensor[later] for k in into
        )
    ]
    if not pairs:
        return None
    later, earlier = pairs[int(generator.integers(len(pairs)))]
    order = [k for k in range(len(commands)) if k != later]
    order.insert(earlier, later)
    return reordered(program, order)


def swapped_operations(program: Program, generator: np.random.Generator) -> Program | None:
    """An operation runs before one that it waits for, each at the place of the other."""
    table, operations = program.commands, program.problem.operations
    places = np.flatnonzero(table.kind == Kind.COMPUTE).tolist()
    pairs = [
        (one, other)
        for at, other in enumerate(places)
        for one in places[:at]
        if {*operations[table.operation[one]].writes} & {*operations[table.operation[other]].reads}
    ]
    if not pairs:
        return None
    one, other = pairs[int(generator.integers(len(pairs)))]
    order = list(range(len(table)))
    order[one], order[other] = other, one
    return reordered(program, order)


def lost_move(program: Program, generator: np.random.Generator) -> Program | None:
    """Some bytes do not leave for their new address, or do not get there."""
    used, kinds = used_bytes(program), program.commands.kind.tolist()
    moves = [k for k, kind in enumerate(kinds) if kind in (Kind.LIFT, Kind.LAY) and used[k].any()]
    chosen = _any(generator, moves)
    if chosen is None:
        return None
    return reordered(program, [k for k in range(len(program.commands)) if k != chosen])


MOVED: dict[str, Plant] = {"lost_move": lost_move, "wrong_address": wrong_address}
"""For scratchpads with banks."""
PLANTS: dict[str, Plant] = {
    each.__name__: each
    for each in (
        lost_command,
        wrong_address,
        wrong_offset,
        early_eviction,
        load_before_store,
        swapped_operations,
    )
}


def _any(generator: np.random.Generator, rows: Sequence[int]) -> int | None:
    return int(generator.choice(rows)) if len(rows) else None


def _that_matter(program: Program) -> list[int]:
    """Segments of which some byte is read by an operation, or used after the command."""
    used, found = used_bytes(program), list[int]()
    for row, (command, _, begin, size, address, use) in enumerate(program.segments.rows()):
        kind = program.commands.kind[command]
        if kind == Kind.COMPUTE and use == Use.WRITE:
            matters = bool(used[command][address : address + size].any())
        elif kind == Kind.COMPUTE:
            matters = use in (Use.READ, Use.UPDATE)
        else:
            matters = bool(used[command][begin : begin + size].any())
        if matters:
            found.append(row)
    return found
