"""Running the command line within the test's own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from spmopt.cli import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """What was printed, as JSON."""
        return json.loads(self.out)


Run = Callable[[str], Ran]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command line, words separated by blanks."""

    def run(line: str) -> Ran:
        capsys.readouterr()
        code = main(line.split())
        captured = capsys.readouterr()
        return Ran(code=code, out=captured.out, err=captured.err)

    return run
