"""Programs in C whose operators compute what networks say: compiled, run, and compared."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.api.emitting import Emission
from spmopt.core.pieces.listing import listing_of
from spmopt.execution.commands import machine_program
from spmopt.execution.comparison import compare
from spmopt.execution.computations import TOLERANCE, by_graph, listing_for
from spmopt.execution.executor import Trace
from spmopt.graph.build import GraphBuilder
from tests.cli.run import runner
from tests.execution.emission.cases import lenet
from tests.graph.networks import residual

CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
SHARED = ("digest.c", "reference.c", "kernels.c")


@dataclass(frozen=True)
class Case:
    """A network and how it is scheduled; ``pieces``: bands of rows in each piece of the batch."""

    network: str
    scheduler: str
    spm: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    batch: int = 2
    optimizer: str | None = None
    pieces: int = 0
    duplex: bool = False

    def workload(self) -> spmopt.Workload:
        training = self.optimizer is not None
        if self.network == "lenet":
            return spmopt.load(lenet(), training=training, optimizer=self.optimizer)
        options = {"batch": self.batch, "parameters": self.parameters}
        return spmopt.load(self.network, training=training, optimizer=self.optimizer, **options)  # type: ignore[arg-type]


_LAYER = {"sequence": 8, "hidden": 32, "heads": 2, "layers": 1, "vocabulary": 40}
_IMAGE = {"image": 32, "classes": 10}
CASES: Mapping[str, Case] = {
    "lenet": Case("lenet", "belady:granularity=page", "64KiB"),
    "lenet training": Case("lenet", "page", "128KiB", optimizer="momentum", duplex=True),
    "lenet in pieces": Case("lenet", "page", "64KiB", optimizer="adam", pieces=2),
    "resnet": Case("resnet18", "lru", "1MiB", _IMAGE, batch=1),
    "resnet training": Case("resnet18", "belady", "1MiB", _IMAGE, batch=1, optimizer="sgd"),
    "layer": Case("gpt2", "contiguous", "64KiB", _LAYER),
    "layer training": Case("gpt2", "belady", "64KiB", _LAYER, optimizer="adam", duplex=True),
    "layer in pieces": Case("gpt2", "belady", "64KiB", _LAYER, optimizer="sgd", pieces=1),
}


@cache
def solved(name: str) -> tuple[spmopt.Workload, spmopt.Solution]:
    case = CASES[name]
    workload = case.workload()
    machine = spmopt.machine(spm=case.spm, page="256B", duplex=case.duplex)
    instance, cover = spmopt.lower(workload, machine), None
    if case.pieces:
        listing = listing_of(instance)
        cover = listing.uniform(listing.batch, bands=case.pieces)
    return workload, spmopt.solve(instance, case.scheduler, cover=cover, time_limit=0.5)


def emitted(name: str, data: str, folder: Path) -> Emission:
    workload, solution = solved(name)
    whole = solution.result.pieces is None
    found = spmopt.emit(solution, workload if whole else None, kernels="reference", data=data)
    found.save(folder)
    return found


def compiled(
    folder: Path, *options: str, files: Sequence[str] = SHARED, output: str = "program"
) -> None:
    line = [str(CC), *OPTIONS, *options, "main.c", *files, "-lm", "-o", output]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = ["./program", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is the same in all programs, compiled once."""
    folder = tmp_path_factory.mktemp("objects")
    emitted("lenet", "integer", folder)
    line = [str(CC), *OPTIONS, "-c", *SHARED]
    subprocess.run(line, cwd=folder, check=True)
    return [str(folder / file.replace(".c", ".o")) for file in SHARED]


def verdict(done: subprocess.CompletedProcess[str]) -> dict[str, float]:
    """The figures of the last line."""
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:]
    words = [part.rsplit(" ", 1) for part in done.stdout.splitlines()[-1].split(", ")]
    return {name: float(figure) for name, figure in words}


@pytest.mark.parametrize("name", [name for name in CASES if name != "layer in pieces"])
def test_results_are_those_of_plain_execution(
    name: str, tmp_path: Path, objects: list[str]
) -> None:
    emitted(name, "integer", tmp_path)
    compiled(tmp_path, "-pthread", files=objects)
    found = verdict(ran(tmp_path))
    assert found["the same"] == found["compared"] > 3
    if name == "resnet training":  # of one image normal data are but rounding in places
        return
    if name != "resnet":
        threads = ran(tmp_path).stdout
        compiled(tmp_path, "-DSYNC", files=objects)
        assert ran(tmp_path).stdout == threads
    emitted(name, "normal", tmp_path)
    found = verdict(ran(tmp_path))
    assert found["wrong"] == 0
    assert found["greatest difference"] < 1e-3
    if name.startswith("lenet"):
        compare_end(name, tmp_path)


def compare_end(name: str, folder: Path) -> None:
    """Compare all bytes that the program leaves as 'spmopt run' does."""
    workload, solution = solved(name)
    instance, pieces = solution.instance, solution.result.pieces
    listing = listing_for(instance, None if pieces else workload.graph, pieces)
    assert listing is not None
    cover = pieces.cover if pieces else None
    expected = by_graph(listing, cover, instance, "normal", 0)
    assert ran(folder, ".", "end.bin").returncode == 0
    end = np.fromfile(folder / "end.bin", np.uint8)
    program = machine_program(instance, solution.schedule)
    offsets = program.dram_offset.tolist()
    pairs = zip(offsets, instance.tensors, strict=True)
    contents = [end[at : at + tensor.size_bytes] for at, tensor in pairs]
    found = compare(
        program,
        Trace(contents=contents),
        Trace(contents=expected.expected.contents),
        dtypes=expected.dtypes,
        tolerance=TOLERANCE,
    )
    assert not found.differences
    assert 0 < found.largest_part < TOLERANCE


def test_what_is_wrong_is_named(tmp_path: Path, objects: list[str]) -> None:
    emitted("lenet", "integer", tmp_path)
    compiled(tmp_path, "-DSYNC", files=objects)
    content = bytearray((tmp_path / "contents.bin").read_bytes())
    content[3] ^= 0x80  # a sign
    (tmp_path / "contents.bin").write_bytes(content)
    done = ran(tmp_path)
    assert done.returncode == 1
    assert "wrong: loss differs by " in done.stdout
    (tmp_path / "contents.bin").write_bytes(content[:-1])
    assert ran(tmp_path).stderr == "error: contents of DRAM are of another program\n"
    (tmp_path / "operators.bin").write_bytes(b"SPMOPTOP" + bytes(200))
    said = "error: operators.bin is of another program, or version\n"
    assert (ran(tmp_path).returncode, ran(tmp_path).stderr) == (2, said)


def test_a_sanitizer_finds_nothing(tmp_path: Path) -> None:
    sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    source, line = b"int main(void) { return 0; }", [str(CC), "-x", "c", "-", "-o", "plain"]
    subprocess.run([*line, *sanitized], cwd=tmp_path, input=source, check=False)
    plain = tmp_path / "plain"
    if not plain.exists() or subprocess.run([str(plain)], check=False).returncode:
        pytest.skip("the compiler has no such sanitizer that runs here")
    emitted("layer in pieces", "integer", tmp_path)
    compiled(tmp_path, "-O0", "-DSYNC", *sanitized)
    found = verdict(ran(tmp_path))
    assert found["the same"] == found["compared"]


def test_the_command_emits_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: list[str]
) -> None:
    run = runner(capsys)
    network = "bert-tiny --batch 1 --param sequence=4 --param hidden=8 --param heads=2"
    file, folder = tmp_path / "r.json", tmp_path / "program"
    assert run(f"solve {network} --spm 2MB -s belady -o {file}").code == 0
    record = run(f"emit {file} {network} --data normal -o {folder} --json").record
    assert record["kernels"] == "reference"
    compiled(folder, "-pthread", files=objects)
    assert verdict(ran(folder))["wrong"] == 0
    for options, said in (
        ("--kernels reference", "the result does not say what its operations compute; name the"),
        ("--kernels magic", "error: --kernels 'magic': must be hash or reference"),
        ("--seed 1", "error: --seed: is for kernels reference"),
        (f"{network} --kernels hash", "error: network: is for kernels reference"),
    ):
        ran_ = run(f"emit {file} {options} -o {folder}")
        assert (ran_.code, ran_.out, ran_.err.count("\n")) == (2, "", 1)
        assert said in ran_.err


def test_operators_without_a_kernel_are_named() -> None:
    b = GraphBuilder("odd")
    x = b.add("Shrink", [b.input("x", (2, 3))], name="one")
    y = b.add("Celu", [b.add("MatMul", [x, b.weight("w", (3, 2))])], name="other")
    workload = spmopt.load(b.finish([y]))
    solution = spmopt.solve(spmopt.lower(workload, spmopt.machine(spm="8KiB")), "belady")
    said = r"kernels: none in C for Shrink \(one\), Celu \(other\); use kernels hash"
    with pytest.raises(spmopt.InputError, match=said):
        spmopt.emit(solution, workload)
    assert "kernels hash" in str(spmopt.emit(solution))


def test_types_without_kernels_are_named() -> None:
    workload = spmopt.load(residual(), dtype="bf16")
    solution = spmopt.solve(spmopt.lower(workload, spmopt.machine(spm="8KiB")), "belady")
    with pytest.raises(spmopt.InputError, match=r"elements of type bfloat16 have none in C; use"):
        spmopt.emit(solution, workload)
