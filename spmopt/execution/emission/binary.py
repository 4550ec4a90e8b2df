"""A program as one binary file, of the records in ``spmopt_commands.h``."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from spmopt.core.table import Ints
from spmopt.execution.commands import Kind
from spmopt.execution.emission.lines import VERSION
from spmopt.execution.emission.linking import Linked, Memory

MAGIC = b"SPMOPT\r\n"
IN_DRAM, KEEP, DUPLEX = 1, 2, 1
_WORD, _LONG, _INDEX = np.dtype("<u4"), np.dtype("<u8"), np.dtype("<i4")
SECTION = np.dtype([("offset", _LONG), ("count", _LONG)])
_SIZES = ("spm_bytes", "page_bytes", "dram_bytes", "in_bytes", "out_bytes", "move_bytes")
_SECTIONS = ("tensors", "operations", "operands", "commands", "descriptors", "waits", "names")
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", _WORD),
        ("flags", _WORD),
        *((name, _LONG) for name in _SIZES),
        *((name, SECTION) for name in _SECTIONS),
    ]
)
TENSOR = np.dtype(
    [
        *((name, _LONG) for name in ("bytes", "dram_address")),
        *((name, _WORD) for name in ("flags", "name", "kind", "unused")),
    ]
)
_OPERATION_FIELDS = ("name", "kind", "first_operand", "reads", "writes", "unused")
OPERATION = np.dtype([(name, _WORD) for name in _OPERATION_FIELDS])
COMMAND = np.dtype(
    [
        *((name, _WORD) for name in ("kind", "engine", "step")),
        *((name, _INDEX) for name in ("operation", "tensor")),
        ("fetches", _WORD),
        *((name, _LONG) for name in ("tensor_offset", "bytes", "dram_address", "buffer_address")),
        *((name, _WORD) for name in ("first_descriptor", "descriptors", "first_wait", "waits")),
        *((name, _WORD) for name in ("first_waiter", "waiters")),
    ]
)
DESCRIPTOR = np.dtype(
    [
        ("tensor", _INDEX),
        *((name, np.dtype("<u2")) for name in ("memory", "use")),
        *((name, _LONG) for name in ("address", "tensor_offset", "bytes")),
    ]
)
_EDGE = 8
"""Bytes: sections begin at multiples."""


def binary(linked: Linked) -> bytes:
    """Return the content of ``commands.bin``."""
    names = _Names()
    waits = [*linked.waits_for(), *linked.waited_for_by()]
    operations = linked.program.problem.operations
    operands = [t for each in operations for t in (*each.reads, *each.writes)]
    content: dict[str, NDArray[np.generic]] = {
        "tensors": _tensors(linked, names),
        "operations": _operations(linked, names),
        "operands": np.array(operands, _WORD),
        "commands": _commands(linked, [len(each) for each in waits]),
        "descriptors": _descriptors(linked),
        "waits": np.array([on for each in waits for on in each], _WORD),
        "names": np.frombuffer(bytes(names.text), np.uint8),
    }
    header, body = _header(linked), list[bytes]()
    end = header.itemsize
    for name, records in content.items():
        header[name]["offset"], header[name]["count"] = end, records.size
        own = records.tobytes()
        body.append(own + bytes(-len(own) % _EDGE))
        end += len(body[-1])
    return b"".join((header.tobytes(), *body))


class _Names:
    """Names one after the other, each once."""

    def __init__(self) -> None:
        self.text = bytearray()
        self._at: dict[str, int] = {}

    def place(self, name: str) -> int:
        """Return where a name begins."""
        if name not in self._at:
            self._at[name] = len(self.text)
            self.text += name.encode() + b"\0"
        return self._at[name]


def _header(linked: Linked) -> NDArray[np.void]:
    program, sizes = linked.program, linked.buffer_bytes
    machine = program.problem.machine
    found = np.zeros(1, HEADER)
    found["magic"], found["version"] = MAGIC, VERSION
    found["flags"] = DUPLEX if machine.duplex else 0
    figures = (machine.spm_bytes, machine.page_bytes, program.dram_bytes)
    buffers = (sizes[each] for each in (Memory.IN, Memory.OUT, Memory.MOVE))
    for name, figure in zip(_SIZES, (*figures, *buffers), strict=True):
        found[name] = figure
    return found


def _tensors(linked: Linked, names: _Names) -> NDArray[np.void]:
    pairs = zip(linked.program.problem.tensors, linked.program.dram_offset.tolist(), strict=True)
    rows = [
        (
            each.size_bytes,
            address,
            IN_DRAM * each.in_dram + KEEP * each.keep,
            names.place(each.name),
            names.place(str(each.kind)),
            0,
        )
        for each, address in pairs
    ]
    return np.array(rows, TENSOR)


def _operations(linked: Linked, names: _Names) -> NDArray[np.void]:
    operations = linked.program.problem.operations
    counts = [len(each.reads) + len(each.writes) for each in operations]
    first = accumulate(counts, initial=0)
    rows = [
        (names.place(each.name), names.place(each.kind), at, len(each.reads), len(each.writes), 0)
        for each, at in zip(operations, first, strict=False)
    ]
    return np.array(rows, OPERATION)


def _commands(linked: Linked, waits: list[int]) -> NDArray[np.void]:
    """Return records; ``waits`` are how many each waits for, then how many wait for each."""
    commands, count = linked.program.commands, len(linked.program.commands)
    found = np.zeros(count, COMMAND)
    for name in ("kind", "step", "operation", "tensor", "fetches"):
        found[name] = getattr(commands, name)
    found["engine"], found["buffer_address"] = linked.engine, linked.buffer
    found["tensor_offset"], found["bytes"] = commands.begin, commands.end - commands.begin
    of_dma = commands.kind < Kind.COMPUTE
    found["dram_address"][of_dma] = (
        linked.program.dram_offset[commands.tensor[of_dma]] + commands.begin[of_dma]
    )
    edges = np.searchsorted(linked.descriptors.command, np.arange(count + 1))
    found["first_descriptor"], found["descriptors"] = edges[:-1], np.diff(edges)
    first: Ints = np.array([0, *accumulate(waits)], np.int64)[:-1]
    found["first_wait"], found["waits"] = first[:count], waits[:count]
    found["first_waiter"], found["waiters"] = first[count:], waits[count:]
    return found


def _descriptors(linked: Linked) -> NDArray[np.void]:
    table = linked.descriptors
    found = np.zeros(len(table), DESCRIPTOR)
    for name in ("tensor", "memory", "use", "address"):
        found[name] = getattr(table, name)
    found["tensor_offset"], found["bytes"] = table.begin, table.size_bytes
    return found
