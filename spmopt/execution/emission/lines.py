"""A program as JSON Lines: a header, then a command or a loop a line.

Streamed bytes, and those that move on chip, are for a while in no page. They get a place in one of
three buffers of the machine: where rows wait before and behind the engine (``in``, ``out``), and
for bytes lifted but not laid (``move``). Waits keep them free: a stream in and a move wait for the
operation before, an operation for the streams out before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from spmopt.execution.commands import ALIGNMENT_BYTES, SCRATCH, Kind, Program, use_of
from spmopt.execution.emission.loops import with_loops
from spmopt.execution.waits import Engine, Waits, engines

VERSION = 2
"""README.md says which changes make a new one."""
Json = dict[str, Any]
Run = list[int]
"""Address, offset in the tensor and bytes of contiguous bytes."""
_BUFFERS = {
    Kind.STREAM_IN: "in",
    Kind.STREAM_OUT: "out",
    Kind.LIFT: "move",
    Kind.LAY: "move",
}


def json_lines(records: Sequence[Json]) -> str:
    """Return the text of ``commands.jsonl``: commands that repeat are loops."""
    header, *commands = records
    lines = (header, *with_loops(commands))
    return "".join(msgspec.json.encode(line).decode() + "\n" for line in lines)


def records_of(program: Program, waits: Waits) -> list[Json]:
    """Return the header and all commands, which both formats write."""
    buffer, buffer_bytes = _place_in_buffers(program)
    return [_header(program, buffer_bytes), *_commands(program, waits, buffer)]


def _place_in_buffers(program: Program) -> tuple[list[int], dict[str, int]]:
    """Return the place of each command's bytes in its buffer, and the sizes of the buffers."""
    sizes = {"in": 0, "out": 0, "move": 0}
    used: dict[tuple[int, str], int] = defaultdict(int)
    lifted: dict[tuple[int, ...], int] = {}
    places = []
    for step, kind, _, tensor, begin, end, _ in program.commands.rows():
        name = _BUFFERS.get(Kind(kind))
        moved = (step, tensor, begin, end)
        if name is None or kind == Kind.LAY:
            places.append(0 if name is None else lifted[moved])
            continue
        place = used[step, name]
        # Rounded up: each command begins at a multiple of the alignment.
        used[step, name] = place - (begin - end) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        sizes[name] = max(sizes[name], used[step, name])
        lifted[moved] = place
        places.append(place)
    return places, sizes


def _header(program: Program, buffer_bytes: dict[str, int]) -> Json:
    machine = program.problem.machine
    return {
        "format": "spmopt-commands",
        "version": VERSION,
        "problem": program.problem.name,
        "machine": machine.name,
        "duplex": machine.duplex,
        "spm_bytes": machine.spm_bytes,
        "page_bytes": machine.page_bytes,
        "dram_bytes": program.dram_bytes,
        "alignment_bytes": ALIGNMENT_BYTES,
        "buffer_bytes": buffer_bytes,
        "commands": len(program.commands),
        "tensors": [
            {
                "name": each.name,
                "kind": str(each.kind),
                "bytes": each.size_bytes,
                "dram_address": address,
                "in_dram": each.in_dram,
                "keep": each.keep,
            }
            for each, address in zip(
                program.problem.tensors, program.dram_offset.tolist(), strict=True
            )
        ],
        "operations": [
            {"name": each.name, "kind": each.kind, "reads": each.reads, "writes": each.writes}
            for each in program.problem.operations
        ],
    }


def _commands(program: Program, waits: Waits, buffer: list[int]) -> Iterator[Json]:
    """Yield the lines behind the header."""
    offsets: list[int] = program.dram_offset.tolist()
    waits_for, waited_for_by, runs = defaultdict(list), defaultdict(list), defaultdict(list)
    for command, on in waits.rows():
        waits_for[command].append(on)
        waited_for_by[on].append(command)
    for command, tensor, begin, size, address, _ in program.segments.rows():
        runs[command, tensor].append([address, begin, size])
    streams = _streams(program, buffer)
    rows = zip(program.commands.rows(), engines(program).tolist(), buffer, strict=True)
    for index, (row, engine, place) in enumerate(rows):
        step, kind, operation, tensor, begin, end, fetches = row
        record: Json = {
            "index": index,
            "kind": Kind(kind).name.lower(),
            "engine": Engine(engine).name.lower(),
            "step": step,
        }
        if kind == Kind.COMPUTE:
            operands = [
                {
                    "tensor": tensor,
                    "use": use_of(program.problem.operations[operation], tensor).name.lower(),
                    "spm": runs[index, tensor],
                    "in": streams[step, tensor, "in"],
                    "out": streams[step, tensor, "out"],
                }
                for tensor in program.problem.operations[operation].tensors
            ]
            scratch = runs[index, SCRATCH]
            record |= {"operation": operation, "operands": operands, "scratch": scratch}
        else:
            record |= {"tensor": tensor, "tensor_offset": begin, "bytes": end - begin}
            if kind not in (Kind.LIFT, Kind.LAY):
                record |= {"dram_address": offsets[tensor] + begin, "fetches": fetches}
            # Streams and moves pass through a buffer.
            if kind not in (Kind.LOAD, Kind.STORE):
                record["buffer_address"] = place
            if kind not in (Kind.STREAM_IN, Kind.STREAM_OUT):
                record["spm"] = runs[index, tensor]
        yield record | {"waits_for": waits_for[index], "waited_for_by": waited_for_by[index]}


def _streams(program: Program, buffer: list[int]) -> dict[tuple[int, int, str], list[Run]]:
    """Return the streamed bytes of each step and tensor, by their buffer."""
    found: dict[tuple[int, int, str], list[Run]] = defaultdict(list)
    for place, row in zip(buffer, program.commands.rows(), strict=True):
        step, kind, _, tensor, begin, end, _ = row
        if kind in (Kind.STREAM_IN, Kind.STREAM_OUT):
            found[step, tensor, _BUFFERS[Kind(kind)]].append([place, begin, end - begin])
    return found
