"""Runs commands in processes with limits, and says what is wrong with how they ended.

It knows nothing of the program but its exit codes: 0 done, 1 not verified, 2 bad input, 3
infeasible, 4 nothing found.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CPU_S, MEMORY_MB = 10.0, 1000.0
CODES = range(5)
LONGEST = 2_000
"""Characters of a line that can be read."""
_KILL_S, _STOP_CPU_S, _STOP_BYTES, _FILE_BYTES = 45.0, 25, 4 << 30, 1 << 28


@dataclass(frozen=True)
class Case:
    """A command line; its files are in the folder that it is run in.

    ``secret`` must not be printed; ``as_nobody``: without the rights of an administrator.
    """

    kind: str
    words: list[str]
    secret: str = ""
    as_nobody: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a command ended; ``wrong`` says what must not be."""

    code: int
    cpu_s: float
    memory_mb: float
    stdout: str
    stderr: str
    wrong: list[str] = field(default_factory=list)


def run(make: Callable[[Path], Case]) -> tuple[Case, Outcome]:
    """Make a case in a folder of its own, run it, check it, and remove the folder."""
    top = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        folder = top / "a" / "case"
        folder.mkdir(parents=True)
        case = make(folder)
        if case.as_nobody:
            for path in (top, top / "a", folder):
                path.chmod(0o755)
            folder.chmod(0o777)
        given = {path.name for path in folder.iterdir()}
        outcome = _ran(case, folder, top)
        outcome.wrong.extend(_of_files(folder, top, given))
        return case, outcome
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _ran(case: Case, folder: Path, top: Path) -> Outcome:
    out, err = top / "out", top / "err"
    began_kb = _resident_kb()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _child(case, folder, out, err)
    stop, status, usage = time.monotonic() + _KILL_S, 0, None
    while usage is None:
        number, status, found = os.wait4(child, os.WNOHANG)
        if number:
            usage = found
        elif time.monotonic() > stop:
            os.kill(child, signal.SIGKILL)
            stop += 60
        else:
            time.sleep(0.002)
    outcome = Outcome(
        os.waitstatus_to_exitcode(status),
        usage.ru_utime + usage.ru_stime,
        max(0, usage.ru_maxrss - began_kb) / 1000,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
    )
    outcome.wrong.extend(_judged(case, outcome))
    return outcome


def _child(case: Case, folder: Path, out: Path, err: Path) -> None:
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _STOP_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (_STOP_CPU_S,) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if case.as_nobody and os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "r" if n == 0 else "w") for n in range(3))
        from spmopt.cli import main

        code = main(case.words)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _judged(case: Case, found: Outcome) -> Iterator[str]:
    lines, everything = found.stderr.splitlines(), found.stdout + found.stderr
    errors = sum(line.startswith("error:") for line in lines)
    if found.code not in CODES:
        yield f"exit status {found.code}"
    if "Traceback" in found.stderr or re.search(r"^\w*(Error|Exception):", found.stderr, re.M):
        yield "traceback"
    if found.code in (0, 2) and errors != (found.code == 2):
        yield f"{errors} lines of errors"
    if found.cpu_s > CPU_S:
        yield "slow"
    if found.memory_mb > MEMORY_MB:
        yield "memory"
    if any(len(line) > LONGEST for line in lines):
        yield "long line"
    if any(unicodedata.category(c) in ("Cc", "Cf") and c != "\n" for c in everything):
        yield "control characters"
    if case.secret and case.secret in everything:
        yield "secret"


def _of_files(folder: Path, top: Path, given: set[str]) -> list[str]:
    wrong = []
    csv.field_size_limit(1 << 30)
    beside = {path.name for path in (*top.iterdir(), *(top / "a").iterdir())}
    if beside - {"a", "out", "err", "case"}:
        wrong.append("wrote outside of its folder")
    for path in folder.glob("*.csv"):
        if path.name not in given and path.is_file():
            with path.open(newline="", encoding="utf-8", errors="replace") as stream:
                if any(_is_formula(cell) for row in csv.reader(stream) for cell in row):
                    wrong.append("formula in CSV")
    return wrong


def _is_formula(cell: str) -> bool:
    try:
        return cell[:1] in tuple("=+-@\t\r") and bool(float(cell)) and False
    except ValueError:
        return cell[:1] != "" and cell != "-"


def _resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024
