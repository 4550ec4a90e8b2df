"""Hardware search: machines of a space, scheduled, verified and bounded; what was found."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import is_stored
from spmopt.api.scheduling import Solution, require_limits
from spmopt.api.shown import Drawing, Shown
from spmopt.api.sweeping import OF_NETWORKS, networks_of
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

    from spmopt.core.machine import Machine
    from spmopt.io.files import StoredResult
    from spmopt.reporting.page.front import TrialSchedule
    from spmopt.reporting.search.front import Front
    from spmopt.reporting.tables import Part
    from spmopt.search.records import Findings, TrialRecord
    from spmopt.search.setup import Setup
    from spmopt.search.study import Schedules
    from spmopt.sweeps.cases import Network

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
        What is shown of it.
    left
        What an interrupt left undone, in words; empty where the search is complete.
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

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield counts, the front as a table, and what matters."""
        from spmopt.reporting.search.tables import search_parts

        del width
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
        return Solution(result_for(self.setup, found, which, self.schedules, report))

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

        text, rows = StringIO(), self.rows()
        heads = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(text, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(Path(path), text.getvalue())

    def with_shadow_prices(self, *, callbacks: Callbacks = QUIET) -> HardwareSearch:
        """Return it with what more of each resource is worth on every machine of the front."""
        from spmopt.search.findings import with_shadow_prices
        from spmopt.search.trials import result_for

        report = partial(_without_part, callbacks)
        return replace(
            self,
            found=with_shadow_prices(
                self.found,
                lambda trial, network: result_for(
                    self.setup, trial, network, self.schedules, report
                ),
            ),
        )

    def draw(self, x: str | None = None, y: str | None = None) -> Drawing:
        """Draw the front among all trials by two figures; by default the first two objectives."""
        front = self._front({})
        across, up = front.pair(x, y)

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.reporting.plots.fronts import save_front

            save_front(front, path, x, y)

        record = {"study": front.name, "front": list(front.members), "x": across.key, "y": up.key}
        return Drawing(f"study {front.name}, {up.label} over {across.label}", write, record)

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return what a page shows in a line, its text, and a record of it."""
        from spmopt.reporting.page.front import front_page
        from spmopt.search.trials import kept_result

        callbacks.progress("verifying the schedules of the front", None)
        kept = {
            (trial.number, network.label): kept_result(trial, network, self.schedules)
            for trial in self.found.members
            for network in self.setup.networks
        }
        front = self._front(kept)
        callbacks.progress("making the page", None)
        text = front_page(front, self._views(kept))
        schedules = sum(
            each is not None and each.result.schedule is not None for each in kept.values()
        )
        record = {"study": front.name, "front": list(front.members), "schedules": schedules}
        members, trials = len(front.members), sum(self.found.counts.values())
        among = f"{members} on the front" if front.top is None else f"the best {members} shown"
        return f"study {front.name}, {trials} trials, {among}", text, record

    def _front(self, kept: Mapping[tuple[int, str], StoredResult | None]) -> Front:
        """Lay it out, with what more is worth on the machines whose results are kept."""
        from spmopt.reporting.search.view import front_view
        from spmopt.search.findings import with_shadow_prices

        return front_view(
            with_shadow_prices(
                self.found, lambda trial, network: kept.get((trial.number, network.label))
            )
        )

    def _views(
        self, kept: Mapping[tuple[int, str], StoredResult | None]
    ) -> Iterator[TrialSchedule]:
        """Yield schedules of the members, the best first; and what shows those without room."""
        from spmopt.reporting.page.front import TrialSchedule

        if self.setup.bound_only:
            return
        options = ("--storage", self.where or STORAGE, "--study", self.found.name)
        for trial in self.found.members:
            for network in self.setup.networks:
                stored = kept.get((trial.number, network.label))
                several = ("--network", network.label) if len(self.setup.networks) > 1 else ()
                name = f"trial-{trial.number}"
                written = ("tune", "show", *options, "--trial", str(trial.number), *several)
                yield TrialSchedule(
                    trial=trial.number,
                    network=network.label,
                    commands=(
                        shlex.join(("spmopt", *written, "-o", f"{name}.json")),
                        shlex.join(("spmopt", "report", f"{name}.json", "-o", f"{name}.html")),
                    ),
                    record=None
                    if stored is None or stored.result.schedule is None
                    else partial(_view_data, stored),
                )


@dataclass(frozen=True, eq=False, repr=False)
class SearchTrial(Shown):
    """One trial of a search: its machine, figures, and what each network comes to.

    Attributes
    ----------
    trial
        What is known of it.
    setup
        What the study is about.
    """

    trial: TrialRecord
    setup: Setup

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield its state, fields, figures and networks."""
        from spmopt.reporting.tables import Line

        del width
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
        from spmopt.reporting.search.words import figure_text, shown_fields
        from spmopt.search.trials import built_of

        setup, trial = self.setup, self.trial
        yield from shown_fields(trial.parameters, built_of(setup, trial)).items()
        figures = trial.figures or {}
        yield from ((name, figure_text(name, value, setup)) for name, value in figures.items())
        limits = {str(limit) for limit in setup.space.constraints}
        for key, excess in trial.constraints.items():
            if key in limits:
                yield key, "holds" if excess <= 0 else "does not hold"

    def _networks(self) -> Iterator[str]:
        """Yield a line for each network, and what else is to be said of the trial."""
        from spmopt.reporting.search.words import beyond_lines, network_text, proof_text
        from spmopt.search.trials import built_of

        setup, trial = self.setup, self.trial
        for name, one in (trial.networks or {}).items():
            yield f"{name}: {network_text(one, setup)}"
        yield from beyond_lines({trial.number: built_of(setup, trial)})
        if trial.proof is not None:
            yield proof_text(trial.proof)

    def record(self) -> Mapping[str, object]:
        """Return its figures, as ``spmopt tune show --trial --json``."""
        from spmopt.search.findings import trial_json

        return trial_json(self.trial, self.setup)


def _view_data(stored: StoredResult) -> Mapping[str, object]:
    from spmopt.reporting.schedule_view import ScheduleView, schedule_record

    return schedule_record(ScheduleView.of(stored))


def _without_part(callbacks: Callbacks, message: str) -> None:
    callbacks.progress(message, None)


@checked
def read_search(
    storage: str | Path = STORAGE, *, study: str | None = None, top: int | None = None
) -> HardwareSearch:
    """Read what a hardware search has found.

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
    from spmopt.search.storage import open_known, storage_errors
    from spmopt.search.study import known, schedules_of

    if top is not None and top < 1:
        raise InputError(f"top {top}: must be at least 1")
    with storage_errors(str(storage)):
        kept, setup = known(open_known(str(storage)), study)
        return HardwareSearch(
            kept, setup, schedules_of(kept), findings_of(kept, setup, top), str(storage)
        )


@checked
def tune(
    networks: str | Sequence[str],
    space: str | Path,
    *,
    training: bool = False,
    batch: int | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | None = None,
    lowering: str | None = None,
    fold: bool = True,
    objectives: Sequence[str] = ("time", "area"),
    scheduler: str = "page",
    schedule_for: str | None = None,
    time_limit: float = 60.0,
    tolerance: float = 1e-3,
    trials: int = 100,
    sampler: str = "tpe",
    seed: int = 0,
    prune: bool = True,
    workers: int = 0,
    scheduler_address: str | None = None,
    wait_for_workers: int = 0,
    timeout: float | None = None,
    storage: str | Path | None = None,
    study: str | None = None,
    keep_schedules: str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> HardwareSearch:
    """Search machines for networks: schedules of each, verified, with certified bounds.

    Parameters
    ----------
    networks
        Network names, ONNX files, or instances as JSON files.
    space
        TOML file: machine, fields, constraints, cost, weights of networks.
    training, optimizer, dtype, parameters, assume_pointwise, operators
        As for :func:`load`.
    batch
        Batch size, where it is no field of the space.
    lowering, fold
        As for :func:`lower`.
    objectives
        Figures to minimize: time, energy, traffic, power, edp, edap, area, cost and others.
    scheduler
        Scheduler (see :func:`list_schedulers`); or best-policy, the best of all greedy rules; or
        bound, no schedule but the certified bound.
    schedule_for
        What schedules minimize: time, energy, traffic or another objective; default: the first
        of ``objectives`` among these three, else time.
    time_limit
        Time limit of each schedule, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    trials
        Total number of trials in the study.
    sampler
        Sampler: tpe, nsga2, nsga3 (three objectives or more), cma-es (one objective, ranges only),
        gp (Gaussian processes; needs torch), random, grid or brute-force (every point once).
    seed
        Seed of the sampler; the same seed and workers reproduce the trials.
    prune
        Exclude machines whose bounds prove them to be off the front.
    workers
        Number of processes that schedule; 0: schedule in this one. Others need a script that can
        be imported, see :mod:`multiprocessing`.
    scheduler_address
        Dask scheduler whose workers evaluate trials, e.g. tcp://host:8786.
    wait_for_workers
        Workers that the Dask scheduler must have before anything starts.
    timeout
        Time in seconds after which no trial is started.
    storage
        SQLite file, database URL, or journal:FILE; several processes may share one.
    study
        Name of the study, resumed if it exists; default: that of the space.
    keep_schedules
        Folder for schedules; default: next to a SQLite file, else none are kept.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    HardwareSearch
        The front; without ``storage`` the study is gone with this process.

    Raises
    ------
    InputError
        A network, space or option that cannot be used.
    """
    given = dict(locals())
    from spmopt.io.document import require_folder
    from spmopt.search.cautions import cautions, require_energies
    from spmopt.search.findings import findings_of
    from spmopt.search.samplers import require_sampler
    from spmopt.search.setup import Setup
    from spmopt.search.space import read_space
    from spmopt.search.storage import in_memory, open_storage, storage_errors
    from spmopt.search.study import Schedules, begin, folder_for
    from spmopt.search.tune import Effort
    from spmopt.search.tune import tune as run

    require_limits(time_limit, tolerance)
    names = [networks] if isinstance(networks, str) else networks
    of_networks = networks_of(names, **{key: given[key] for key in OF_NETWORKS})
    scheduled = [word for word in objectives if word in ("time", "energy", "traffic")]
    setup = Setup(
        networks=tuple(of_networks),
        space=read_space(Path(space), _machine_of(of_networks)),
        objectives=_figures(objectives),
        scheduler=scheduler,
        schedule_for=schedule_for or (*scheduled, "time")[0],
        tolerance=tolerance,
        time_limit_s=time_limit,
    )
    if batch is not None and setup.space.has_batch:
        raise InputError("batch: the space says it; leave one out")
    setup.space.require_possible(setup.names)
    require_energies(setup)
    for name, value, least in (("trials", trials, 1), ("workers", workers, 0), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} {value}: must be at least {least}")
    if timeout is not None and not timeout >= 0:
        raise InputError(f"timeout {timeout}: must be 0 or more")
    require_sampler(sampler, setup.space, setup.objectives)
    effort = Effort(
        trials=trials,
        sampler=sampler,
        seed=seed,
        workers=workers,
        address=scheduler_address,
        wait_for_workers=wait_for_workers,
        timeout_s=timeout,
        prune=prune,
    )
    _warn_of_networks(setup, callbacks)
    name = study or Path(space).stem
    keep = None if keep_schedules is None else Path(keep_schedules)
    if keep is not None:
        require_folder(keep.parent)
    kept: BaseStorage = in_memory() if storage is None else open_storage(str(storage))
    folder = keep if storage is None else folder_for(str(storage), name, keep)
    begun = begin(kept, name, setup, folder)
    for caution in cautions(setup):
        callbacks.warn(caution)
    schedules, left = Schedules(folder), ""
    guard: AbstractContextManager[object] = nullcontext()
    if storage is not None:
        guard = storage_errors(str(storage))
    try:
        with guard:
            run(begun, setup, effort, storage=kept, schedules=schedules, report=callbacks.progress)
    except callbacks.interrupts:
        left = "the same command goes on from here"
    where = None if storage is None else str(storage)
    return HardwareSearch(begun, setup, schedules, findings_of(begun, setup), where, left)


def _figures(words: Sequence[str]) -> tuple[str, ...]:
    """Return names of figures; raises :class:`InputError` for one that is named twice."""
    from spmopt.search.figures import figure_named

    found: dict[str, None] = {}
    for word in words:
        name = figure_named(word, "objective")
        if name in found:
            raise InputError(f"objective {','.join(words)}: {word} is named twice; leave one out")
        found[name] = None
    return tuple(found)


def _machine_of(networks: Sequence[Network]) -> Machine | None:
    """Return the machine of stored instances; None where there are none."""
    from spmopt.io.files import read_instance

    stored = [Path(network.name) for network in networks if is_stored(network.name)]
    machines = {read_instance(path).machine for path in stored}
    if len(machines) > 1:
        raise InputError(
            f"{', '.join(map(str, stored))}: are of different machines; search them one by one"
        )
    return next(iter(machines), None)


def _warn_of_networks(setup: Setup, callbacks: Callbacks) -> None:
    """Say what is doubtful about networks from files, before they are built in silence."""
    from spmopt.frontends.networks import FILES
    from spmopt.sweeps.cases import SweepCase
    from spmopt.sweeps.work import prepare

    for network in setup.networks:
        if network.name.lower().endswith(FILES):
            machine = setup.space.machine
            case = SweepCase(network=network, machine=machine, capacities=(machine.spm_bytes,))
            for text in prepare(case)[1]:
                callbacks.warn(text)
