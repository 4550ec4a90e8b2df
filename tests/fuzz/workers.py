"""Runs cases in processes with limits, forked from one that has the program imported.

A worker runs some hundred cases, one after another, because a fork costs more than most of them;
what is wrong there is run once more in a process of its own. Limits of CPU time and the peak of
memory are of each case.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from tests.fuzz.case import Case, Outcome
from tests.fuzz.judge import ERR, OUT, SLOW, judged, of_files

Maker = Callable[[Path], Case]
BATCH = 200
"""Cases of a worker."""
PIPE_S, STORAGE_S = 0.1, 0.01
"""For which a pipe that nobody writes to is waited for here, and until a storage that cannot be
opened is tried again; else it is seconds."""
_KILL_S, _STOP_CPU_S, _STOP_BYTES, _FILE_BYTES = 120.0, 30, 4 << 30, 1 << 28
CRASH = "crash"
"""File for what is wrong with a recipe or a judge, which ends all."""
_NOW = struct.Struct("qd")


def run(make: Maker) -> Outcome:
    """Run a case in a process of its own."""
    _quicken()
    return next(_worked([(0, make)]))[1]


def run_all(cases: Iterable[tuple[int, Maker]]) -> Iterator[tuple[int, Outcome, Outcome | None]]:
    """Yield number, outcome, and for what was wrong the outcome in a process of its own."""
    waiting = dict(cases)
    _quicken()
    gc.freeze()
    while waiting:
        some = list(waiting.items())[:BATCH]
        for number, outcome in _worked(some):
            yield number, outcome, _alone(waiting.pop(number), outcome)


def _alone(make: Maker, first: Outcome) -> Outcome | None:
    """Run once more alone what is wrong after others; of what is slow, return the median of three.

    A machine that others share may take three times as long for the same work as an hour before.
    """
    if not first.wrong or not (first.after or first.wrong == [SLOW]):
        return None
    found = run(make) if first.after else first
    if found.wrong != [SLOW]:
        return found
    runs = sorted([found, run(make), run(make)], key=attrgetter("cpu_s"))
    worse = [each for each in runs if each.wrong not in ([], [SLOW])]
    return worse[0] if worse else runs[1]


@cache
def _quicken() -> None:
    """Import the modules of all commands once."""
    from spmopt.cli.commands import COMMANDS

    for module, *_ in COMMANDS.values():
        import_module(f"spmopt.cli.{module}")


def _worked(cases: list[tuple[int, Maker]]) -> Iterator[tuple[int, Outcome]]:
    """Yield outcomes of what one worker runs; if it dies, of all before, and of what it died at."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as name:
        top = Path(name)
        top.chmod(0o755)
        now = mmap.mmap(-1, _NOW.size)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _work(cases, top, now)
        status = _ended(child, now)
        rows = (top / "rows").read_text().splitlines() if (top / "rows").exists() else []
        for row in rows:
            number, outcome = json.loads(row)
            yield number, Outcome(**outcome)
        if len(rows) < len(cases):
            if (top / CRASH).exists():
                raise RuntimeError((top / CRASH).read_text())
            code, said = os.waitstatus_to_exitcode(status), ""
            if (path := top / f"{len(rows)}" / ERR).exists():
                said = path.read_text(errors="replace")[-2000:]
            outcome = Outcome(code, 0.0, 0.0, "", said, after=len(rows))
            outcome.wrong.append(f"killed, {code}")
            yield cases[len(rows)][0], outcome


def _ended(child: int, now: mmap.mmap) -> int:
    """Wait for a worker, and kill it if a case does not end; return its status."""
    handle = os.pidfd_open(child)
    while not select.select([handle], [], [], 5.0)[0]:
        _, began = _NOW.unpack(now[:])
        if began and time.monotonic() - began > _KILL_S:
            os.kill(child, signal.SIGKILL)
    os.close(handle)
    status = os.waitpid(child, 0)[1]
    with suppress(ProcessLookupError):  # what it started and left behind
        os.killpg(child, signal.SIGKILL)
    return status


def _work(cases: list[tuple[int, Maker]], top: Path, now: mmap.mmap) -> None:
    code = 99
    try:
        os.setsid()
        _limit()
        with (top / "rows").open("w") as rows:
            for at, (number, make) in enumerate(cases):
                now[:] = _NOW.pack(number, time.monotonic())
                outcome = _one(make, top / str(at), at, alone=len(cases) == 1)
                rows.write(json.dumps((number, asdict(outcome))) + "\n")
                rows.flush()
        code = 0
    except BaseException:
        (top / CRASH).write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _limit() -> None:
    with suppress(ImportError):  # older sources have none
        from spmopt.core import validation
        from spmopt.io import document
        from spmopt.search import storage

        validation._PIPE_S = document.PIPE_S = PIPE_S
        storage._WAIT_S = STORAGE_S
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _STOP_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _one(make: Maker, top: Path, after: int, *, alone: bool) -> Outcome:
    """Make a case in a folder of its own, run it, check it, and remove the folder."""
    folder = top / "a" / "case"
    folder.mkdir(parents=True)
    try:
        case = make(folder)
        given = set(os.listdir(folder))
        if case.as_nobody and not alone:
            return run(make)
        outcome = _ran(case, folder, after)
        outcome.wrong.extend(judged(case, outcome))
        outcome.wrong.extend(of_files(case, outcome, folder, given))
        return outcome
    finally:
        os.chdir("/")
        shutil.rmtree(top, ignore_errors=True)


def _ran(case: Case, folder: Path, after: int) -> Outcome:
    from spmopt.cli import main

    os.chdir(folder)
    top = folder.parent.parent
    if case.as_nobody:
        _import_what_it_needs(case, folder, top)
    _redirect(top)
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is from here on
    if case.as_nobody:
        _become_nobody(folder)
    cpu_s, others_mb = _used()
    limit = int(cpu_s) + 1 + _STOP_CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    try:
        code = main(case.words)
    except BaseException:
        code = 99
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    more_cpu_s, more_others_mb = _used()
    peak_mb = max(_peak_mb(), more_others_mb if more_others_mb > others_mb else 0)
    return Outcome(
        code,
        round(more_cpu_s - cpu_s, 3),
        round(peak_mb, 1),
        (top / OUT).read_text(errors="replace"),
        (top / ERR).read_text(errors="replace"),
        after,
    )


def _import_what_it_needs(case: Case, folder: Path, top: Path) -> None:
    """Run a case once with all rights: libraries may lie where nobody may read them."""
    from spmopt.cli import main

    given = set(os.listdir(folder))
    _redirect(top)
    with suppress(BaseException):
        main(case.words)
    for name in set(os.listdir(folder)) - given:
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()


def _redirect(top: Path) -> None:
    """Give a case files for what it prints, and nothing to read."""
    for number, path, how in ((0, os.devnull, "r"), (1, top / OUT, "w"), (2, top / ERR, "w")):
        handle = os.open(path, os.O_RDONLY if how == "r" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))


def _become_nobody(folder: Path) -> None:
    """Give up the rights of an administrator; files remain those of the one before."""
    for path in (folder.parent.parent, folder.parent):
        path.chmod(0o755)
    folder.chmod(0o777)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def _used() -> tuple[float, float]:
    """Return CPU seconds, and the most memory of a process that was started, 10^6 bytes."""
    kinds = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, others = kinds
    taken = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    return taken, others.ru_maxrss * 1024 / 1e6


def _peak_mb() -> float:
    """Return the most memory of this process since it was last asked to forget, 10^6 bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6
