import json
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.core.operation import STREAMED, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor
from spmopt.hardware.machines import load_machine
from spmopt.io.files import (
    encode_problem,
    read_problem,
    read_result,
    write_problem,
    write_result,
)
from tests.io.samples import stored

PROBLEM = Problem(
    name="copy",
    machine=load_machine("small-npu"),
    tensors=(Tensor(name="x", size_bytes=8, in_dram=True), Tensor(name="y", size_bytes=8)),
    operations=(
        Operation(
            name="copy",
            reads=(0,),
            writes=(1,),
            mappings=(OpMapping(compute_cycles=1, operands=(STREAMED, STREAMED)),),
        ),
    ),
)


def text() -> str:
    return json.dumps(encode_problem(PROBLEM))


def complaint(path: Path, content: str) -> str:
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_problem(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
def test_truncated(tmp_path: Path, part: float) -> None:
    content = text()
    assert "truncated" in complaint(tmp_path / "i.json", content[: int(len(content) * part)])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[" * 100_000, "not a complete JSON file"),
        ("\x00", "not a complete JSON file"),
        ('["\\ud800"]', "not a complete JSON file"),
        ('["x\\udfff"]', "invalid utf-16 surrogate pair"),
        ('{"\\udc00": 1}', "invalid utf-16 surrogate pair"),
        ('{"a": NaN}', "invalid character"),
        ("[]", "document: must be a problem (.json), as 'spmopt problem -o' writes it"),
        ("{}", "document: must be a problem (.json), as 'spmopt problem -o' writes it"),
        ('{"format": "spmopt-result", "version": 1}', "format is 'spmopt-result'"),
        ('{"format": "spmopt-problem", "version": 6}', "version is 6, but this program reads 1"),
        ('{"format": "spmopt-problem", "version": 0}', "version is 0, but this program reads 1"),
        ('{"format": "spmopt-problem", "version": true}', "version is True, but this program"),
        ('{"format": "spmopt-problem", "version": 1.0}', "version is 1.0, but this program"),
        ('{"format": "spmopt-problem", "version": 3}', "name: is missing"),
        ('{"a": 1e999}', "Number out of range"),
        ('{"format": "spmopt-problem"}', "version is None"),
    ],
)
def test_not_an_problem(tmp_path: Path, content: str, expected: str) -> None:
    assert expected in complaint(tmp_path / "i.json", content)


def changed(path: str, value: object) -> str:
    """The problem with one field set; ``path`` has dots, and row numbers."""
    document: dict[str, Any] = json.loads(text())
    *outer, last = path.split(".")
    inner: Any = document
    for name in outer:
        inner = inner[int(name) if name.isdigit() else name]
    inner[int(last) if last.isdigit() else last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("name", 3, "name: must be a text, is a whole number"),
        ("surname", 3, "no field called 'surname'; did you mean name?"),
        ("machine.spm_bytes", 1.5, "machine.spm_bytes: must be a whole number"),
        ("machine.spm_bytes", True, "machine.spm_bytes: must be a whole number"),
        ("machine.spm_bytes", 0, "spm_bytes must be at least 1, is 0"),
        ("machine.spm_bytes", 1, "smaller than one page"),
        ("machine.energy.mac_pj", "4", "machine.energy.mac_pj: must be a finite number"),
        ("machine.energy.mac_pj", 10**400, "machine.energy.mac_pj: must be a finite number"),
        ("tensors.size_bytes.0", 0, "size must be at least 1 byte"),
        ("tensors.size_bytes.0", 10**30, "its size in bytes is 1000000000000000000000000000000"),
        ("tensors.size_bytes.0", 2**60, "bytes of tensors, but at most 2**60"),
        ("mappings.compute_cycles.0", 10**30, "a number of cycles, bytes or macs is"),
        ("mappings.compute_cycles.0", 2**60, "cycles, but at most 2**60"),
        ("mappings.macs.0", 2**60 + 1, "at most 2**60 can be computed with"),
        ("machine.spm_bytes", 10**30, "spm_bytes is 1000000000000000000000000000000, but at most"),
        ("machine.dma_setup_cycles", 2**60, "cycles, but at most 2**60"),
        ("tensors.size_bytes.0", "8", "tensors.size_bytes[0]: must be a whole number, is a text"),
        ("tensors.kind.0", "wight", "tensors.kind[0]: must be one of input, weight"),
        ("tensors.name", [], "tensors: columns differ in length"),
        ("operations.reads.0", [10**6], "no such tensor"),
        ("operations.reads.0", ["x"], "operations.reads[0][0]: must be a whole number, is a text"),
        ("operations.predecessors.0", [0], "not an earlier operation"),
        ("mappings.operation.0", 99, "mappings.operation: must be 0 to"),
        ("mappings.operation.0", -1, "mappings.operation: must be 0 to"),
        ("mappings.fetches.0", [], "as long as passes"),
        ("mappings.fetches.0.0", 2**53, "operand: fetches must be at most 1,099,511,627,776"),
        ("mappings.macs.0", -1, "must not be negative"),
    ],
)
def test_bad_field(tmp_path: Path, path: str, value: object, expected: str) -> None:
    assert expected in complaint(tmp_path / "i.json", changed(path, value))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_problem(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"is a folder; give a result file"):
        read_result(tmp_path)
    with pytest.raises(InputError, match=r"cannot be written \(No such file"):
        write_problem(tmp_path / "none" / "i.json", PROBLEM)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("value", "1/0", "must be a fraction"),
        ("value", "1/00", "must be a fraction"),
        ("value", "0.5", "must be a fraction"),
        ("value", "1" + "0" * 100, "value: must be below 1e100"),
        ("tolerance", -1, "tolerance: must be 0 or more"),
        ("bound", 3, "bound: must be a text"),
        ("status", "done", "status: must be one of optimal"),
        ("notes", [1], r"notes\[0\]: must be a text, is a whole number"),
        ("versions", {"spmopt": 1}, r"versions\[...\]: must be a text"),
    ],
)
def test_bad_result(tmp_path: Path, name: str, value: object, expected: str) -> None:
    path = tmp_path / "r.json"
    write_result(path, stored(PROBLEM))
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(InputError, match=expected):
        read_result(path)


def test_columns_hold_64_bits_of_equal_length(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_result(path, stored(PROBLEM))
    document = json.loads(path.read_text())
    document["schedule"]["steps"]["mapping"][0] = 2**63
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"schedule.steps.mapping: must be numbers of 64 bits"):
        read_result(path)
    document["schedule"]["steps"]["mapping"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"schedule.steps: columns differ in length, see mapping"):
        read_result(path)
