"""The command that runs schedulers over ranges of machines and batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt import __version__
from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.sweeping.options import Swept
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.experiments.store import Table
    from spmopt.sweep.cases import Case
    from spmopt.sweep.run import Sweep

_SEARCH = "Search"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What is minimized, how far, by how many."""

    objective: Annotated[str, Option(help="time, traffic or energy.", rich_help_panel=_SEARCH)] = (
        "time"
    )
    time_limit: Annotated[
        float, Option(help="Seconds for each scheduler and point.", rich_help_panel=_SEARCH)
    ] = 60.0
    tolerance: Annotated[
        float,
        Option(
            help="How closely the bound is enclosed; gap at which a schedule counts as optimal.",
            rich_help_panel=_SEARCH,
        ),
    ] = 1e-3
    jobs: Annotated[
        int | None, Option(help="Processes; default: all processors.", rich_help_panel=_SEARCH)
    ] = None
    scheduler_address: Annotated[
        str | None,
        Option(
            help="Dask scheduler, as tcp://host:8786, whose workers take the place of processes.",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    wait_for_workers: Annotated[
        int,
        Option(
            help="Workers that the Dask scheduler must have before anything begins.",
            rich_help_panel=_SEARCH,
        ),
    ] = 0
    shard: Annotated[
        str | None,
        Option(
            metavar="I/N",
            help="Only the I-th of N parts of the points, into a file of its own; 'spmopt merge' "
            "joins them.",
            rich_help_panel=_SEARCH,
        ),
    ] = None


@flat
def sweep(
    swept: Swept,
    effort: Effort,
    scheduler: Annotated[
        str,
        Option(
            "--scheduler",
            "--schedulers",
            "-s",
            help="Some, separated by commas (see 'spmopt schedulers'); fluid is the bound.",
        ),
    ] = "belady,page,fluid",
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="CSV file; rows are added as they are finished, after the bounds of their "
            "network, and one of the same sweep is gone on with. Without it: to stdout.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Run schedulers over ranges of scratchpads, machines and batches: one row for each."""
    table, code = measured(swept, effort, scheduler, output)
    if code is Code.OK or json or output is None:
        _print(table, output, json)
    return code


def measured(
    swept: Swept, effort: Effort, scheduler: str, output: Path | None
) -> tuple[Table, Code]:
    """The rows of a sweep, those of the file ``output`` included; what came of it.

    Raises
    ------
    InputError
        An option that cannot be used, or a file of another sweep.
    """
    from spmopt.cli.sweeping.cases import cases as described
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.output import tell
    from spmopt.experiments.store import Table
    from spmopt.sweep.rows import Columns
    from spmopt.sweep.run import Sweep
    from spmopt.sweep.solutions import count_solutions, solutions_path
    from spmopt.sweep.work import Search

    _require(effort)
    cases = tuple(described(swept))
    names = _schedulers(scheduler, effort, cases)
    search = Search(
        objective=effort.objective, tolerance=effort.tolerance, time_limit_s=effort.time_limit
    )
    whole = Sweep(cases=cases, schedulers=names, search=search)
    sweep, cut = whole.shard(effort.shard)
    columns = Columns([key for key, _ in cases[0].extra], on_chip=True)
    table = Table(output, columns, {**_identity(swept, effort, names), **cut}, tell)
    count = len(sweep.keys(table))
    try:
        if not _run(sweep, table, count, effort):
            tell(f"{count - len(table)} of {count} rows are with other processes")
    except (Interrupted, KeyboardInterrupt):
        kept = ""
        if output is not None:
            part = solutions_path(output)
            solved = 0 if part is None else count_solutions(part)
            bounds = f", {solved} solutions for their bounds in {part}" if solved else ""
            kept = f" are in {output}{bounds}: the same command goes on from there"
        tell(f"interrupted: {len(table)} of {count} rows{kept}")
        return table, Code.INTERRUPTED
    return table, Code.OK


def _require(effort: Effort) -> None:
    """Check numbers before anything is read."""
    from spmopt.cli.inputs import require_limits

    require_limits(effort.time_limit, effort.tolerance, jobs=effort.jobs)


def _schedulers(text: str, effort: Effort, cases: Sequence[Case]) -> tuple[str, ...]:
    """Check names, with every machine, before anything is scheduled."""
    from spmopt.core.objective import objective_named
    from spmopt.schedulers.registry import able, find

    objective = objective_named(effort.objective, cases[0].machine)
    entries = [find(name) for name in text.replace(",", " ").split()]
    for banks in dict.fromkeys(bool(case.machine.banks) for case in cases):
        for entry in entries:
            entry.require(objective, able(objective, banks=banks))
            entry.require_banks(banks)
    if not entries:
        raise InputError("--scheduler: name at least one")
    return tuple(dict.fromkeys(entry.name for entry in entries))


def _identity(swept: Swept, effort: Effort, names: Sequence[str]) -> dict[str, object]:
    """All that the rows depend on."""
    given = {key: value for key, value in asdict(swept).items() if value is not None}
    return {
        "spmopt": __version__,
        **given,
        "scheduler": list(names),
        "objective": effort.objective,
        "tolerance": effort.tolerance,
        "time_limit": effort.time_limit,
    }


def _run(sweep: Sweep, table: Table, count: int, effort: Effort) -> bool:
    """Fill the table; give whether all rows are there."""
    from spmopt.cli.terminal.output import messages, tell, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.experiments.executors import processors
    from spmopt.experiments.queue import TaskQueue
    from spmopt.hardware.scratchpad import disagreement, sources_of
    from spmopt.sweep.run import run_sweeps

    mixed = disagreement(source for case in sweep.cases for source in sources_of(case.machine))
    if mixed is not None:
        warn(mixed)
    queue = TaskQueue(
        processors() if effort.jobs is None else effort.jobs,
        effort.scheduler_address,
        wait_for_workers=effort.wait_for_workers,
        report=tell,
    )
    with progress(messages(), remaining=True) as report, queue:
        return run_sweeps([sweep], table, queue, report=report, warn=warn).complete


def _print(table: Table, output: Path | None, as_json: bool) -> None:
    from spmopt.cli.terminal.output import print_json, print_text, say
    from spmopt.report.quantities import percent

    rows = table.rows
    if as_json:
        print_json({"rows": rows})
    elif output is None:
        print_text(table.text())
    else:
        verified = sum(row["verified"] is True for row in rows)
        say(f"{output}: {len(rows)} rows, {verified} of them schedules, all verified")
        gaps = [
            gap for row in rows if row["verified"] is None and isinstance(gap := row["gap"], float)
        ]
        if gaps:
            say(f"the relaxation is enclosed to within {percent(max(gaps)).removeprefix('+')}")


@flat
def merge(
    files: Annotated[list[Path], Argument(help="CSV files of 'spmopt sweep --shard'.")],
    output: Annotated[Path, Option("--output", "-o", help="CSV file of the whole sweep.")],
    json: Json = False,
) -> int:
    """Join the files of shards of a sweep into one, in the order of the sweep."""
    from spmopt.cli.terminal.output import print_json, say, tell
    from spmopt.experiments.store import merge as joined

    count, missing = joined(files, output)
    if json:
        print_json({"file": str(output), "rows": count, "missing": list(missing)})
    else:
        say(f"{output}: {count} rows")
    if missing:
        tell(f"missing: {', '.join(missing)}; the command without --shard goes on from {output}")
    return Code.OK
