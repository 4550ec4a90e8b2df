"""Hardware search: machines of a space, scheduled, verified and bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import is_stored
from spmopt.api.scheduling import require_limits
from spmopt.api.searches import HardwareSearch
from spmopt.api.sweep_cases import OF_NETWORKS, networks_of
from spmopt.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from spmopt.core.machine import Machine
    from spmopt.search.setup import Setup
    from spmopt.sweeps.cases import Network


@check
def tune(
    networks: str | Sequence[str],
    space: str | Path | None = None,
    *,
    machine: str | None = None,
    training: bool = False,
    batch: int | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | None = None,
    mapper: str | None = None,
    fold: bool = True,
    costs: str | Path | None = None,
    objectives: Sequence[str] | None = None,
    scheduler: str | None = None,
    schedule_for: str | None = None,
    time_limit: float = 10.0,
    tolerance: float = 1e-3,
    trials: int = 100,
    sampler: str = "tpe",
    seed: int = 0,
    prune: bool = True,
    workers: int = 0,
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
        Network names, ONNX files, or problems as JSON files.
    space
        Space: a name (scratchpad or array) or a TOML file with machine, fields, constraints, cost
        and weights of networks. Default: a quarter to four times the scratchpad and bandwidth of
        the machine, half to twice its array.
    machine
        Machine that is varied, a name or a TOML file; default: that of the space, or rtx2080ti.
    training, optimizer, dtype, parameters, assume_pointwise, operators
        As for :func:`load`.
    batch
        Batch size, where it is no field of the space.
    mapper, fold
        As for :func:`lower`.
    costs
        File of costs, as for :func:`lower`: then nothing may vary that cycles depend on.
    objectives
        Figures to minimize: time, energy, traffic, power, edp, edap, area, cost and others;
        default: time and area, without ``space`` time and cost.
    scheduler
        Scheduler ('spmopt schedulers' lists them); best-policy: the best heuristic; bound: the
        certified bound alone. Default: fusion, or residency where nothing can be fused.
    schedule_for
        Objective of the schedules; default: the first of the objectives that is time, energy or
        traffic, else time.
    time_limit
        Time limit of each schedule, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    trials
        Total number of trials in the study.
    sampler
        Sampler: tpe, nsga2, nsga3 (three objectives or more), random, grid or brute-force (every
        point once).
    seed
        Seed of the sampler; the same seed and workers reproduce the trials.
    prune
        Exclude machines whose bounds prove that they are not on the front.
    workers
        Number of processes that schedule; 0: this process alone. Several need an importable
        script.
    timeout
        Time in seconds after which no trial is started.
    storage
        SQLite file, database URL, or journal:FILE; several processes may share one.
    study
        Name of the study, resumed if it exists; default: that of the space, or around.
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
    from spmopt.search.setup import setup_by
    from spmopt.search.spaces import AROUND, choose_space
    from spmopt.search.storage import in_memory, open_storage, reading, using
    from spmopt.search.study import Schedules, begin, folder_for
    from spmopt.search.tune import Effort
    from spmopt.search.tune import tune as run

    require_limits(time_limit, tolerance)
    names = [networks] if isinstance(networks, str) else networks
    of_networks = networks_of(names, **{key: given[key] for key in OF_NETWORKS})
    if objectives is None:
        objectives = ("time", "cost" if space is None else "area")
    scheduled = [word for word in objectives if word in ("time", "energy", "traffic")]
    # A stored problem fixes the base machine, so that spaces must not name another.
    stored = _machine_of(of_networks)
    setup, caution = setup_by(
        scheduler,
        networks=tuple(of_networks),
        space=choose_space(space, machine, stored),
        objectives=_figures(objectives),
        schedule_for=schedule_for or (*scheduled, "time")[0],
        tolerance=tolerance,
        time_limit_s=time_limit,
    )
    if batch is not None and setup.space.has_batch:
        raise ArgumentError("batch", ": the space says it; leave one out")
    # All checks come before the storage is opened: a wrong option must leave no study behind.
    setup.space.require_possible(setup.names)
    require_energies(setup)
    for name, value, least in (("trials", trials, 1), ("workers", workers, 0), ("seed", seed, 0)):
        if value < least:
            raise ArgumentError(name, f" {value}: must be at least {least}")
    if timeout is not None and not timeout >= 0:
        raise ArgumentError("timeout", f" {timeout}: must be 0 or more")
    require_sampler(sampler, setup.space)
    effort = Effort(
        trials=trials,
        sampler=sampler,
        seed=seed,
        workers=workers,
        timeout_s=timeout,
        prune=prune,
    )
    _warn_of_networks(setup, callbacks)
    name = study or (AROUND if space is None else Path(space).stem)
    keep = None if keep_schedules is None else Path(keep_schedules)
    if keep is not None:
        require_folder(keep.parent)
    kept: BaseStorage = in_memory() if storage is None else open_storage(str(storage))
    # Studies of one storage must not overwrite each other's files, hence a folder by name.
    folder = keep if storage is None else folder_for(str(storage), name, keep)
    where = None if storage is None else str(storage)
    with reading(where or "in memory"):
        begun = begin(kept, name, setup, folder)
    for text in filter(None, (caution, *cautions(setup))):
        callbacks.warn(text)
    if space is None:
        keys = ", ".join(axis.key for axis in setup.space.axes)
        # The default space depends on the machine: say which fields it varies.
        callbacks.note(f"no --space: varies {keys} of {setup.space.machine.name}, of cost 1")
    schedules, left = Schedules(folder), ""
    try:
        with using(where or "in memory"):
            run(
                begun,
                setup,
                effort,
                storage=kept,
                schedules=schedules,
                report=callbacks.progress,
                note=callbacks.note,
            )
    except callbacks.interrupts:
        left = "the same command goes on from here"
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
    """Return the machine of stored problems; None where there are none."""
    from spmopt.io.files import read_problem

    stored = [Path(network.name) for network in networks if is_stored(network.name)]
    # A set, since equal machines in different files are one.
    machines = {read_problem(path).machine for path in stored}
    if len(machines) > 1:
        raise InputError(
            f"{', '.join(map(str, stored))}: are of different machines; search them one by one"
        )
    return next(iter(machines), None)


def _warn_of_networks(setup: Setup, callbacks: Callbacks) -> None:
    """Warn of doubtful network files; later builds are silent."""
    from spmopt.frontends.networks import FILES
    from spmopt.sweeps.cases import network_warnings

    for network in setup.networks:
        if network.costs is not None or network.name.lower().endswith(FILES):
            for text in network_warnings(network, setup.space.machine):
                callbacks.warn(text)
