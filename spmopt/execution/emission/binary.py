"""The records of JSON Lines as one binary file, laid out as in ``spmopt_commands.h``.

Firmware without a parser of JSON reads it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from spmopt.execution.commands import SCRATCH, Kind, Use
from spmopt.execution.emission.lines import Json
from spmopt.execution.waits import Engine

MAGIC = b"SPMOPT\r\n"
VERSION = 1
"""README.md says which changes make a new one."""
IN_DRAM, KEEP, DUPLEX = 1, 2, 1


class Memory(IntEnum):
    """Memory of a descriptor's bytes."""

    SPM = 0
    IN = 1
    OUT = 2
    MOVE = 3


_SIZES = ("spm_bytes", "page_bytes", "dram_bytes")
_BUFFERS = ("in", "out", "move")
_SECTIONS = ("tensors", "operations", "operands", "commands", "descriptors", "waits", "names")
_ABSENT = {"operation": -1, "tensor": -1, "fetches": 1}
# Bytes: sections begin at multiples.
_ALIGNMENT = 8


def _record(*fields: str) -> np.dtype[np.void]:
    """Return a little-endian record: each text is a type and the fields of it, in turn."""
    split = (each.split() for each in fields)
    return np.dtype([(name, f"<{kind}") for kind, *names in split for name in names])


HEADER = np.dtype(
    [
        ("magic", "S8"),
        *((name, "<u4") for name in ("version", "flags")),
        *((name, "<u8") for name in (*_SIZES, *(f"{name}_bytes" for name in _BUFFERS))),
        *((name, [("offset", "<u8"), ("count", "<u8")]) for name in _SECTIONS),
    ]
)
TENSOR = _record("u8 bytes dram_address", "u4 flags name kind unused")
OPERATION = _record("u4 name kind first_operand reads writes unused")
COMMAND = _record(
    "u4 kind engine step",
    "i4 operation tensor",
    "u4 fetches",
    "u8 tensor_offset bytes dram_address buffer_address",
    "u4 first_descriptor descriptors first_wait waits first_waiter waiters",
)
DESCRIPTOR = _record("i4 tensor", "u2 memory use", "u8 address tensor_offset bytes")


def binary(records: Sequence[Json]) -> bytes:
    """Return the content of ``commands.bin`` from the records of ``commands.jsonl``."""
    header, *commands = records
    names = _Names()
    tensors = [_tensor(each, names) for each in header["tensors"]]
    operands, descriptors, waits = list[int](), list[tuple[int, ...]](), list[int]()
    operations = []
    for each in header["operations"]:
        counts = (len(operands), len(each["reads"]), len(each["writes"]))
        operations.append((names.place(each["name"]), names.place(each["kind"]), *counts, 0))
        operands += [*each["reads"], *each["writes"]]
    rows = []
    for each in commands:
        own = _descriptors(each)
        places = [len(descriptors), len(own)]
        descriptors += own
        for others in (each["waits_for"], each["waited_for_by"]):
            places += [len(waits), len(others)]
            waits += others
        kind, engine = Kind[each["kind"].upper()], Engine[each["engine"].upper()]
        # Operations and commands of DMA and moves leave fields of each other out.
        figures = [each.get(name, _ABSENT.get(name, 0)) for name in (COMMAND.names or ())[3:10]]
        rows.append((kind, engine, each["step"], *figures, *places))
    sections = {
        "tensors": np.array(tensors, TENSOR),
        "operations": np.array(operations, OPERATION),
        "operands": np.array(operands, "<u4"),
        "commands": np.array(rows, COMMAND),
        "descriptors": np.array(descriptors, DESCRIPTOR),
        "waits": np.array(waits, "<u4"),
        "names": np.frombuffer(bytes(names.text), np.uint8),
    }
    return _joined(header, sections)


class _Names:
    """Names one after the other, each once, each with a 0 behind it."""

    def __init__(self) -> None:
        self.text = bytearray()
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        """Return the place of a name's first byte."""
        if name not in self._places:
            self._places[name] = len(self.text)
            self.text += name.encode() + b"\0"
        return self._places[name]


def _tensor(tensor: Json, names: _Names) -> tuple[int, ...]:
    flags = IN_DRAM * tensor["in_dram"] + KEEP * tensor["keep"]
    places = (names.place(tensor["name"]), names.place(tensor["kind"]))
    return (tensor["bytes"], tensor["dram_address"], flags, *places, 0)


def _descriptors(command: Json) -> list[tuple[int, ...]]:
    """Return the descriptors of a command: those in the scratchpad first."""
    if "operands" not in command:
        use = Use.WRITE if command["kind"] in ("load", "lay") else Use.READ
        return [(command["tensor"], Memory.SPM, use, *run) for run in command.get("spm", ())]
    own = list[tuple[int, ...]]()
    for each in command["operands"]:
        uses = {Memory.SPM: Use[each["use"].upper()], Memory.IN: Use.READ, Memory.OUT: Use.WRITE}
        for memory, use in uses.items():
            runs = each[memory.name.lower()]
            own += [(each["tensor"], memory, use, *run) for run in runs]
    own += [(SCRATCH, Memory.SPM, Use.SCRATCH, *run) for run in command["scratch"]]
    return sorted(own, key=lambda descriptor: descriptor[1])


def _joined(header: Json, sections: dict[str, NDArray[np.generic]]) -> bytes:
    """Return the header, with the place of each section, and the sections."""
    head = np.zeros(1, HEADER)
    head["magic"], head["version"] = MAGIC, VERSION
    head["flags"] = DUPLEX if header["duplex"] else 0
    for name in _SIZES:
        head[name] = header[name]
    for name in _BUFFERS:
        head[f"{name}_bytes"] = header["buffer_bytes"][name]
    body, end = list[bytes](), head.itemsize
    for name, records in sections.items():
        head[name]["offset"], head[name]["count"] = end, records.size
        content = records.tobytes()
        body.append(content + bytes(-len(content) % _ALIGNMENT))
        end += len(body[-1])
    return b"".join((head.tobytes(), *body))
