"""The binary file says what the JSON Lines say, in the records of its header for C."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spmopt.execution.commands import Kind, Use, machine_program
from spmopt.execution.emission import binary as records
from spmopt.execution.emission import lines
from spmopt.execution.emission.binary import Memory
from spmopt.execution.waits import Engine, waits
from tests.execution.emission.cases import CASES, solved
from tests.execution.emission.test_lines import emitted

HEADER = Path(records.__file__).with_name("spmopt_commands.h")
SECTIONS = {
    "tensors": "QQIIII",
    "operations": "IIIIII",
    "operands": "I",
    "commands": "IIIiiIQQQQIIIIII",
    "descriptors": "iHHQQQ",
    "waits": "I",
}
"""Formats of :mod:`struct`, written from the header by hand."""


def read(content: bytes) -> tuple[list[Any], dict[str, list[tuple[Any, ...]]], bytes]:
    """The header's figures, records by section, and names."""
    magic, version, flags, *rest = struct.unpack_from("<8sII6Q14Q", content)
    assert (magic, version) == (b"SPMOPT\r\n", 1)
    sections = {}
    for place, (name, form) in enumerate(SECTIONS.items()):
        offset, count = rest[6 + 2 * place : 8 + 2 * place]
        assert offset % 8 == 0
        size = struct.calcsize("<" + form)
        sections[name] = [
            struct.unpack_from("<" + form, content, offset + k * size) for k in range(count)
        ]
    offset, count = rest[18:]
    return [flags, *rest[:6]], sections, content[offset : offset + count]


def as_lines(content: bytes) -> list[dict[str, Any]]:
    """The JSON Lines that a binary file stands for, without what it leaves out."""
    figures, sections, names = read(content)

    def named(at: int) -> str:
        return names[at : names.index(b"\0", at)].decode()

    operands = [tensor for (tensor,) in sections["operands"]]
    operations = [
        {
            "name": named(name),
            "kind": named(kind),
            "reads": operands[first : first + reads],
            "writes": operands[first + reads : first + reads + writes],
        }
        for name, kind, first, reads, writes, _ in sections["operations"]
    ]
    tensors = [
        {
            "name": named(name),
            "kind": named(kind),
            "bytes": size,
            "dram_address": address,
            "in_dram": bool(flags & 1),
            "keep": bool(flags & 2),
        }
        for size, address, flags, name, kind, _ in sections["tensors"]
    ]
    header = {
        "duplex": bool(figures[0]),
        **dict(zip(("spm_bytes", "page_bytes", "dram_bytes"), figures[1:4], strict=True)),
        "buffer_bytes": dict(zip(("in", "out", "move"), figures[4:], strict=True)),
        "commands": len(sections["commands"]),
        "tensors": tensors,
        "operations": operations,
    }
    lists = [on for (on,) in sections["waits"]]
    return [
        header,
        *(
            _command(index, row, sections["descriptors"], lists, operations)
            for index, row in enumerate(sections["commands"])
        ),
    ]


def _command(
    index: int,
    row: tuple[int, ...],
    descriptors: list[tuple[int, ...]],
    waits: list[int],
    operations: list[dict[str, Any]],
) -> dict[str, Any]:
    kind, engine, step, operation, tensor, fetches, offset, size, dram, buffer = row[:10]
    first, count, first_wait, wait_count, first_waiter, waiters = row[10:]
    own = descriptors[first : first + count]
    found: dict[str, Any] = {
        "index": index,
        "kind": Kind(kind).name.lower(),
        "engine": Engine(engine).name.lower(),
        "step": step,
        "waits_for": waits[first_wait : first_wait + wait_count],
        "waited_for_by": waits[first_waiter : first_waiter + waiters],
    }
    if kind == Kind.COMPUTE:
        reads, writes = (operations[operation][name] for name in ("reads", "writes"))
        found["operation"] = operation
        found["operands"] = [
            {
                "tensor": t,
                "use": "read" if t not in writes else "update" if t in reads else "write",
                **{each.name.lower(): _runs(own, t, each) for each in list(Memory)[:3]},
            }
            for t in (*reads, *(t for t in writes if t not in reads))
        ]
        found["scratch"] = _runs(own, -1, Memory.SPM)
        return found
    found |= {"tensor": tensor, "tensor_offset": offset, "bytes": size}
    if kind < Kind.COMPUTE:
        found |= {"dram_address": dram, "fetches": fetches}
    if kind not in (Kind.LOAD, Kind.STORE):
        found["buffer_address"] = buffer
    if kind not in (Kind.STREAM_IN, Kind.STREAM_OUT):
        found["spm"] = _runs(own, tensor, Memory.SPM)
    return found


def _runs(rows: list[tuple[int, ...]], tensor: int, memory: Memory) -> list[list[int]]:
    return [[*row[3:6]] for row in rows if row[0] == tensor and row[1] == memory]


@pytest.mark.parametrize("name", CASES)
def test_the_binary_file_says_the_same(name: str) -> None:
    program = machine_program(*solved(name))
    header, *commands = emitted(name)
    found, *others = as_lines(records.binary(lines.records_of(program, waits(program))))
    assert others == commands
    assert found == {key: header[key] for key in found}
    assert set(header) - set(found) == {
        *("format", "version", "problem", "machine", "alignment_bytes")
    }


CC = shutil.which("cc")


def checks_of(structs: Mapping[str, np.dtype[Any]]) -> list[str]:
    """What C must find of structures, by name."""
    checks = []
    for name, record in structs.items():
        assert record.fields is not None
        checks.append(f"sizeof(struct spmopt_{name}) == {record.itemsize}")
        for field, (type_, at, *_) in record.fields.items():
            checks.append(f"offsetof(struct spmopt_{name}, {field}) == {at}")
            size = f"sizeof(((struct spmopt_{name} *)0)->{field})"
            checks.append(f"{size} == {np.dtype(type_).itemsize}")
    return checks


def require(checks: Sequence[str], header: str, folder: Path) -> None:
    """Compile what is to be true."""
    text = f'#include <stddef.h>\n#include "{header}"\n'
    text += "".join(f'_Static_assert({check}, "");\n' for check in checks)
    (folder / "check.c").write_text(text + "int main(void) { return 0; }\n")
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}", "-fsyntax-only"]
    done = subprocess.run(
        [str(CC), *options, "check.c"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_the_header_has_the_same_records(tmp_path: Path) -> None:
    structs = {"header": records.HEADER, "tensor": records.TENSOR, "command": records.COMMAND}
    structs |= {"operation": records.OPERATION, "descriptor": records.DESCRIPTOR}
    checks = [f"SPMOPT_VERSION == {records.VERSION}", f"SPMOPT_DUPLEX == {records.DUPLEX}"]
    checks += [f"SPMOPT_IN_DRAM == {records.IN_DRAM}", f"SPMOPT_KEEP == {records.KEEP}"]
    checks += checks_of(structs)
    for prefix, names in (("", Kind), ("ENGINE_", Engine), ("MEMORY_", Memory), ("USE_", Use)):
        checks += [f"SPMOPT_{prefix}{each.name} == {each.value}" for each in names]
    require(checks, "spmopt_commands.h", tmp_path)
