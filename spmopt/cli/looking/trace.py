"""The command that writes a schedule as a trace for Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.cli import Code
from spmopt.cli.looking.pictured import Timing, pictured, require_output
from spmopt.cli.options import Json, Output


def trace(
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    output: Output,
    timing: Timing = "steps",
    json: Json = False,
) -> int:
    """Write a schedule as a trace, for https://ui.perfetto.dev or chrome://tracing."""
    from spmopt.cli.terminal.output import messages, print_json, say
    from spmopt.cli.terminal.progress import progress
    from spmopt.io.document import write_text
    from spmopt.report.quantities import si
    from spmopt.report.trace import trace_events, trace_text

    require_output(output, [schedule], timing)
    with progress(messages()) as report:
        (picture,) = pictured([schedule], timing, report)
        report(f"writing {output}", None)
        events = trace_events(picture)
        write_text(output, trace_text(picture, events))
    cycles, clock = picture.times.cycles, picture.instance.machine.clock_hz
    if json:
        print_json(
            {
                "file": str(output),
                "instance": picture.instance.name,
                "timing": timing,
                "cycles": cycles,
                "time_s": cycles / clock,
                "events": len(events),
            }
        )
    else:
        say(f"{output}: {picture.instance.name}, {si(cycles / clock, 's')}, {len(events)} events")
    return Code.OK
