"""The command that measures the program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.bench.suite import Suite


def bench(
    *,
    suite: Annotated[
        str | None, Argument(help="Suite to run; without one, list what there is.")
    ] = None,
    runs: Annotated[int, Option(help="Runs of each measurement; the table has medians.")] = 3,
    only: Annotated[
        str | None, Option(help="Lines whose names contain these words; no file is written.")
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for SUITE.md and SUITE.json.")
    ] = Path("results"),
    peer: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="Suite place: another program to measure too, with {file}, {capacity} and "
            "{output} for the CSV file, the bytes and the CSV file to write.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Measure the program against its targets."""
    if suite is None:
        return _list(json)
    if runs < 1:
        raise InputError(f"--runs {runs}: must be at least 1")
    if only is None and not output.is_dir():
        raise InputError(f"{output}: no such folder; create it first, or name one by --output")
    command = _command(suite, runs, peer, only)
    return _run(_named(suite, peer), command, runs=runs, only=only, output=output, as_json=json)


def _named(name: str, peer: str | None) -> Suite:
    from spmopt.bench.suites import find
    from spmopt.bench.suites.placement import with_peer

    suite = find(name)
    if peer is None:
        return suite
    if name != "place":
        raise InputError(f"--peer: only suite place has one, not {name}")
    return with_peer(suite, peer)


def _command(name: str, runs: int, peer: str | None, only: str | None) -> str:
    words = ["spmopt", "bench", name, "--runs", str(runs)]
    words += [] if peer is None else ["--peer", f"'{peer}'"]
    words += [] if only is None else ["--only", f"'{only}'"]
    return " ".join(words)


def _list(as_json: bool) -> int:
    from spmopt.bench.suites import SUITES
    from spmopt.cli.terminal.output import print_json, results
    from spmopt.report.tables import draw_rows

    if as_json:
        records = [
            {"name": suite.name, "title": suite.title, "rows": [row.name for row in suite.rows]}
            for suite in SUITES.values()
        ]
        print_json({"suites": records})
        return Code.OK
    rows = [(suite.name, str(len(suite.rows)), suite.title) for suite in SUITES.values()]
    draw_rows(("suite", "rows", "what it measures"), rows, results())
    return Code.OK


def _run(
    suite: Suite, command: str, *, runs: int, only: str | None, output: Path, as_json: bool
) -> int:
    from spmopt.bench.record import Record
    from spmopt.bench.runner import run, select
    from spmopt.bench.table import document, markdown, write
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.output import messages, print_json, results, tell
    from spmopt.cli.terminal.progress import progress
    from spmopt.report.tables import draw_page

    name = suite.name
    if only is not None:
        suite = replace(suite, rows=select(suite, only))
        if not suite.rows:
            raise InputError(f"--only {only!r}: no line of suite {name} has these words")
    record = Record.begin(suite, command, runs, None if only is not None else output)
    lines = []
    try:
        with progress(messages()) as report:
            for line in run(suite, record, report):
                lines.append(line)
                tell(f"{name}: {line.row.name}: {line.mark}")
    except (Interrupted, KeyboardInterrupt):
        kept = "" if only is not None else ": the same command goes on from here"
        tell(f"interrupted{kept}")
        return Code.INTERRUPTED
    if only is None:
        write(output, suite, record, lines)
    if as_json:
        print_json(document(record, lines))
    else:
        draw_page(markdown(suite, record.head, lines), results())
    return Code.INTERNAL if any("error" in line.figures for line in lines) else Code.OK
