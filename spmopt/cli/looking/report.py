"""The command that makes a page of schedules, of a sweep or of a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.looking.pictured import pictured, require_output, require_page
from spmopt.cli.looking.subject import Subject
from spmopt.cli.options import Json, Output


@flat
def report(subject: Subject, output: Output, json: Json = False) -> int:
    """Make a page (HTML) of a schedule, of two of one instance, of a sweep or of a search.

    It is one file for any browser that loads nothing: scratchpad and lanes over time, tables,
    roofline; curves with bounds as bands; the front of a search with its schedules.
    """
    from spmopt.cli.looking.searches import report_search
    from spmopt.cli.looking.sweeps import report_sweep

    subject.require_sense()
    require_output(output, subject.files, subject.timing)
    require_page(output)
    if subject.is_search:
        return report_search(subject, output, as_json=json)
    if subject.is_sweep:
        return report_sweep(subject.files[0], output, as_json=json)
    return _report_schedules(subject.files, subject.timing, output, as_json=json)


def _report_schedules(
    schedules: Sequence[Path], timing: str, output: Path, *, as_json: bool
) -> int:
    from spmopt.cli.terminal.output import messages, print_json, say
    from spmopt.cli.terminal.progress import progress
    from spmopt.io.document import write_text
    from spmopt.report.page import page_of
    from spmopt.report.quantities import si
    from spmopt.report.schedule_view.view import headings

    with progress(messages()) as tell:
        pictures = pictured(schedules, timing, tell)
        tell(f"writing {output}", None)
        text = page_of(pictures)
        write_text(output, text)
    size = len(text.encode())
    if as_json:
        names = [str(each) for each in schedules]
        print_json({"file": str(output), "timing": timing, "schedules": names, "bytes": size})
    else:
        made = "; ".join(headings(pictures))
        say(f"{output}: {pictures[0].instance.name}, {made}; {si(size, 'B')}")
    return Code.OK
