"""Result of a hardware search: its front, its trials and their schedules."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Drawing, Shown
from spmopt.api.solutions import Solution
from spmopt.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from optuna.study import Study

    from spmopt.reporting.search.front import Front
    from spmopt.reporting.tables import Part
    from spmopt.search.records import Findings, TrialRecord
    from spmopt.search.setup import Setup
    from spmopt.search.study import Schedules

STORAGE = "tune.db"
"""Where studies are kept by default."""


@dataclass(frozen=True, eq=False, repr=False)
class HardwareSearch(Shown):
    """A study of machines: its front, and the schedules of its trials.

    Attributes
    ----------
    study
        Study of Optuna.
    setup
        Networks, space and objectives.
    schedules
        Result files of the trials.
    where
        Storage, as the command line names it; None in memory.
    found
        Findings to show.
    left
        Work left undone by an interrupt, in words; empty where the search is complete.
    """

    study: Study
    setup: Setup
    schedules: Schedules
    found: Findings
    where: str | None = None
    left: str = ""

    @property
    def front(self) -> list[int]:
        """Numbers of the shown trials, best first by the first objective."""
        return [trial.number for trial in self.found.members]

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return the front as rows: fields, objectives, figures."""
        from spmopt.search.findings import rows

        return rows(self.found)

    def record(self) -> Mapping[str, object]:
        """Return all that was found, as ``spmopt tune show --json``."""
        from spmopt.search.findings import study_json

        return study_json(self.found)

    def parts(self) -> Iterator[Part]:
        """Yield counts, and the front as a table."""
        from spmopt.reporting.search.tables import search_parts

        yield from search_parts(self.found)

    def solution(
        self, trial: int, network: str | None = None, *, callbacks: Callbacks = QUIET
    ) -> Solution:
        """Return the verified schedule of a trial, made again where it was not kept.

        Parameters
        ----------
        trial
            Number of the trial.
        network
            Whose schedule, where the study has several networks.
        callbacks
            Receive progress.

        Raises
        ------
        InputError
            No such trial or network, or the search gives bounds in place of schedules.
        """
        from spmopt.search.trials import network_named, result_for, trial_numbered

        if self.setup.bound_only:
            raise InputError(f"scheduler {self.setup.scheduler} gives bounds, no schedules")
        found = trial_numbered(self.study, trial)
        which = network_named(self.setup, network)
        report = partial(_without_part, callbacks)
        made = result_for(self.setup, found, which, self.schedules, report)
        return Solution(**vars(made))

    def trial(self, number: int) -> SearchTrial:
        """Return a trial; raises :class:`InputError` where there is none of that number."""
        from spmopt.search.trials import trial_numbered

        return SearchTrial(trial_numbered(self.study, number), self.setup)

    def require_feasible(self) -> None:
        """Raise :class:`InputError` where no machine of the space can be built."""
        from spmopt.search.findings import require_feasible

        require_feasible(self.found)

    def never_held(self) -> str:
        """Say why the front is empty."""
        from spmopt.search.findings import why_no_front

        return why_no_front(self.found)

    def save_csv(self, path: str | Path) -> None:
        """Write :meth:`rows` as CSV."""
        from spmopt.io.document import write_text
        from spmopt.reporting.tables import csv_text

        rows = self.rows()
        # Rows differ in columns: trials may have other fields or networks.
        heads = dict.fromkeys(key for row in rows for key in row)
        write_text(Path(path), csv_text({head: [row.get(head) for row in rows] for head in heads}))

    def draw(self, x: str | None = None, y: str | None = None) -> Drawing:
        """Draw the front among all trials by two figures; by default the first two objectives."""
        front = self._front()
        across, up = front.pair(x, y)

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.reporting.plots.fronts import save_front

            save_front(front, path, x, y)

        record = {"study": front.name, "front": list(front.members), "x": across.key, "y": up.key}
        return Drawing(f"study {front.name}, {up.label} over {across.label}", record, write)

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return a line on the content of a page, its text, and a record of it."""
        from spmopt.reporting.page.sheets import front_page
        from spmopt.search.trials import keep_result

        callbacks.progress("verifying the schedules of the front", None)
        kept = [
            keep_result(trial, network, self.schedules)
            for trial in self.found.members
            for network in self.setup.networks
        ]
        front = self._front()
        callbacks.progress("making the page", None)
        text = front_page(front, list(self._commands()))
        schedules = sum(each is not None and each.result.schedule is not None for each in kept)
        record = {"study": front.name, "front": list(front.members), "schedules": schedules}
        members, trials = len(front.members), sum(self.found.counts.values())
        among = f"{members} on the front" if front.top is None else f"the best {members} shown"
        return f"study {front.name}, {trials} trials, {among}", text, record

    def _front(self) -> Front:
        from spmopt.reporting.search.view import front_view

        return front_view(self.found)

    def _commands(self) -> Iterator[tuple[int, str, str]]:
        """Yield trials and networks of the front with commands that show the schedule."""
        if self.setup.bound_only:
            return
        options = ("--storage", self.where or STORAGE, "--study", self.found.name)
        for trial in self.found.members:
            for network in self.setup.networks:
                # Commands on a page are to be pasted: no option that is not needed.
                several = ("--network", network.label) if len(self.setup.networks) > 1 else ()
                name = f"trial-{trial.number}"
                written = ("tune", "show", *options, "--trial", str(trial.number), *several)
                made = shlex.join(("spmopt", *written, "-o", f"{name}.json"))
                page = shlex.join(("spmopt", "report", f"{name}.json", "-o", f"{name}.html"))
                yield trial.number, network.label, f"{made} && {page}"


@dataclass(frozen=True, eq=False, repr=False)
class SearchTrial(Shown):
    """One trial of a search: its machine, its figures, and those of each network.

    Attributes
    ----------
    trial
        Record of the trial.
    setup
        Setup of the study.
    """

    trial: TrialRecord
    setup: Setup

    def parts(self) -> Iterator[Part]:
        """Yield its state, fields, figures and networks."""
        from spmopt.reporting.tables import Line

        yield Line(text=f"trial {self.trial.number}: {self._state()}")
        fields = list(self._fields())
        wide = max((len(name) for name, _ in fields), default=0)
        yield from (Line(text=f"  {name:<{wide}}  {text}") for name, text in fields)
        yield from (Line(text=f"  {line}", indent=4) for line in self._networks())

    def _state(self) -> str:
        from spmopt.reporting.search.words import state_text

        return state_text(self.trial)

    def _fields(self) -> Iterator[tuple[str, str]]:
        """Yield names and texts of fields, figures and constraints."""
        from spmopt.reporting.search.words import fields_to_show, figure_text
        from spmopt.search.trials import build_from

        setup, trial = self.setup, self.trial
        yield from fields_to_show(trial.parameters, build_from(setup, trial)).items()
        figures = trial.figures or {}
        yield from ((name, figure_text(name, value, setup)) for name, value in figures.items())
        # Optuna also stores "possible", which is no constraint of the space.
        limits = {str(limit) for limit in setup.space.constraints}
        for key, excess in trial.constraints.items():
            if key in limits:
                yield key, "holds" if excess <= 0 else "does not hold"

    def _networks(self) -> Iterator[str]:
        """Yield a line for each network, and remarks on the trial."""
        from spmopt.reporting.search.words import network_text, proof_text
        from spmopt.search.trials import build_from

        setup, trial = self.setup, self.trial
        for name, one in (trial.networks or {}).items():
            yield f"{name}: {network_text(one, setup)}"
        built = build_from(setup, trial)
        for name in built.extrapolations if built else ():
            yield f"figures of {name} are of its fit, beyond its points"
        if trial.proof is not None:
            yield proof_text(trial.proof)

    def record(self) -> Mapping[str, object]:
        """Return its figures, as ``spmopt tune show --trial --json``."""
        from spmopt.search.findings import trial_json

        return trial_json(self.trial, self.setup)


def _without_part(callbacks: Callbacks, message: str) -> None:
    callbacks.progress(message, None)


@check
def read_search(
    storage: str | Path = STORAGE, *, study: str | None = None, top: int | None = None
) -> HardwareSearch:
    """Read the findings of a hardware search.

    Parameters
    ----------
    storage
        SQLite file, database URL, or journal:FILE.
    study
        Name of the study; default: the only one in the storage.
    top
        Number of the best trials by the first objective to show instead of the front.

    Returns
    -------
    HardwareSearch
        Its front.

    Raises
    ------
    InputError
        No such storage or study.
    """
    from spmopt.search.findings import findings_of
    from spmopt.search.storage import open_known, reading, using
    from spmopt.search.study import look_up, schedules_of

    if top is not None and top < 1:
        raise ArgumentError("top", f" {top}: must be at least 1")
    with reading(str(storage)):
        kept, setup = look_up(open_known(str(storage)), study)
    with using(str(storage)):
        found = findings_of(kept, setup, top)
    return HardwareSearch(kept, setup, schedules_of(kept), found, str(storage))
