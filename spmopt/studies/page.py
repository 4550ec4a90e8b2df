"""A study as a page of Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spmopt.io.document import write_text
from spmopt.studies.record import Recorded
from spmopt.studies.study import Findings, Sheet, Study


def publish(study: Study, recorded: Recorded, folder: Path) -> Findings:
    """Write the page, and the picture if there is one.

    Raises
    ------
    InputError
        A file cannot be written, or the rows are not those of the study.
    """
    findings = study.find(recorded.rows, recorded.figures)
    if study.draw is not None:
        study.draw(recorded.rows, recorded.figures, folder / f"{study.name}.png")
    write_text(folder / f"{study.name}.md", markdown(study, recorded.head, findings))
    return findings


def markdown(study: Study, head: Mapping[str, Any], findings: Findings) -> str:
    """The command first, then the question, where it was answered, tables, what they mean."""
    title = study.title[0].upper() + study.title[1:]
    parts = [f"    {head['command']}", f"# {title}", study.about, where(head, study.kept)]
    for sheet in findings.sheets:
        parts += [f"## {sheet.title}"] if sheet.title else []
        parts.append("\n".join(lines(sheet)))
    if study.draw is not None:
        parts.append(f"![{title}]({study.name}.png)")
    parts += ["## What it means", " ".join(findings.sentences)]
    if findings.notes:
        parts += ["## Notes", "\n".join(f"* {note}" for note in findings.notes)]
    return "\n\n".join(parts) + "\n"


def lines(sheet: Sheet) -> list[str]:
    """Lines of a table."""
    rule = [":--"] * sheet.left + ["--:"] * (len(sheet.heads) - sheet.left)
    return [_line(cells) for cells in (sheet.heads, rule, *sheet.rows)]


def where(head: Mapping[str, Any], kept: str) -> str:
    """Date, source, computer and packages; ``kept`` says what is in the CSV file."""
    computer = head["computer"]
    csv = f"[{head['study']}.csv]({head['study']}.csv)"
    packages = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    return (
        f"{head['date']}, commit {head['commit']}; {computer['cpu']}, {computer['cores']} cores, "
        f"{computer['system']}; {packages}. {kept.format(csv=csv)}"
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
