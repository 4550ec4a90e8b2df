"""Run a suite: every measurement several times, each time in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

from spmopt.bench.lines import Line, line
from spmopt.bench.lines import total as total_line
from spmopt.bench.record import Record
from spmopt.bench.suite import Case, Figures, Part, Row, Suite

Launch = Callable[[Case, Part], Figures]
_WORKER = "spmopt.bench.worker"


def launch(case: Case, part: Part) -> Figures:
    """Measure in a process of its own; a failure is a figure ``error`` with one line."""
    job = {"case": asdict(case), "measure": part.measure, "options": dict(part.options)}
    done = subprocess.run(
        [sys.executable, "-m", _WORKER],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures
    said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
    return {"error": said[-1]}


def run(
    suite: Suite,
    record: Record,
    report: Callable[[str, float | None], None],
    measure: Launch | None = None,
) -> Iterator[Line]:
    """Measure what ``record`` lacks; give each line of the table when it is complete.

    ``measure`` is :func:`launch` by default.
    """
    measure = measure or launch
    runs = int(record.head["runs"])
    total = sum(len(row.parts) for row in suite.rows) * runs
    done = 0
    lines: dict[str, Line] = {}
    for row in suite.rows:
        for label, part in row.parts.items():
            for number in range(runs):
                name = f"{row.name} {label}".strip()
                report(f"{suite.name}: {name}, run {number + 1} of {runs}", done / total)
                done += 1
                if len(record.runs(row, label)) <= number:
                    record.add(row, label, measure(row.case, part.of_run(number)))
        if row.sums:
            lines[row.name] = total_line(suite, row, lines)
        else:
            lines[row.name] = line(suite, row, record.rows[row.name])
        yield lines[row.name]


def select(suite: Suite, text: str) -> tuple[Row, ...]:
    """Rows whose name contains every word of ``text``, and of sums those that can be had."""
    words = text.lower().split()
    found = {r.name: r for r in suite.rows if all(word in r.name.lower() for word in words)}
    return tuple(row for row in found.values() if all(name in found for name in row.sums))
