"""Lines as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spmopt.bench.lines import Line
from spmopt.bench.record import Record
from spmopt.bench.suite import Suite, Target
from spmopt.io.document import write_text

_NONE = "-"
FORMS: Mapping[str, Callable[[float], str]] = {
    "s": lambda value: f"{value:.2f}",
    "%": lambda value: f"{round(100 * value, 9):.3g}",  # less is rounding of the solver
    "ms": lambda value: f"{value:#.5g}",
    "n": lambda value: f"{value:,.0f}",
    "x": lambda value: f"{value:.1f}",
    "yes": lambda value: "yes" if value else "no",
}


def write(folder: Path, suite: Suite, record: Record, lines: Sequence[Line]) -> None:
    """Write the table and everything measured, each file whole or not at all.

    Raises
    ------
    InputError
        A file cannot be written.
    """
    text = json.dumps(document(record, lines), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / f"{suite.name}.json", text + "\n")
    write_text(folder / f"{suite.name}.md", markdown(suite, record.head, lines))
    record.close()


def document(record: Record, lines: Sequence[Line]) -> dict[str, Any]:
    """Everything measured, as JSON values."""
    rows = [
        {
            "name": line.row.name,
            "case": asdict(line.row.case),
            "mark": line.mark,
            "targets": [
                {**asdict(target), "met": target not in line.missed} for target in line.row.targets
            ],
            "figures": dict(line.figures),
            "runs": record.rows.get(line.row.name, {}),
        }
        for line in lines
    ]
    return {**record.head, "rows": rows}


def markdown(suite: Suite, head: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """The command first, then what, where, and the table."""
    title = suite.title[0].upper() + suite.title[1:]
    errors = [f"* {x.row.name}: {x.figures['error']}" for x in lines if "error" in x.figures]
    wanted = sum(bool(line.row.targets) for line in lines)
    reached = sum(line.mark == "pass" for line in lines)
    parts = [f"    {head['command']}", f"# {title}", suite.about, _where(head)]
    parts += ["\n".join(_rows(suite, lines)), "\n".join(errors)]
    parts += [f"{reached} of {wanted} lines reach their targets."] if wanted else []
    return "\n\n".join(part for part in parts if part) + "\n"


def _rows(suite: Suite, lines: Sequence[Line]) -> list[str]:
    """Lines of the table; the last column has the marks, where there are targets."""
    left, aimed = len(suite.heads), any(line.row.targets for line in lines)
    titles = [*suite.heads, *(column.heading for column in suite.columns), "targets"]
    rule = [":--"] * left + ["--:"] * (len(titles) - left)
    rows = [[*line.row.cells, *_cells(suite, line), _marked(line)] for line in lines]
    cut = None if aimed else -1
    return [f"| {' | '.join(cells[:cut])} |" for cells in (titles, rule, *rows)]


def _marked(line: Line) -> str:
    return line.mark if line.mark in ("pass", "done") else f"**{line.mark}**"


def _cells(suite: Suite, line: Line) -> list[str]:
    """Figures as texts, each with its target in brackets, bold when missed."""
    targets = {target.figure: target for target in line.row.targets}
    cells = []
    for column in suite.columns:
        value, target = line.figures.get(column.figure), targets.get(column.figure)
        text = _NONE if value is None else str(value)
        if isinstance(value, int | float):
            text = FORMS[column.form](value)
        if target is not None:
            text = f"**{text}**" if target in line.missed else text
            text = f"{text} ({_aim(target, column.form)})"
        cells.append(text)
    return cells


def _aim(target: Target, form: str) -> str:
    sign = "≥" if target.at_least else "≤"
    if form == "n":
        return f"{sign} {FORMS[form](target.value)}"
    return f"{sign} {100 * target.value if form == '%' else target.value:g}"


def _where(head: Mapping[str, Any]) -> str:
    computer, versions = head["computer"], head["versions"]
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    load = head["load_average"]
    busy = "" if load is None else f", load average {load} at the start"
    runs = head["runs"]
    times = "one run of each" if runs == 1 else f"medians of {runs} runs, of gaps the worst"
    return (
        f"{head['date']}, commit {head['commit']}; {computer['cpu']}, {computer['cores']} cores, "
        f"{computer['system']}{busy}; {packages}; {times}; every run in a process of its own."
    )
