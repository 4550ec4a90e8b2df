"""Pictures, pages and files of schedules, sweeps and searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from spmopt.api.ablations import Ablation
from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.searches import HardwareSearch
from spmopt.api.shown import Document, Drawing
from spmopt.api.solutions import Solution
from spmopt.api.sweep_tables import SweepTable
from spmopt.core.errors import ArgumentError, InputError
from spmopt.core.validation import exists, is_file

if TYPE_CHECKING:
    from spmopt.core.problem import Problem
    from spmopt.reporting.schedule_view import ScheduleView

PICTURES = {
    "map": "residency of tensors in the scratchpad",
    "occupancy": "bytes on chip, by kinds of tensors",
    "lanes": "engine, DMA in and out, and stalls by cause",
    "all": "these three on one time axis (default)",
    "roofline": "layers by operations per byte and per second",
    "compare": "what each of two schedules keeps that the other does not (default for two)",
}
TIMINGS = ("step", "async")

Subject: TypeAlias = Solution | Sequence[Solution] | SweepTable | HardwareSearch
"""Subjects of a picture."""
Reported: TypeAlias = Solution | Sequence[Solution] | SweepTable | HardwareSearch | Ablation
"""Subjects of a page."""


@check
def plot(
    subject: Subject,
    *,
    picture: str | None = None,
    timing: str = "step",
    x: str | None = None,
    y: str | None = None,
    callbacks: Callbacks = QUIET,
) -> Drawing:
    """Draw a schedule, two of one problem, a sweep or a search.

    Parameters
    ----------
    subject
        Solution, two solutions of one problem, sweep or search.
    picture
        Picture of schedules: map, occupancy, lanes, all, roofline or compare; default:
        all, for two schedules compare.
    timing
        Time axis: step (one after the other, as in the makespan) or async (no step barriers).
    x
        Horizontal axis of a sweep or search, e.g. scratchpad or time.
    y
        Vertical axis of a sweep or search, e.g. time, gap or area_mm2.
    callbacks
        Receive progress.

    Returns
    -------
    Drawing
        Shows itself in a notebook; ``save`` writes .png, .svg or .pdf.

    Raises
    ------
    InputError
        No such picture or axes, or nothing to draw.
    """
    solutions = _solutions(subject)
    require_options(bool(solutions), picture=picture, x=x, y=y)
    if isinstance(subject, SweepTable | HardwareSearch):
        return subject.draw(x, y)
    from spmopt.core.errors import unknown
    from spmopt.reporting.schedule_view.view import headings

    name = picture or ("all" if len(solutions) == 1 else "compare")
    if name not in PICTURES:
        raise unknown("picture", name, PICTURES)
    pictures = lay_out(solutions, timing, callbacks)
    made = "; ".join(headings(pictures))

    def write(path: Path) -> None:
        # Only a picture needs matplotlib.
        from spmopt.reporting.plots.schedule import save_picture

        save_picture(name, pictures, path)

    title = f"{name} of {pictures[0].problem.name}, {made}"
    return Drawing(title, {"picture": name, "timing": timing}, write)


@check
def report(subject: Reported, *, timing: str = "step", callbacks: Callbacks = QUIET) -> Document:
    """Make a page (HTML) of a schedule, of two of one problem, of a sweep, search or story.

    Parameters
    ----------
    subject
        Solution, two solutions of one problem and fusion plan, sweep, search, or result of
        :func:`ablation`.
    timing
        Time axis: step (one after the other, as in the makespan) or async (no step barriers).
    callbacks
        Receive progress.

    Returns
    -------
    Document
        One file for any browser, which loads nothing: scratchpad and lanes over time, tables,
        roofline; curves with bounds as stripes; the front of a search; the worth of each decision.

    Raises
    ------
    InputError
        Nothing can be shown.
    """
    from spmopt.reporting.quantities import si

    if isinstance(subject, SweepTable | HardwareSearch | Ablation):
        about, text, record = subject.page(callbacks)
    else:
        solutions = _solutions(subject)
        from spmopt.reporting.page import page_of
        from spmopt.reporting.schedule_view.view import headings

        pictures = lay_out(solutions, timing, callbacks)
        callbacks.progress("making the page", None)
        text = page_of(pictures)
        about = f"{pictures[0].problem.name}, {'; '.join(headings(pictures))}"
        record = {"timing": timing}
    size = len(text.encode())
    title = f"{about}; {si(size, 'B')}"
    return Document(title, {**record, "bytes": size}, text, require_page)


def require_page(path: Path) -> None:
    """Raise :class:`InputError` for a name that is not one of a page; a pipe has any."""
    pictures = "or draw a picture (.png, .svg, .pdf) by 'spmopt plot'"
    advice = f"a page is HTML; let the name end in .html, {pictures}"
    _require_suffix(path, (".html", ".htm"), advice)


def require_trace(path: Path) -> None:
    """Raise :class:`InputError` for a name that is not one of a trace; a pipe has any."""
    _require_suffix(path, (".json", ".gz"), "a trace is JSON; let the name end in .json or .gz")


def _require_suffix(path: Path, known: Sequence[str], advice: str) -> None:
    # A pipe or device has no suffix to check.
    is_written = is_file(path) or not exists(path)
    if is_written and path.suffix.lower() not in known:
        raise InputError(f"{path}: {advice}")


@check
def trace(
    solution: Solution | Sequence[Solution],
    *,
    timing: str = "step",
    callbacks: Callbacks = QUIET,
) -> Document:
    """Make a trace of a schedule, or of two beside each other, for https://ui.perfetto.dev.

    Parameters
    ----------
    solution
        Result of :func:`solve` or :func:`read`, or two of these.
    timing
        Time axis: step (one after the other, as in the makespan) or async (no step barriers).
    callbacks
        Receive progress.

    Returns
    -------
    Document
        JSON in the Trace Event Format, which chrome://tracing reads too: engine and DMA lanes,
        tensors on chip, addresses, counters. A file whose name ends in .gz is compressed.

    Raises
    ------
    InputError
        There is no schedule, or there are more than two.
    """
    from spmopt.reporting.quantities import si
    from spmopt.reporting.schedule_view.view import headings
    from spmopt.reporting.trace import trace_events, trace_text

    solutions = [solution] if isinstance(solution, Solution) else list(solution)
    if len(solutions) not in (1, 2):
        raise InputError(f"solution: has {len(solutions)} solutions; give one or two")
    pictures = lay_out(solutions, timing, callbacks)
    callbacks.progress("making the trace", None)
    events = trace_events(pictures)
    times = [each.times.cycles / each.problem.machine.clock_hz for each in pictures]
    known = [
        {"problem": each.problem.name, "cycles": each.times.cycles, "time_s": time}
        for each, time in zip(pictures, times, strict=True)
    ]
    heads = headings(pictures) if len(pictures) > 1 else [pictures[0].problem.name]
    pairs = zip(heads, times, strict=True)
    title = "; ".join(f"{head}, {si(time, 's')}" for head, time in pairs)
    record: dict[str, object] = {**known[0], "timing": timing, "events": len(events)}
    record |= {"second": known[1]} if len(known) > 1 else {}
    text = trace_text(pictures, events)
    return Document(f"{title}, {len(events)} events", record, text, require_trace)


@check
def export(
    problem: Problem,
    *,
    objective: str = "time",
    format: str = "mps",
    callbacks: Callbacks = QUIET,
) -> Document:
    """Export the integer program of the scheduler whole, for any solver.

    Columns and rows bear the names of tensors and steps, counted from 0.

    Parameters
    ----------
    problem
        Result of :func:`lower`.
    objective
        Objective to minimize: time, traffic or energy.
    format
        File format: mps or lp.
    callbacks
        Receive progress.

    Returns
    -------
    Document
        The program.

    Raises
    ------
    InputError
        An unknown format, or an objective or machine that the scheduler does not support.
    """
    from importlib import import_module

    from spmopt.core.objective import objective_named, option_name
    from spmopt.schedulers.registry import find

    if format not in ("mps", "lp"):
        raise InputError(f"format {format}: no such format; give mps or lp")
    aim = objective_named(objective, problem.machine)
    find("residency:granularity=tensor").require(aim)
    if aim.replayed:
        raise InputError(
            f"export: no objective {option_name(aim.name)}, for the program has barriers between "
            "steps; use time"
        )
    find("residency:granularity=tensor").require_features(problem.machine.features)
    if problem.bypassing:
        raise InputError(
            "export: tensors bypass the scratchpad, which the program does not say; lower the "
            "network for a machine without bypass"
        )
    callbacks.progress("building the program", None)
    # By name: it loads PuLP.
    program = import_module("formulations.pulp_backend.schedule").export(problem, aim, format)
    spoken = option_name(aim.name)
    size = f"{program.columns} columns, {program.rows} rows"
    record = {
        "format": format,
        "problem": problem.name,
        "objective": spoken,
        "columns": program.columns,
        "rows": program.rows,
        "unit": program.unit,
    }
    title = f"{problem.name}, {size}, {spoken} in {program.unit}"
    return Document(title, record, program.text)


def lay_out(
    solutions: Sequence[Solution], timing: str, callbacks: Callbacks = QUIET
) -> list[ScheduleView]:
    """Verify schedules and lay them out.

    Raises
    ------
    InputError
        No such timing, or no schedule.
    """
    from spmopt.core.errors import unknown

    if timing not in TIMINGS:
        raise unknown("choice for timing", timing, TIMINGS)
    found = []
    for solution, source in zip(solutions, _sources(solutions), strict=True):
        callbacks.progress(f"verifying {source or solution.problem.name}", None)
        # picture() verifies: no unverified schedule is drawn.
        found.append(solution.picture(timing=timing, source=source))
    return found


def _sources(solutions: Sequence[Solution]) -> list[str]:
    """Return names of files, in full where they are alike."""
    paths = [each.path for each in solutions]
    stems = [path.stem if path else "" for path in paths]
    # Short names where they tell files apart, else full paths.
    if len({*stems}) == len(stems):
        return stems
    return [str(path) if path else "" for path in paths]


def _solutions(subject: Subject) -> list[Solution]:
    if isinstance(subject, Solution):
        return [subject]
    if isinstance(subject, SweepTable | HardwareSearch):
        return []
    found = list(subject)
    if len(found) not in (1, 2):
        raise InputError(f"subject: has {len(found)} solutions; give one, or two of one problem")
    return found


def require_options(
    of_schedules: bool,
    *,
    picture: str | None = None,
    x: str | None = None,
    y: str | None = None,
) -> None:
    """Raise :class:`InputError` for an option that is of something else."""
    for option, is_odd in (
        ("picture", picture is not None and not of_schedules),
        ("x", x is not None and of_schedules),
        ("y", y is not None and of_schedules),
    ):
        if is_odd:
            other = "a sweep or a search" if of_schedules else "schedules"
            raise ArgumentError(option, f": is for {other}; leave it out")
