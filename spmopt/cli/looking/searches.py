"""A search that is looked at: its front, on a page or in a picture."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from spmopt.cli import Code
from spmopt.cli.looking.subject import Subject

if TYPE_CHECKING:  # it would load Optuna, and help should not
    from spmopt.io.files import StoredResult
    from spmopt.report.fronts import Front
    from spmopt.report.page.front import Shown
    from spmopt.search.findings.found import Found
    from spmopt.search.space.setup import Setup

Kept = Mapping[tuple[int, str], "StoredResult"]
"""Results that are on disk, by trial and network."""


def report_search(subject: Subject, output: Path, *, as_json: bool) -> int:
    """Write the page of a search, and say so."""
    from spmopt.cli.terminal.output import messages, print_json, say
    from spmopt.cli.terminal.progress import progress
    from spmopt.io.document import write_text
    from spmopt.report.page.front import front_page
    from spmopt.report.quantities import si
    from spmopt.search.findings.kept import kept_results
    from spmopt.search.study.studies import schedules_of

    with progress(messages()) as tell:
        tell("reading the study", None)
        study, setup, found = _found(subject)
        tell("verifying the schedules of the front", None)
        kept = kept_results(setup, found.trials, schedules_of(study))
        front = _front(study, setup, found, kept)
        tell(f"writing {output}", None)
        text = front_page(front, _shown(subject, study, setup, found, kept))
        write_text(output, text)
    size = len(text.encode())
    if as_json:
        schedules = sum(each.result.schedule is not None for each in kept.values())
        print_json({**_said(front, output), "schedules": schedules, "bytes": size})
    else:
        say(f"{output}: study {front.name}, {len(front.members)} trials; {si(size, 'B')}")
    return Code.OK


def plot_search(
    subject: Subject, output: Path, x: str | None, y: str | None, *, as_json: bool
) -> int:
    """Draw the front of a search, and say so."""
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.report.plots.fronts import save_front

    study, setup, found = _found(subject)
    front = _front(study, setup, found, {})
    across, up = front.pair(x, y)
    save_front(front, output, x, y)
    if as_json:
        print_json({**_said(front, output), "x": across.key, "y": up.key})
    else:
        say(f"{output}: study {front.name}, {up.label} over {across.label}")
    return Code.OK


def _said(front: Front, output: Path) -> dict[str, object]:
    return {"file": str(output), "study": front.name, "front": list(front.members)}


def _found(subject: Subject) -> tuple[Any, Setup, Found]:
    """Read a study; raises :class:`InputError` where it has nothing to show."""
    from spmopt.search.findings.found import found_of
    from spmopt.search.findings.shown import require_feasible
    from spmopt.search.study.storage import open_known
    from spmopt.search.study.studies import known

    study, setup = known(open_known(subject.where), subject.study)
    require_feasible(study, setup)
    return study, setup, found_of(study, setup, subject.top)


def _front(study: Any, setup: Setup, found: Found, kept: Kept) -> Front:
    """Lay it out, with what more is worth on the machines whose results are kept."""
    from spmopt.search.findings.front import front_of
    from spmopt.search.findings.replay import candidate_of
    from spmopt.search.findings.worth import prices_of

    worth = tuple(
        (trial.number, network.label, prices)
        for trial in found.trials
        for network in setup.networks
        if (stored := kept.get((trial.number, network.label))) is not None
        and (prices := prices_of(stored, candidate_of(setup, trial), network)) is not None
    )
    return front_of(study, setup, replace(found, worth=worth))


def _shown(subject: Subject, study: Any, setup: Setup, found: Found, kept: Kept) -> Iterator[Shown]:
    """Schedules of the members, the best first; and what shows those that have no room."""
    from spmopt.report.page.front import Shown

    if setup.bound_only:
        return
    for trial in found.trials:
        for network in setup.networks:
            stored = kept.get((trial.number, network.label))
            several = ("--network", network.label) if len(setup.networks) > 1 else ()
            name = f"trial-{trial.number}"
            options = ("--storage", subject.where, "--study", study.study_name)
            written = ("tune", "show", *options, "--trial", str(trial.number), *several)
            yield Shown(
                trial=trial.number,
                network=network.label,
                commands=(
                    shlex.join(("spmopt", *written, "-o", f"{name}.json")),
                    shlex.join(("spmopt", "report", f"{name}.json", "-o", f"{name}.html")),
                ),
                record=partial(_record, stored) if _has_schedule(stored) else None,
            )


def _has_schedule(stored: StoredResult | None) -> TypeGuard[StoredResult]:
    return stored is not None and stored.result.schedule is not None


def _record(stored: StoredResult) -> Mapping[str, object]:
    from spmopt.report.schedule_view import ScheduleView, schedule_record

    return schedule_record(ScheduleView.of(stored))
