"""Which tests can notice a fault: those that execute the statement where it is."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0")
"""The same examples whatever else runs: what was executed once is executed again."""
_MODULES = (
    "import sys, {}; print(*(m.__file__ for m in sys.modules.values() if vars(m).get('__file__')))"
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What the tests of a folder execute.

    Parameters
    ----------
    seconds
        Of each test, traced.
    tests
        By ``file:line``: tests that execute it, in their process or perhaps in one that they start.
    whole_files
        By ``file:line``: files of tests that execute it on import, or for several tests at once.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    whole_files: dict[str, list[str]] = field(default_factory=dict)

    def of(self, file: str, line: int, source: str) -> list[str]:
        """Return the tests that execute a statement, the cheapest first.

        Of those that execute it on import, which may be nearly all, those of the nearest folder.
        """
        places = [f"{file}:{each}" for each in statement_lines(source, line)]
        found = {test for place in places for test in self.tests.get(place, [])}
        whole = {name for place in places for name in self.whole_files.get(place, [])}
        near = max((_nearness(name, file) for name in whole), default=None)
        nearest = {name for name in whole if _nearness(name, file) == near}
        found |= {test for test in self.seconds if test.split("::", maxsplit=1)[0] in nearest}
        return sorted(found, key=lambda test: (self.seconds[test], test))


def _nearness(test_file: str, file: str) -> tuple[int, int]:
    """How many folders two files have in common, by name, and how few others."""
    folders, others = Path(test_file).parent.parts, Path(file).parent.parts
    return len(set(folders) & set(others)), -len(folders)


def measured(copy: Path, package: str, tests: Sequence[str], jobs: int, traces: Path) -> Reach:
    """Run each file of tests once, in a process of its own, and note what its tests execute.

    Traces that are in the folder ``traces`` already are not made again.
    """
    reach = Reach()
    with ThreadPoolExecutor(jobs) as pool:
        found = [each for folder in tests for each in (copy / folder).rglob("test_*.py")]
        files = sorted(each.relative_to(copy) for each in found)
        made = pool.map(lambda file: _trace(file, copy, package, traces), files)
        for file, trace in zip(files, made, strict=True):
            reach.seconds.update(trace["seconds"])
            for name, lines in trace["lines"].items():
                for line, contexts in lines.items():
                    _add(reach, Path(name), int(line), contexts, file)
            for test, modules in trace["calls"].items():
                for module in modules:
                    for each, count in _imported(module, copy, package):
                        for line in range(1, count + 1):
                            _add(reach, each, line, [test], file)
    return reach


def _add(reach: Reach, name: Path, line: int, contexts: list[str], file: Path) -> None:
    whole = [file.as_posix()] if "" in contexts else []
    # A test that several lines or processes lead to may be there twice.
    for table, found in ((reach.tests, contexts), (reach.whole_files, whole)):
        table.setdefault(f"{name.as_posix()}:{line}", []).extend(filter(None, found))


def _trace(file: Path, copy: Path, package: str, traces: Path) -> dict[str, Any]:
    to = traces.resolve() / f"{file.as_posix().replace('/', '-')}.json"
    if not to.exists():
        extra = {
            "SPMOPT_TRACE": str(to),
            "SPMOPT_TRACED": package,
            "PYTHONPATH": str(copy),
        }
        subprocess.run(
            [*PYTEST, "-p", "results.mutants.trace_tests", str(file)],
            cwd=copy,
            env=os.environ | extra,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    return dict(json.loads(to.read_text()))


@cache
def _imported(module: str, copy: Path, package: str) -> list[tuple[Path, int]]:
    """The files of the package that a process imports which serves a call, and their lines."""
    done = subprocess.run(
        [sys.executable, "-c", _MODULES.format(module)],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=True,
    )
    files = [Path(name) for name in done.stdout.split()]
    return [
        (each.relative_to(copy), len(each.read_text().splitlines()))
        for each in files
        if each.is_relative_to(copy / package)
    ]


def statement_lines(source: str, line: int) -> set[int]:
    """Return the lines of the innermost statement, without those of the statements inside it."""
    own = {line}
    for node in ast.walk(ast.parse(source)):  # outer ones come first
        if isinstance(node, ast.stmt):
            lines = _lines(node)
            for child in ast.walk(node):
                if isinstance(child, ast.stmt) and child is not node:
                    lines -= _lines(child)
            if line in lines:
                own = lines
    return own


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
