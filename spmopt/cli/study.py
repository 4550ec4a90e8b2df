"""The command that answers a question by sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json
from spmopt.core.errors import InputError


def study(
    name: Annotated[
        str | None, Argument(help="Study to run; without one, list what there is.")
    ] = None,
    draw: Annotated[
        bool, Option("--draw", help="Make page and picture again from the rows recorded.")
    ] = False,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for NAME.md, NAME.csv and NAME.png.")
    ] = Path("results"),
    jobs: Annotated[int | None, Option(help="Processes; default: all processors.")] = None,
    json: Json = False,
) -> int:
    """Answer a question: sweeps, a table of them, and what it means."""
    if name is None:
        return _list(json)
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs}: must be at least 1")
    return _run(name, draw, output, jobs, json)


def _list(as_json: bool) -> int:
    from spmopt.cli.output import print_json, results
    from spmopt.report.table import draw_rows
    from spmopt.studies.registry import STUDIES

    if as_json:
        print_json({"studies": [{"name": s.name, "title": s.title} for s in STUDIES.values()]})
        return Code.OK
    rows = [(each.name, each.title) for each in STUDIES.values()]
    draw_rows(("study", "what it asks"), rows, results())
    return Code.OK


def _run(name: str, draw: bool, output: Path, jobs: int | None, as_json: bool) -> int:
    from spmopt.cli.interrupt import Interrupted
    from spmopt.cli.output import messages, print_json, results, tell, warn
    from spmopt.cli.progress import progress
    from spmopt.report.page import draw_page
    from spmopt.studies.page import markdown, publish
    from spmopt.studies.record import read
    from spmopt.studies.registry import find
    from spmopt.studies.run import measure
    from spmopt.sweep.pool import processors

    study = find(name)
    try:
        if draw:
            recorded = read(study, output)
        else:
            command = f"spmopt study {name}"
            count = processors() if jobs is None else jobs
            with progress(messages(), remaining=True) as report:
                recorded = measure(study, output, command, jobs=count, report=report, warn=warn)
    except (Interrupted, KeyboardInterrupt):
        tell("interrupted: the same command goes on from here")
        return Code.INTERRUPTED
    findings = publish(study, recorded, output)
    if as_json:
        sheets = [
            {
                "title": sheet.title,
                "columns": list(sheet.heads),
                "rows": list(map(list, sheet.rows)),
            }
            for sheet in findings.sheets
        ]
        print_json({**recorded.head, "tables": sheets, "sentences": list(findings.sentences)})
    else:
        draw_page(markdown(study, recorded.head, findings), results())
    return Code.OK
