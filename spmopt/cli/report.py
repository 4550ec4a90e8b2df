"""The command that makes a page of schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.cli import Code
from spmopt.cli.options import Json, Output
from spmopt.cli.pictured import Timing, pictured, require_output


def report(
    *,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    other: Annotated[
        Path | None,
        Argument(metavar="SCHEDULE2", help="Another of the same instance, to compare with."),
    ] = None,
    output: Output,
    timing: Timing = "steps",
    json: Json = False,
) -> int:
    """Make a page (HTML) of a schedule, or of two of one instance, for any browser.

    It is one file that loads nothing: scratchpad and lanes over time, tables, roofline.
    """
    from spmopt.cli.output import messages, print_json, say
    from spmopt.cli.progress import progress
    from spmopt.io.document import write_text
    from spmopt.report.page import page_of
    from spmopt.report.quantities import si

    schedules = [schedule] if other is None else [schedule, other]
    require_output(output, schedules, timing)
    with progress(messages()) as tell:
        pictures = pictured(schedules, timing, tell)
        tell(f"writing {output}", None)
        text = page_of(pictures)
        write_text(output, text)
    size = len(text.encode())
    if json:
        names = [str(each) for each in schedules]
        print_json({"file": str(output), "timing": timing, "schedules": names, "bytes": size})
    else:
        made = " and ".join(each.result.scheduler for each in pictures)
        say(f"{output}: {pictures[0].instance.name}, {made}; {si(size, 'B')}")
    return Code.OK
