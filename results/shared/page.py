"""What studies and benches share: pages, and where and with what something was measured.

No pandas here: benches measure the memory of processes that load this.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from formulations.residency.bound import compiled
from spmopt.core.errors import InputError
from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Columns, Row
from spmopt.experiments.run import run
from spmopt.experiments.store import RowTable
from spmopt.io.document import require_writable, write_text

ROOT = Path(__file__).parents[2]
PACKAGES = ("spmopt", "numpy", "highspy", "highspy-extras", "ortools")
SAME = ("commit", "versions", "computer")  # of runs that can be gone on with
PART = ".rows.part.csv"
VALUES = Columns({"case": str}, {"value": str})
"""Rows of :data:`PART`; values are JSON."""
BEGIN, END = "<!-- tables, written by run.py -->", "<!-- end of tables -->"


def markdown(
    heads: Sequence[str], lines: Iterable[Sequence[str]], *, left: int = 1, title: str = ""
) -> str:
    """Return a table of texts below its title; its first ``left`` columns are words."""
    rule = [":--"] * left + ["--:"] * (len(heads) - left)
    rows = [f"| {' | '.join(cells)} |" for cells in (heads, rule, *lines)]
    return "\n".join([f"## {title}\n"] * bool(title) + rows)


def comma_separated(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return the same table as a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *lines])
    return text.getvalue()


def table_file(title: str) -> str:
    """Return the name of the CSV file of a table."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return f"{'-'.join(words) or 'table'}.csv"


def command_line(folder: Path) -> ArgumentParser:
    """Return a parser of the options that all scripts have."""
    parser = ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from recorded rows")
    parser.add_argument("--quick", action="store_true", help="measure a tiny case, and print it")
    parser.add_argument("--only", metavar="WORDS", help="measure cases so named, and print them")
    parser.add_argument("--output", type=Path, default=folder, help="write to another folder")
    return parser


def named(cases: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return cases whose names have every word of ``text``."""
    words = text.lower().split()
    return {k: case for k, case in cases.items() if all(word in k.lower() for word in words)}


def report(message: str, part: float | None = None) -> None:
    """Print progress."""
    print(message, file=sys.stderr, flush=True)


def collect(
    folder: Path | None,
    command: str,
    here: Mapping[str, Any],
    cases: Mapping[str, Any],
    work: Callable[[Any], Any],
    *,
    jobs: int = 0,
) -> dict[str, Any] | None:
    """Compute what a killed run of the same code left to do; None where it is interrupted.

    Parameters
    ----------
    folder
        Where values are kept until they are used (:func:`discard`); None keeps nothing.
    here
        Where and with what, of :func:`environment`.

    Returns
    -------
    dict
        JSON values of the cases, by name.
    """
    identity = {"command": command, **{name: here[name] for name in SAME}}
    part = None if folder is None else folder / PART
    try:
        kept = RowTable(part, VALUES, identity)
    except InputError:
        discard(folder)  # of another run
        kept = RowTable(part, VALUES, identity)
    try:
        with TaskQueue(jobs, report=report) as queue:
            keyed: dict[tuple[str, ...], Any] = {
                (name,): (name, case) for name, case in cases.items()
            }
            run(keyed, partial(as_row, work), kept, queue, report=report)
    except KeyboardInterrupt:
        report("interrupted" if part is None else "interrupted: the same command goes on from here")
        return None
    return {str(row["case"]): json.loads(str(row["value"])) for row in kept.rows}


def as_row(work: Callable[[Any], Any], named: tuple[str, Any]) -> Row:
    """Return the value of a case as the row of a table."""
    name, case = named
    return {"case": name, "value": json.dumps(work(case))}


def discard(folder: Path | None) -> None:
    """Remove what :func:`collect` kept: all in it has been used."""
    if folder is not None:
        (folder / PART).unlink(missing_ok=True)


def replace_tables(page: Path, tables: str) -> None:
    """Put tables between the marks of a page."""
    require_writable(page)
    text = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}{END}\n"
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    write_text(page, before + tables + after)


def environment() -> dict[str, Any]:
    """Return date, commit, versions and computer, as JSON values."""
    packages = {package: installed(package) for package in PACKAGES}
    if compiled.failure() is not None:
        packages["compiled code"] = "absent"
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "versions": {"python": platform.python_version(), **packages},
        "computer": {"cpu": cpu(), "cores": processors(), "system": platform.system()},
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def commit() -> str:
    """Return the source's commit, marked when files outside of results/ differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    head = git("rev-parse", "HEAD") or "unknown"
    changes = git("status", "--porcelain", "--", ".", ":(exclude)results")
    return f"{head} with changes" if changes else head


def installed(package: str) -> str:
    """Return the version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def cpu() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def where(head: Mapping[str, Any], more: str = "") -> str:
    """Return date, commit and computer as a line of the page; the rows have the versions too."""
    computer = head["computer"]
    return (
        f"{head['date']}, commit {head['commit'][:12]}; {computer['cpu']}, "
        f"{computer['cores']} cores, {computer['system']}{more}."
    )
