"""Valid inputs of every kind, which hostile ones are made from: the program writes some itself."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from spmopt.cli import main

TOP = Path(__file__).parents[2]
PROBLEMS = TOP / "instances"
MLP = str(PROBLEMS / "mlp.json")
NAMES = ("mlp", "duplex", "two-mappings", "infeasible", "fetches")
MACHINE: dict[str, Any] = {
    "spm": "4MiB",
    "bandwidth": "68GB/s",
    "clock": "1GHz",
    "page": "4KiB",
    "array": {"rows": 128, "columns": 128, "dataflow": "ws"},
    "energy": {"mac_pj": 1.5, "dram_pj_per_byte": 20.0, "source": "somewhere"},
}
BANKED: dict[str, Any] = {
    "bandwidth": "68GB/s",
    "clock": "1GHz",
    "throughput": "1TFLOP/s",
    "bank": ["1MB:nvsim-sram", "4MB:nvsim-stt:64"],
    "bypass": ["weight"],
}
SPACE: dict[str, Any] = {
    "constraints": ["spm_mb <= 1"],
    "space": {
        "spm": ["1KiB", "2KiB"],
        "bandwidth": "1GB/s:3GB/s:1GB/s",
        "technology": ["nvsim-sram", "nvsim-stt"],
    },
    "cost": {"spm_mb": 1.0, "gbps": 0.1},
}
OPERATORS: dict[str, Any] = {
    "com.acme.Swirl": {"class": "pointwise", "operations": 4},
    "com.acme.Dense": {"class": "product", "equation": "...mk,nk->...mn", "operands": [0, 2]},
}
PROJECT: dict[str, Any] = {"machine": "small-npu", "time-limit": 10, "sweep": {"jobs": 1}}


@cache
def text(name: str) -> str:
    """Return the file of a problem."""
    return (PROBLEMS / f"{name}.json").read_text()


@cache
def problem(name: str, /) -> dict[str, Any]:
    """Return a problem, as its file has it."""
    found: dict[str, Any] = json.loads((PROBLEMS / f"{name}.json").read_text())
    return found


@cache
def result(micro_batches: bool, /) -> dict[str, Any]:
    """Return a result of a small problem, or of a network in fusion tiles."""
    words = ["solve", str(PROBLEMS / "mlp.json"), "-s", "belady"]
    if micro_batches:
        words = ["solve", "bert-tiny", "--batch", "4", "-s", "fusion", "--time-limit", "0.5"]
    found: dict[str, Any] = json.loads(written([*words, "-o", "r.json"], "r.json"))
    return found


@cache
def sweep() -> bytes:
    """Return rows of a sweep."""
    return written(
        [
            *("sweep", str(PROBLEMS / "mlp.json"), "--spm", "1KiB,2KiB"),
            "-s",
            "stream",
            "-o",
            "s.csv",
        ],
        "s.csv",
    )


@cache
def study(journal: bool, /) -> bytes:
    """Return the storage of a search."""
    name = "journal:t.db" if journal else "t.db"
    words = ["tune", str(PROBLEMS / "mlp.json"), "--space", "s.toml", "--trials", "3"]
    return written([*words, "--workers", "0", "-s", "stream", "--storage", name], "t.db")


def written(words: list[str], name: str, files: Mapping[str, bytes] | None = None) -> bytes:
    """Run a command in a folder with files, and return what it wrote; nothing if that cannot be."""
    from tests.fuzz.odd import toml_text

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        said = stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        os.chdir(folder)
        stack.callback(os.chdir, before)
        for path, content in {"s.toml": toml_text(SPACE), **(files or {})}.items():
            Path(path).write_bytes(content)
        code = main(words)
        if code and files is None:
            raise RuntimeError(f"{words}: {said.getvalue()}")
        content = Path(name).read_bytes() if Path(name).exists() else b""
        if content.startswith(b"SQLite"):  # what is new may be in a second file still
            with contextlib.closing(sqlite3.connect(name)) as database:
                database.execute("VACUUM INTO 'whole.db'")
            content = Path("whole.db").read_bytes()
        return content


def warm() -> None:
    """Make all valid inputs, which also imports most of the program once.

    What is not made here each process would make anew, in its time, and of other seconds.
    """
    for name in NAMES:
        problem(name)
    for kind in (False, True):
        result(kind)
        study(kind)
    sweep()
