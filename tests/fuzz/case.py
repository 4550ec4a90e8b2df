"""What is run, and how it ended."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Random = random.Random


@dataclass(frozen=True)
class Case:
    """A command line; its files are in the folder that it is run in.

    ``secret`` must not be printed; ``as_nobody``: without the rights of an administrator, in a
    process of its own; ``judge`` says what is wrong with the files of a command that succeeded.
    """

    words: list[str]
    secret: str = ""
    as_nobody: bool = False
    judge: Callable[[Path], Iterable[str]] | None = None


@dataclass(frozen=True)
class Outcome:
    """How a command ended; ``wrong`` says what must not be.

    ``after``: how many others its process ran before.
    """

    code: int
    cpu_s: float
    memory_mb: float
    stdout: str = ""
    stderr: str = ""
    after: int = 0
    wrong: list[str] = field(default_factory=list)


Recipe = Callable[[Path, Random], Case]
"""Writes files into a folder and returns what is run there."""


def case(*words: str, **more: Any) -> Case:
    """Return a command line, as the system takes it: without zero bytes."""
    return Case([word.replace("\x00", "") for word in words], **more)
