"""Commands under way: in forks of a process that has loaded the program, or as users run them."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType
from typing import Any, Never
from uuid import uuid4

from results.kills.tiny import BENCH
from spmopt.cli import main

ROOT = Path(__file__).parents[2]
_MARK = "SPMOPT_KILLS"
"""Set in all programs that a command starts, so that none is overlooked."""
_LIMIT_S, _END_S = 300.0, 15.0
TARGETS = ("main", "group", "child")


class Command:
    """A command in a session of its own.

    Parameters
    ----------
    words
        After ``spmopt``; a first word that ends in ``.py`` is a script instead.
    as_users
        Start Python anew, in place of a fork, which begins to work at once.
    """

    def __init__(self, words: Sequence[str], folder: Path, *, as_users: bool = False) -> None:
        self._mark = f"{_MARK}={uuid4().hex}"
        self._said = folder.with_name(f"{folder.name}.said")
        self._status: int | None = None
        with self._said.open("wb") as file:
            begin = self._started if as_users else self._forked
            self.process = begin(words, folder, file.fileno())

    def _started(self, words: Sequence[str], folder: Path, output: int) -> int:
        program = [] if words[0].endswith(".py") else ["-m", "spmopt"]
        name, _, value = self._mark.partition("=")
        self._popen = subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), name: value},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        return self._popen.pid

    def _forked(self, words: Sequence[str], folder: Path, output: int) -> int:
        process = os.fork()
        if not process:
            os.setsid()
            os.chdir(folder)
            for number in (1, 2):
                os.dup2(output, number)
            name, _, value = self._mark.partition("=")
            os.environ |= {"PYTHONPATH": str(ROOT), name: value}
            _run(words)
        return process

    @property
    def said(self) -> str:
        """What it printed."""
        return self._said.read_text(errors="replace")

    def ended(self) -> int | None:
        """Give its status, negative if by a signal; None while it runs."""
        if self._status is None:
            found, status = os.waitpid(self.process, os.WNOHANG)
            if found:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self) -> int:
        """Wait for its end; give its status."""
        due = monotonic() + _LIMIT_S
        while (status := self.ended()) is None:
            if monotonic() > due:
                os.killpg(self.process, signal.SIGKILL)
            sleep(0.005)
        return status

    def processes(self) -> list[int]:
        """List the programs that it has started and that have not ended."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (path / "environ").read_bytes():
                    found.append(int(path.name))
        return found

    def children(self) -> list[int]:
        """List those that compute: all but itself, and what looks after shared memory."""
        found = []
        for number in self.processes():
            with suppress(OSError):
                line = Path(f"/proc/{number}/cmdline").read_bytes()
                if number != self.process and b"resource_tracker" not in line:
                    found.append(number)
        return sorted(found)

    def kill(self, target: str, draw: random.Random) -> bool:
        """Kill it, its group, or one of its children; give whether that was there."""
        if self.ended() is not None:
            return False
        with suppress(ProcessLookupError):
            if target == "group":
                os.killpg(self.process, signal.SIGKILL)
            elif target == "main":
                os.kill(self.process, signal.SIGKILL)
            else:
                children = self.children()
                if not children:
                    return False
                os.kill(draw.choice(children), signal.SIGKILL)
            return True
        return False

    def left(self) -> int:
        """Count processes that go on after its end; end them."""
        due = monotonic() + _END_S
        while (found := self.processes()) and monotonic() < due:
            sleep(0.05)
        for number in found:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return len(found)


def load_for(words: Sequence[str], folder: Path) -> None:
    """Load what a command loads, so that it is there in forks."""
    load(apart(_loaded_by, words, folder))


def load(names: Sequence[str]) -> None:
    """Load modules, as far as they can be."""
    for name in names:
        with suppress(Exception):
            import_module(name)


def _loaded_by(words: Sequence[str], folder: Path) -> list[str]:
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.modules["__main__"] = ModuleType("__main__")
    if words[0].endswith(".py"):
        BENCH.main(words[1:])
    else:
        main(list(words))
    return list(sys.modules)


def _run(words: Sequence[str]) -> Never:
    """Do what the command line says, in this process, and end it."""
    sys.modules["__main__"] = ModuleType("__main__")  # which other processes need not load
    code = 1
    try:
        if words[0].endswith(".py"):
            code = BENCH.main(words[1:])
        else:
            sys.argv = ["spmopt", *words]
            code = main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fork, so that nothing that it opens is open here."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        found: Any = RuntimeError("no answer")
        try:
            found = function(*arguments)
        except Exception as error:
            why = "" if error.__cause__ is None else f" ({error.__cause__})"
            found = RuntimeError(f"{type(error).__name__}: {error}{why}")
        finally:
            with os.fdopen(write, "wb") as file:
                pickle.dump(found, file)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        answer = pickle.load(file)
    os.waitpid(process, 0)
    if isinstance(answer, RuntimeError):
        raise answer
    return answer
