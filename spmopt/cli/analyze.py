"""The command that measures one schedule in detail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from spmopt.cli.flat import flat
from spmopt.cli.options import Json, Search, Source, choices
from spmopt.cli.schedules import DEFAULT_SCHEDULER, legal, require_new, require_no_ports

_PER = {
    "operation": "each operation, in the order of the schedule",
    "layer": "an operation with its gradients, forward and backward",
    "tensor": "each tensor",
    "use": "each tensor in each operation, and the gap until its next use",
}


@flat
def analyze(
    *,
    source: Source,
    search: Search,
    scheduler: Annotated[
        str | None,
        Option("--scheduler", "-s", help=f"As for solve; default: {DEFAULT_SCHEDULER}."),
    ] = None,
    per: Annotated[str | None, Option(help=choices("Also print figures of:", _PER))] = None,
    csv: Annotated[
        Path | None,
        Option(
            "--csv",
            help="File for the rows of --per (default: operation); one of that name is replaced.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Show where a schedule's time, traffic and reuse go; a result file can stand for NETWORK.

    What the columns mean stands below the tables, and in the README.
    """
    from spmopt.analysis import Analysis
    from spmopt.core.errors import unknown
    from spmopt.io.document import write_text
    from spmopt.report.analysis import analysis_parts, analysis_record, csv_text

    if per is not None and per not in _PER:
        raise unknown("choice for --per", per, _PER)
    if csv is not None:
        require_new(csv, source)
    with legal(source, search, scheduler) as (instance, result, code):
        if result.schedule is None:
            return code()
        require_no_ports(instance)
        analysis = Analysis.of(instance, result.schedule)
        if csv is not None:
            write_text(csv, csv_text(analysis, per or "operation"))
        if json:
            from spmopt.cli.terminal.output import print_json

            print_json(analysis_record(analysis, result, per))
        else:
            from spmopt.cli.terminal.output import results
            from spmopt.report.tables import draw_parts

            draw_parts(analysis_parts(analysis, result, per), results())
        return code()
