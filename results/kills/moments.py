"""Work that ends itself at the n-th moment at which a file or a database changes, for every n.

    python -m results.kills.moments [NAME[:STEP] ...]

Each process is a fork of this one. What it leaves is taken up by another, which must end as the
undisturbed one does.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from sqlalchemy import Engine
from sqlalchemy.event import listen

import spmopt
from results.kills.commands import PROBLEM, SPACE, trials_of
from results.kills.processes import apart, load
from spmopt.experiments import claims, store
from spmopt.experiments.rows import Columns, Row, Texts
from spmopt.experiments.run import run
from spmopt.experiments.store import Journal, RowTable
from spmopt.io import document, locks

_EVENTS = ("open", "os.rename", "os.remove", "os.symlink", "os.mkdir", "os.truncate")
"""Of Python's own, at which a folder may change."""
_OPENED_TO_READ = (os.O_RDONLY, os.O_RDONLY | os.O_CLOEXEC)
_COLUMNS = Columns({"x": int}, {"square": int})
_FEW = SPACE.replace("256B:1024B:256B", "256B:512B:256B")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done in a folder, and what of that is compared."""

    do: Callable[[Path], object]
    read: Callable[[Path], Any]


class _Moments:
    """Counts moments; at the ``last`` one the process ends as by SIGKILL."""

    def __init__(self, folder: Path, last: int) -> None:
        self.count, self._folder, self._last = 0, str(folder), last
        sys.addaudithook(self._hear)
        listen(Engine, "before_cursor_execute", self._tick)
        listen(Engine, "commit", self._tick)
        for module in (claims, store, document):
            module.append = self._append  # type: ignore[attr-defined]

    def _tick(self, *_: object) -> None:
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        reads = event == "open" and arguments[2] in _OPENED_TO_READ
        if event in _EVENTS and not reads and any(self._folder in str(a) for a in arguments[:2]):
            self._tick()

    def _append(self, file: IO[Any], data: bytes) -> None:
        """Add data, with moments before, amid and after it."""
        half = len(data) // 2
        self._tick()
        locks.append(file, data[:half])
        self._tick()
        locks.append(file, data[half:])
        self._tick()


def killed_at_every_moment(work: Work, step: int = 1) -> Mapping[str, int]:
    """Kill work at every ``step``-th moment; count those, and what is wrong after them."""
    moments, wrong = 0, 0
    with TemporaryDirectory(prefix="kills-") as name:
        whole = Path(name) / "whole"
        whole.mkdir()
        load(apart(_loaded_by, work, whole))
        expected, files = apart(work.read, whole), _names(whole)
        for last in range(1, 100_000, step):
            folder = Path(name) / str(last)
            folder.mkdir()
            if not _is_killed(work, folder, last):
                break
            moments += 1
            try:
                apart(work.do, folder)
                found, told = apart(work.read, folder), _names(folder)
            except RuntimeError as error:
                found, told = str(error), files
            if (found, told) != (expected, files):
                wrong += 1
                print(f"moment {last}: {found}, {told - files}, not {expected}", file=sys.stderr)
    return {"kills": moments, "differing": wrong}


def _loaded_by(work: Work, folder: Path) -> list[str]:
    """Do it; name all modules, so that forks of this process need not load them."""
    work.do(folder)
    return list(sys.modules)


def _is_killed(work: Work, folder: Path, last: int) -> bool:
    """Do it until that moment, in a fork; give whether it came to it."""
    process = os.fork()
    if not process:
        try:
            _Moments(folder, last)
            work.do(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def _names(folder: Path) -> set[str]:
    """Name all files, but for the numbers of trials."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.name if path.suffix != ".gz" else path.suffix for path in files}


def _rows(folder: Path) -> None:
    table = RowTable(folder / "s.csv", _COLUMNS, {"a": 1})
    cases: dict[Texts, int] = {(str(x),): x for x in range(3)}
    run(cases, _square, table)


def _square(x: int) -> Row:
    return {"x": x, "square": x * x}


def _values(folder: Path) -> None:
    kept = Journal(folder / "j.jsonl", {"a": 1})
    run({"a": 1, "b": 2}, _square, kept)
    document.write_json(folder / "all.json", {key: kept.get(key) for key in ("a", "b")})
    kept.remove()


def _replaced(folder: Path) -> None:
    path = folder / "r.json"
    document.require_writable(path)
    for number in range(3):
        document.write_json(path, {"number": number})
        path.chmod(0o600)


def _searched(storage: str, sampler: str) -> Work:
    def do(folder: Path) -> None:
        space = folder / "k.toml"
        space.write_text(_FEW, encoding="utf-8")
        spmopt.tune(
            str(PROBLEM),
            space,
            objectives=["time", "cost"],
            scheduler="belady",
            trials=9,
            sampler=sampler,
            prune=False,
            storage=storage.format(folder),
        )

    return Work(do=do, read=lambda folder: trials_of(folder, storage.format(folder), "k"))


WORK: Mapping[str, Work] = {
    "rows": Work(do=_rows, read=lambda folder: (folder / "s.csv").read_text()),
    "values": Work(do=_values, read=lambda folder: (folder / "all.json").read_text()),
    "file": Work(
        do=_replaced,
        read=lambda folder: ((folder / "r.json").read_text(), (folder / "r.json").stat().st_mode),
    ),
    "tune, SQLite": _searched("{}/k.db", "tpe"),
}


def main(words: Sequence[str]) -> int:
    """Do all works that are named, each with its step."""
    wrong = 0
    for word in words or WORK:
        name, _, step = word.partition(":")
        found = killed_at_every_moment(WORK[name], int(step or "1"))
        print(f"{name}: {found['kills']} moments, {found['differing']} wrong", flush=True)
        wrong += found["differing"] + (not found["kills"])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
