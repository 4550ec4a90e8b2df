"""The command that draws schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json, Output, choices
from spmopt.cli.pictured import Timing, pictured, require_output

PICTURES = {
    "map": "who lies where in the scratchpad",
    "occupancy": "bytes on chip, by kinds of tensors",
    "lanes": "engine, DMA in and out, and stalls by cause",
    "price": "what a little more scratchpad is worth",
    "all": "these four on one time axis (default)",
    "roofline": "layers by operations per byte and per second",
    "compare": "what each of two schedules keeps that the other does not, and where time is "
    "gained (default for two)",
}


def plot(
    *,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    other: Annotated[
        Path | None,
        Argument(metavar="SCHEDULE2", help="Another of the same instance, to compare with."),
    ] = None,
    output: Output,
    picture: Annotated[str | None, Option(help=choices("What to draw:", PICTURES))] = None,
    timing: Timing = "steps",
    json: Json = False,
) -> int:
    """Draw a schedule, or two of one instance, as .png, .svg or .pdf."""
    from spmopt.cli.output import messages, print_json, say
    from spmopt.cli.progress import progress
    from spmopt.core.suggest import unknown
    from spmopt.report.plots.schedule import save_picture
    from spmopt.report.plots.style import require_format

    schedules = [schedule] if other is None else [schedule, other]
    name = picture or ("all" if other is None else "compare")
    if name not in PICTURES:
        raise unknown("choice for --picture", name, PICTURES)
    require_format(output)
    require_output(output, schedules, timing)
    with progress(messages()) as report:
        pictures = pictured(schedules, timing, report)
        report(f"drawing {output}", None)
        save_picture(name, pictures, output)
    if json:
        names = [str(each) for each in schedules]
        print_json({"file": str(output), "picture": name, "timing": timing, "schedules": names})
    else:
        made = " and ".join(each.result.scheduler for each in pictures)
        say(f"{output}: {name} of {pictures[0].instance.name}, {made}")
    return Code.OK
