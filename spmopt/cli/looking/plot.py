"""The command that draws schedules, a sweep or a search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.looking.pictured import pictured, require_output
from spmopt.cli.looking.subject import Subject
from spmopt.cli.options import Json, Output, choices
from spmopt.core.errors import InputError

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


@flat
def plot(
    *,
    subject: Subject,
    output: Output,
    picture: Annotated[
        str | None, Option(help=choices("What to draw of schedules:", PICTURES))
    ] = None,
    x: Annotated[
        str | None, Option(help="What a sweep or a search is drawn over, as scratchpad or time.")
    ] = None,
    y: Annotated[
        str | None, Option(help="What is drawn of a sweep or a search, as time, gap or area_mm2.")
    ] = None,
    json: Json = False,
) -> int:
    """Draw a schedule, two of one instance, a sweep or a search, as .png, .svg or .pdf."""
    from spmopt.cli.looking.searches import plot_search
    from spmopt.cli.looking.sweeps import plot_sweep
    from spmopt.report.plots.style import require_format

    subject.require_sense()
    of_schedules = not (subject.is_search or subject.is_sweep)
    for option, is_odd in (
        ("--picture", picture is not None and not of_schedules),
        ("--x", x is not None and of_schedules),
        ("--y", y is not None and of_schedules),
    ):
        if is_odd:
            other = "a sweep or a search" if of_schedules else "schedules"
            raise InputError(f"{option}: is for {other}; leave it out")
    require_format(output)
    require_output(output, subject.files, subject.timing)
    if subject.is_search:
        return plot_search(subject, output, x, y, as_json=json)
    if subject.is_sweep:
        return plot_sweep(subject.files[0], output, x, y, as_json=json)
    return _plot_schedules(subject, picture, output, as_json=json)


def _plot_schedules(subject: Subject, picture: str | None, output: Path, *, as_json: bool) -> int:
    from spmopt.cli.terminal.output import messages, print_json, say
    from spmopt.cli.terminal.progress import progress
    from spmopt.core.errors import unknown
    from spmopt.report.plots.schedule import save_picture
    from spmopt.report.schedule_view.view import headings

    name = picture or ("all" if subject.other is None else "compare")
    if name not in PICTURES:
        raise unknown("choice for --picture", name, PICTURES)
    with progress(messages()) as report:
        pictures = pictured(subject.files, subject.timing, report)
        report(f"drawing {output}", None)
        save_picture(name, pictures, output)
    if as_json:
        names = [str(each) for each in subject.files]
        known = {"picture": name, "timing": subject.timing, "schedules": names}
        print_json({"file": str(output), **known})
    else:
        made = "; ".join(headings(pictures))
        say(f"{output}: {name} of {pictures[0].instance.name}, {made}")
    return Code.OK
