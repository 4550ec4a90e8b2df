"""The command that computes gradients in tiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json
from spmopt.cli.tiled import Effort, Hardware, Layers, Tiled
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from collections.abc import Sequence

    from spmopt.cli.tiled_cases import Asked
    from spmopt.gradients.records import Counted, RowsFile


@flat
def tiles(
    *,
    layers: Layers,
    tiled: Tiled,
    hardware: Hardware,
    effort: Effort,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="CSV file of the rows; one of that name is replaced."),
    ] = None,
    json: Json = False,
) -> int:
    """Compare orders of a layer's gradients in tiles, and replacements under them."""
    from spmopt.cli.interrupt import Interrupted
    from spmopt.cli.output import messages, tell, warn
    from spmopt.cli.progress import progress
    from spmopt.cli.tiled_cases import asked
    from spmopt.gradients.records import RowsFile

    file = None if output is None else RowsFile(_new(output, layers, hardware))
    with progress(messages()) as report:
        wanted = asked(layers, tiled, hardware, effort, report=report, warn=warn)
    found: dict[int, Counted] = {}
    code = Code.OK
    try:
        _run(wanted, effort, found, file)
    except (Interrupted, KeyboardInterrupt):
        code = Code.INTERRUPTED
        kept = f" are in {output}" if output is not None and found else ""
        tell(f"interrupted: {len(found)} of {len(wanted.cases)} rows{kept}")
    rows = [found[number] for number in sorted(found)]
    if file is not None:
        file.close(rows)
    if json:
        _print_records(wanted, rows)
    elif rows:
        _draw(wanted, rows)
    return code


def _new(output: Path, layers: Layers, hardware: Hardware) -> Path:
    """Fail before the work unless rows can be written there."""
    from spmopt.io.document import require_writable

    for name in (layers.source, hardware.machine, hardware.cfg):
        if name and output.is_file() and Path(name).is_file() and output.samefile(name):
            raise InputError(f"-o {output}: would replace the file that is read; name another")
    require_writable(output)
    return output


def _run(wanted: Asked, effort: Effort, found: dict[int, Counted], file: RowsFile | None) -> None:
    """Fill ``found`` with rows by the number of their case."""
    from spmopt.cli.output import messages
    from spmopt.cli.progress import progress
    from spmopt.gradients.batch import run_all
    from spmopt.gradients.records import Counted
    from spmopt.sweep.pool import Pool, processors

    total = len(wanted.cases)
    jobs = min(total, processors() if effort.jobs is None else effort.jobs)
    with progress(messages(), remaining=True) as report, Pool(jobs) as pool:

        def tell(message: str) -> None:
            report(f"{len(found)} of {total} rows; {message}", len(found) / total)

        try:
            for some in run_all(wanted.cases, pool, tell):
                new = {n: Counted(row=row, count=wanted.known[n].count) for n, row in some}
                found |= new
                if file is not None:
                    file.add(new.values())
        except InputError as error:
            raise InputError(_where(str(error), wanted)) from None


def _where(message: str, wanted: Asked) -> str:
    """Say where the layer is from that an error is about."""
    for known in wanted.layers:
        if message.startswith(f"layer {known.layer.name}:"):
            return f"{known.where}: {message}"
    return message


def _draw(wanted: Asked, rows: Sequence[Counted]) -> None:
    from spmopt.cli.output import results, say
    from spmopt.gradients.view import DISPENSABLE, LEFT, remarks, sums, table
    from spmopt.report.table import draw_rows
    from spmopt.report.view import describe

    case = wanted.cases[0]
    count = sum(known.count for known in wanted.layers)
    layers = "1 layer" if count == 1 else f"{count} layers, {len(wanted.layers)} sizes"
    cores = f", {case.cores} cores in lock-step" if case.cores > 1 else ""
    say(
        f"{wanted.title} ({layers}) on {describe(wanted.machine)}{cores}; gradients in tiles, "
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


def _print_records(wanted: Asked, rows: Sequence[Counted]) -> None:
    from spmopt.cli.output import print_json
    from spmopt.gradients.records import figures, record
    from spmopt.gradients.view import sums
    from spmopt.io.instance import encode_machine

    complete = len(rows) == len(wanted.cases)
    print_json(
        {
            "title": wanted.title,
            "machine": encode_machine(wanted.machine),
            "rows": [dict(record(each)) for each in rows],
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
