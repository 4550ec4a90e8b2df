"""The command that computes gradients in tiles."""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from spmopt import __version__
from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.tiling.options import Effort, Hardware, Layers, Tiled
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from collections.abc import Sequence

    from spmopt.cli.tiling.cases import Asked
    from spmopt.experiments.store import Table
    from spmopt.tiles.records import Record


@flat
def tiles(
    *,
    layers: Layers,
    tiled: Tiled,
    hardware: Hardware,
    effort: Effort,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="CSV file; rows are added as they are finished, and one of the same command is "
            "gone on with.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare orders of a layer's gradients in tiles, and replacements under them."""
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.output import messages, tell, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.cli.tiling.cases import asked
    from spmopt.experiments.store import Table
    from spmopt.tiles.records import COLUMNS

    if output is not None:
        _require_new(output, layers, hardware)
    with progress(messages()) as report:
        wanted = asked(layers, tiled, hardware, effort, report=report, warn=warn)
    table = Table(output, COLUMNS, _identity(wanted, layers, tiled, hardware, effort))
    found = _known(wanted, table, output)
    code = Code.OK
    try:
        _run(wanted, effort, found, table)
    except (Interrupted, KeyboardInterrupt):
        code = Code.INTERRUPTED
        kept = output is not None and found
        left = f" are in {output}: the same command goes on from there" if kept else ""
        tell(f"interrupted: {len(found)} of {len(wanted.cases)} rows{left}")
    finally:
        table.close(_keys(wanted))
        if output is not None and not len(table):
            output.unlink(missing_ok=True)
    rows = [found[number] for number in sorted(found)]
    if json:
        _print_records(wanted, rows)
    elif rows:
        _draw(wanted, rows)
    return code


def _require_new(output: Path, layers: Layers, hardware: Hardware) -> None:
    """Fail before the work unless rows can be written there."""
    from spmopt.io.document import require_writable

    for name in (layers.source, hardware.machine, hardware.cfg):
        if name and output.is_file() and Path(name).is_file() and output.samefile(name):
            raise InputError(f"-o {output}: would replace the file that is read; name another")
    require_writable(output)


def _identity(
    wanted: Asked, layers: Layers, tiled: Tiled, hardware: Hardware, effort: Effort
) -> dict[str, object]:
    """All that the rows depend on: the options, and what was read for them."""
    given: dict[str, Any] = {}
    for group in (layers, tiled, hardware, hardware.changes, effort):
        given |= {field.name: getattr(group, field.name) for field in fields(group)}
    del given["changes"], given["jobs"]
    return {
        "spmopt": __version__,
        **{name: str(value) for name, value in given.items() if value is not None},
        "cases": sha256(repr(wanted.cases).encode()).hexdigest()[:16],
    }


def _keys(wanted: Asked) -> list[tuple[str, ...]]:
    """What tells the rows of the cases apart."""
    from spmopt.tiles.records import COLUMNS, about

    pairs = zip(wanted.cases, wanted.known, strict=True)
    return [COLUMNS.key_about(about(case, known.count)) for case, known in pairs]


def _known(wanted: Asked, table: Table, output: Path | None) -> dict[int, Record]:
    """Rows that are there already, by the number of their case."""
    from spmopt.tiles.records import spent_of

    found = {}
    for number, key in enumerate(_keys(wanted)):
        row = table.get(key)
        if row is not None:
            try:
                spent_of(row)
                found[number] = row
            except InputError as error:
                raise InputError(
                    f"{output}: row of {key[0]}: {error}; remove the line, and it is computed anew"
                ) from None
    return found


def _run(wanted: Asked, effort: Effort, found: dict[int, Record], table: Table) -> None:
    """Add the rows that are not yet in ``found``, by the number of their case, to it and a file."""
    from spmopt.cli.terminal.output import messages
    from spmopt.cli.terminal.progress import progress
    from spmopt.cli.tiling.cases import located
    from spmopt.experiments.executors import processors
    from spmopt.experiments.queue import TaskQueue
    from spmopt.tiles.batch import run_all
    from spmopt.tiles.records import record

    total = len(wanted.cases)
    missing = [number for number in range(total) if number not in found]
    jobs = max(1, min(len(missing), processors() if effort.jobs is None else effort.jobs))
    with progress(messages(), remaining=True) as report, TaskQueue(jobs) as queue:

        def tell(message: str) -> None:
            report(f"{len(found)} of {total} rows; {message}", len(found) / total)

        try:
            for some in run_all([wanted.cases[number] for number in missing], queue, tell):
                new = {
                    missing[place]: record(row, wanted.known[missing[place]].count)
                    for place, row in some
                }
                found |= new
                table.add(new.values())
        except InputError as error:
            raise located(error, wanted.layers) from None


def _draw(wanted: Asked, rows: Sequence[Record]) -> None:
    from spmopt.cli.terminal.output import results, say
    from spmopt.cli.tiling.machine import as_computing
    from spmopt.cli.tiling.view import DISPENSABLE, LEFT, remarks, sums, table
    from spmopt.report.headings import describe
    from spmopt.report.tables import draw_rows

    case = wanted.cases[0]
    count = sum(known.count for known in wanted.layers)
    layers = "1 layer" if count == 1 else f"{count} layers, {len(wanted.layers)} sizes"
    cores = f", {case.cores} cores in lock-step" if case.cores > 1 else ""
    machine = describe(as_computing(wanted.machine, case.cores))
    say(
        f"{wanted.title} ({layers}) on {machine}{cores}; gradients in tiles, "
        f"elements of {case.element_bytes} bytes; objective {case.objective}"
    )
    say("")
    complete = len(rows) == len(wanted.cases)
    drawn = table(rows, sums(rows) if complete and len(wanted.layers) > 1 else ())
    draw_rows(
        drawn.columns,
        drawn.rows,
        results(),
        left=LEFT,
        dispensable=DISPENSABLE,
        words=("layer", "order"),
    )
    say("")
    for line in remarks(drawn, rows):
        say(line)
    without = [known.layer.name for known in wanted.layers if not known.input_gradient]
    if without:
        say(f"No dX, which nothing needs: {', '.join(without)}.")
    for note in wanted.notes:
        say(f"{note[0].upper()}{note[1:]}.")


def _print_records(wanted: Asked, rows: Sequence[Record]) -> None:
    from spmopt.cli.terminal.output import print_json
    from spmopt.cli.tiling.view import sums
    from spmopt.io.codec import encode
    from spmopt.tiles.records import figures

    complete = len(rows) == len(wanted.cases)
    print_json(
        {
            "title": wanted.title,
            "machine": encode(wanted.machine),
            "notes": list(wanted.notes),
            "rows": [dict(each) for each in rows],
            "totals": [
                {
                    "order": each.way[0],
                    "partition": each.way[1],
                    "replacement": each.way[2],
                    **figures(each.spent),
                    "time_s": each.time_s,
                }
                for each in (sums(rows) if complete else ())
            ],
        }
    )
