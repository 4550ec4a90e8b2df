"""The command that runs schedulers over ranges of machines and batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt import __version__
from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.sweeping.options import Swept
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.sweep.cases import Case
    from spmopt.sweep.rows import Columns
    from spmopt.sweep.store import Store
    from spmopt.sweep.table import Table

_SEARCH = "Search"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What is minimised, how far, by how many."""

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
    from spmopt.sweep.rows import Columns
    from spmopt.sweep.store import Store
    from spmopt.sweep.table import Table

    _require(effort)
    cases = described(swept)
    names = _schedulers(scheduler, effort, cases)
    columns = Columns([key for key, _ in cases[0].extra], on_chip=True)
    keys = {
        columns.key_of(case, size, name): None
        for case in cases
        for size in case.capacities
        for name in names
    }
    table = Table(output, columns, _identity(swept, effort, names))
    code = Code.OK
    part = None if output is None else output.with_name(f".{output.name}.part")
    store = Store(part, table.head, effort.objective)
    try:
        _run(cases, names, effort, (table, store, columns))
        store.remove()
    except (Interrupted, KeyboardInterrupt):
        code = Code.INTERRUPTED
        tell(f"interrupted: {len(table)} of {len(keys)} rows{_kept(output, part, store)}")
    finally:
        table.close(list(keys) if len(table) == len(keys) else None)
    return table, code


def _kept(output: Path | None, part: Path | None, store: Store) -> str:
    """What an interrupted sweep leaves on disk."""
    if output is None:
        return ""
    bounds = f", {len(store)} solutions for their bounds in {part}" if len(store) else ""
    return f" are in {output}{bounds}: the same command goes on from there"


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


def _run(
    cases: Sequence[Case],
    names: tuple[str, ...],
    effort: Effort,
    tables: tuple[Table, Store, Columns],
) -> None:
    from spmopt.cli.terminal.output import messages, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.hardware.scratchpad import disagreement, sources_of
    from spmopt.sweep.pool import Pool, processors
    from spmopt.sweep.rows import row_of
    from spmopt.sweep.run import sweep as run
    from spmopt.sweep.work import Search

    table, store, columns = tables
    mixed = disagreement(source for case in cases for source in sources_of(case.machine))
    if mixed is not None:
        warn(mixed)
    search = Search(
        objective=effort.objective, tolerance=effort.tolerance, time_limit_s=effort.time_limit
    )

    def done(case: Case, spm_bytes: int, name: str) -> bool:
        return columns.key_of(case, spm_bytes, name) in table

    total = sum(len(case.capacities) for case in cases) * len(names)
    jobs = processors() if effort.jobs is None else effort.jobs
    with (
        progress(messages(), remaining=True) as report,
        Pool(jobs, effort.scheduler_address) as pool,
    ):

        def tell(message: str) -> None:
            report(f"{len(table)} of {total} rows; {message}", len(table) / total)

        found = run(cases, names, search, pool=pool, store=store, done=done, tell=tell, warn=warn)
        for some in found:
            table.add(
                row_of(each.case, each.spm_bytes, each.finding, effort.objective) for each in some
            )


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
