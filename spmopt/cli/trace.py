"""The command that writes a schedule as a trace for Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json, Output, choices
from spmopt.core.errors import InputError

_TIMINGS = {
    "steps": "one step after the other, as the makespan has them (default)",
    "replay": "as the replay ran them, without barriers between steps",
}


def trace(
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    output: Output,
    timing: Annotated[str, Option(help=choices("When things happen:", _TIMINGS))] = "steps",
    json: Json = False,
) -> int:
    """Write a schedule as a trace, for https://ui.perfetto.dev or chrome://tracing."""
    from spmopt.cli.output import messages, print_json, say
    from spmopt.cli.progress import progress
    from spmopt.core.suggest import unknown
    from spmopt.io.document import require_writable, write_text
    from spmopt.io.files import read_result
    from spmopt.report.picture import Picture
    from spmopt.report.quantities import si
    from spmopt.report.trace import trace_events, trace_text

    if timing not in _TIMINGS:
        raise unknown("choice for --timing", timing, _TIMINGS)
    if output.is_file() and schedule.is_file() and output.samefile(schedule):
        raise InputError(f"--output {output}: would replace the schedule; name another file")
    require_writable(output)
    with progress(messages()) as report:
        report(f"reading {schedule}", None)
        stored = read_result(schedule)
        report("verifying", None)
        picture = Picture.of(stored, timing=timing)
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
