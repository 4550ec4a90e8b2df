"""A program as JSON Lines: a header, then a command a line."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from spmopt.execution.commands import ALIGNMENT_BYTES, SCRATCH, Kind, Program, Use
from spmopt.execution.emission.linking import Linked, Memory
from spmopt.execution.waits import Engine

VERSION = 1
"""Of both formats; README.md says what a new one would mean."""
Json = dict[str, object]


def json_lines(linked: Linked) -> str:
    """Return the text of ``commands.jsonl``."""
    records = (header(linked), *commands(linked))
    return "".join(msgspec.json.encode(record).decode() + "\n" for record in records)


def header(linked: Linked) -> Json:
    """Return the first line."""
    program = linked.program
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
        "buffer_bytes": {memory.name.lower(): n for memory, n in linked.buffer_bytes.items()},
        "commands": len(program.commands),
        "tensors": _tensors(program),
        "operations": [
            {"name": each.name, "kind": each.kind, "reads": each.reads, "writes": each.writes}
            for each in program.problem.operations
        ],
    }


def commands(linked: Linked) -> Iterator[Json]:
    """Yield the lines behind the header."""
    program, offsets = linked.program, linked.program.dram_offset.tolist()
    waits_for, waited_for_by = linked.waits_for(), linked.waited_for_by()
    described: list[list[tuple[int, ...]]] = [[] for _ in range(len(program.commands))]
    for of in linked.descriptors.rows():
        described[of[0]].append(of[1:])
    rows = zip(program.commands.rows(), linked.engine.tolist(), linked.buffer.tolist(), strict=True)
    for index, (row, engine, buffer) in enumerate(rows):
        step, kind, operation, tensor, begin, end, fetches = row
        record: Json = {
            "index": index,
            "kind": Kind(kind).name.lower(),
            "engine": Engine(engine).name.lower(),
            "step": step,
        }
        if kind == Kind.COMPUTE:
            record |= {"operation": operation, **_operands(program, operation, described[index])}
        else:
            record |= {"tensor": tensor, "tensor_offset": begin, "bytes": end - begin}
            if kind not in (Kind.LIFT, Kind.LAY):
                record |= {"dram_address": offsets[tensor] + begin, "fetches": fetches}
            if kind not in (Kind.LOAD, Kind.STORE):
                record["buffer_address"] = buffer
            if kind not in (Kind.STREAM_IN, Kind.STREAM_OUT):
                record["spm"] = _runs(described[index], tensor, Memory.SPM)
        yield record | {"waits_for": waits_for[index], "waited_for_by": waited_for_by[index]}


def _tensors(program: Program) -> list[Json]:
    tensors = zip(program.problem.tensors, program.dram_offset.tolist(), strict=True)
    return [
        {
            "name": each.name,
            "kind": str(each.kind),
            "bytes": each.size_bytes,
            "dram_address": address,
            "in_dram": each.in_dram,
            "keep": each.keep,
        }
        for each, address in tensors
    ]


def _operands(program: Program, index: int, rows: list[tuple[int, ...]]) -> Json:
    """Return where the operands of an operation are, and its scratch."""
    operation = program.problem.operations[index]
    operands = []
    for tensor in operation.tensors:
        read, written = tensor in operation.reads, tensor in operation.writes
        use = Use.UPDATE if read and written else Use.READ if read else Use.WRITE
        operand: Json = {"tensor": tensor, "use": use.name.lower()}
        for memory in (Memory.SPM, Memory.IN, Memory.OUT):
            operand[memory.name.lower()] = _runs(rows, tensor, memory)
        operands.append(operand)
    return {"operands": operands, "scratch": _runs(rows, SCRATCH, Memory.SPM)}


def _runs(rows: list[tuple[int, ...]], tensor: int, memory: Memory) -> list[list[int]]:
    """Return address, offset in the tensor and bytes of each contiguous run."""
    return [
        [address, begin, size]
        for where, of, begin, size, address, _ in rows
        if of == tensor and where == memory
    ]
