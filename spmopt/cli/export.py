"""The command that writes an integer program for other solvers."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json, Output, Source
from spmopt.core.errors import InputError

_TARGET = "formulations.pulp_model.schedule"  # by name: it loads PuLP


@flat
def export(
    source: Source,
    output: Output,
    format: Annotated[str | None, Option(help="mps or lp; default: as the file is called.")] = None,
    objective: Annotated[str, Option(help="time, traffic or energy.")] = "time",
    json: Json = False,
) -> int:
    """Write the program of the scheduler whole as MPS or LP, for any solver.

    Columns and rows bear the names of tensors and steps, counted from 0.
    """
    suffix = (format or output.suffix.removeprefix(".")).lower()
    if suffix not in ("mps", "lp"):
        what = f"--format {format}" if format else f"{output}"
        raise InputError(f"{what}: no such format; give --format mps or --format lp")
    from importlib import import_module

    from spmopt.cli.inputs import load_instance
    from spmopt.cli.terminal.output import messages, print_json, say, warn
    from spmopt.cli.terminal.progress import progress
    from spmopt.core.objective import objective_named, option_name
    from spmopt.io.document import require_writable, write_text
    from spmopt.schedulers.registry import find

    require_writable(output)
    with progress(messages()) as report:
        instance = load_instance(source, report, warn)
        aim = objective_named(objective, instance.machine)
        find("whole").require(aim)
        find("whole").require_banks(bool(instance.machine.banks))
        report("building the program", None)
        program = import_module(_TARGET).exported(instance, aim, suffix)
        write_text(output, program.text)
    if json:
        print_json(
            {
                "file": str(output),
                "format": suffix,
                "instance": instance.name,
                "objective": option_name(aim.name),
                "columns": program.columns,
                "rows": program.rows,
                "unit": program.unit,
            }
        )
    else:
        size = f"{program.columns} columns, {program.rows} rows"
        say(f"{output}: {instance.name}, {size}, {option_name(aim.name)} in {program.unit}")
    return Code.OK
