"""The command that answers a question by sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.studies.study import Study

_RESULTS = Path("results")


def study(
    name: Annotated[
        str | None, Argument(help="Study to run; without one, list what there is.")
    ] = None,
    *,
    draw: Annotated[
        bool, Option("--draw", help="Make page and picture again from the rows recorded.")
    ] = False,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for NAME.md, NAME.csv and NAME.png.")
    ] = _RESULTS,
    jobs: Annotated[int | None, Option(help="Processes; default: all processors.")] = None,
    assume: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE",
            help="Another assumption than the study's own; may be repeated. Studies of memory "
            "have some, which their pages name.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Answer a question: sweeps, a table of them, and what it means."""
    from spmopt.studies.registry import find
    from spmopt.sweep.pool import processors

    if name is None:
        return _list(json)
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs}: must be at least 1")
    command = "".join((f"spmopt study {name}", *(f" --assume {text}" for text in assume or [])))
    found = find(name)
    if assume:
        found = _assuming(found, assume, draw, output)
    return _run(found, command, None if draw else jobs or processors(), output, json)


def _list(as_json: bool) -> int:
    from spmopt.cli.terminal.output import print_json, results
    from spmopt.report.tables import draw_rows
    from spmopt.studies.registry import STUDIES

    if as_json:
        print_json({"studies": [{"name": s.name, "title": s.title} for s in STUDIES.values()]})
        return Code.OK
    rows = [(each.name, each.title) for each in STUDIES.values()]
    draw_rows(("study", "what it asks"), rows, results())
    return Code.OK


def _run(study: Study, command: str, jobs: int | None, output: Path, as_json: bool) -> int:
    """Without ``jobs`` from the rows recorded."""
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.output import messages, print_json, results, tell, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.report.tables import draw_page
    from spmopt.studies.page import markdown, publish
    from spmopt.studies.record import read
    from spmopt.studies.run import measure

    try:
        if jobs is None:
            recorded = read(study, output)
        else:
            with progress(messages(), remaining=True) as report:
                recorded = measure(study, output, command, jobs=jobs, report=report, warn=warn)
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


def _assuming(study: Study, texts: list[str], draw: bool, output: Path) -> Study:
    if draw:
        raise InputError("--assume: --draw makes the page of the rows recorded; leave one out")
    if output == _RESULTS:
        raise InputError(
            f"--assume: {_RESULTS}/ is for the study as it is; name another folder, --output"
        )
    if study.assume is None:
        raise InputError(f"--assume: study {study.name} has no assumptions to change; leave it out")
    settings: dict[str, str] = {}
    for text in texts:
        name, is_setting, value = text.partition("=")
        if not is_setting or not value:
            raise InputError(f"--assume {text!r}: write NAME=VALUE, as banks=48")
        settings[name.strip()] = value.strip()
    return study.assume(settings)
