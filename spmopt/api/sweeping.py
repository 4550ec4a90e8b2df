"""Sweeps: schedulers over ranges of machines and batches, as rows."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt import __version__
from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.fusion import FUSION, RESIDENCY
from spmopt.api.inputs import SETTINGS
from spmopt.api.scheduling import require_limits
from spmopt.api.sweep_cases import (
    OF_MAPPER,
    OF_NETWORKS,
    Axis,
    axes_of,
    cases_of,
    networks_of,
)
from spmopt.api.sweep_tables import SweepTable
from spmopt.core.errors import InputError
from spmopt.core.validation import exists, is_file

if TYPE_CHECKING:
    from spmopt.core.objective import Objective
    from spmopt.core.scheduler import Policy
    from spmopt.schedulers.registry import SchedulerEntry
    from spmopt.sweeps.cases import SweepCase

_VERSION = 2
"""Of files: in those of version 1 ``tiled`` is the mapper ``panel``."""


@check
def sweep(
    networks: str | Sequence[str],
    schedulers: Sequence[str | SchedulerEntry | Policy] | None = None,
    *,
    training: bool = False,
    batch: Axis | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | None = None,
    mapper: str | None = None,
    fold: bool = True,
    costs: str | Path | None = None,
    machine: str | Sequence[str] | None = None,
    spm: Axis | None = None,
    bandwidth: Axis | None = None,
    throughput: Axis | None = None,
    clock: Axis | None = None,
    page: Axis | None = None,
    dma_setup: Axis | None = None,
    duplex: bool | None = None,
    technology: Axis | None = None,
    banks: Axis | None = None,
    settings: Mapping[str, Axis] | None = None,
    objective: str = "time",
    timing: str = "step",
    time_limit: float = 10.0,
    tolerance: float = 1e-3,
    jobs: int | None = 1,
    output: str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> SweepTable:
    """Run schedulers over ranges of scratchpads, machines and batches.

    Parameters
    ----------
    networks
        Network names, ONNX files, or problems as JSON files.
    schedulers
        Names ('spmopt schedulers' lists them); lp-bound is the bound alone. Default: belady,
        residency, lp-bound, and fusion where networks can be fused. Own policies must be functions
        of a module if there are several processes.
    training, optimizer, dtype, parameters, assume_pointwise, operators
        As for :func:`load`.
    batch
        Batch sizes, e.g. 8:256:x2; default: that of each network.
    mapper, fold
        As for :func:`lower`.
    costs
        File of costs, as for :func:`lower`: then nothing may vary that cycles depend on.
    machine
        Machine names or TOML files; default: rtx2080ti.
    spm, bandwidth, throughput, clock, page, dma_setup, duplex, technology, banks
        As for :func:`spmopt.machine`; lists, or texts with commas and ranges, as 24MB:1000MB:2MB.
    settings
        Any other setting of a machine file, e.g. energy.mac_pj=1,2; may be repeated. Commas stand
        between the banks of one machine, semicolons between those of several.
    objective
        Objective: time, replay, traffic or energy.
    timing
        step (sum over steps), or async (no barriers between steps).
    time_limit
        Time limit of each schedule, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    jobs
        Number of processes; None: all processors. Several need an importable script.
    output
        CSV file; rows are added as they finish, and the same command resumes. One command at a
        time adds rows to it.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    SweepTable
        One row for each point and scheduler.

    Raises
    ------
    InputError
        A network, range or scheduler that cannot be used, or a file of another sweep.
    """
    given = dict(locals())
    from spmopt.core.objective import with_timing
    from spmopt.experiments.executors import processors
    from spmopt.experiments.queue import TaskQueue
    from spmopt.experiments.store import RowTable
    from spmopt.hardware.scratchpad import disagreement, sources_of
    from spmopt.sweeps.rows import SweepColumns
    from spmopt.sweeps.run import Sweep, run_sweeps
    from spmopt.sweeps.work import SolveOptions

    require_limits(time_limit, tolerance, jobs=jobs)
    objective = str(with_timing(objective, timing))
    path = None if output is None else _csv(output)
    own = {key: given[key] for key in SETTINGS if given[key] is not None}
    axes = axes_of({**(settings or {}), **own})
    names = [networks] if isinstance(networks, str) else list(networks)
    found = networks_of(names, **{key: given[key] for key in OF_NETWORKS})
    cases = [case for network in found for case in cases_of(network, machine, axes)]
    entries = _schedulers(schedulers, objective, cases)
    if jobs != 1:
        _require_sendable(entries.values())
    chosen = tuple(entries)
    search = SolveOptions(
        objective=objective,
        tolerance=tolerance,
        time_limit_s=time_limit,
        given=tuple(entry for entry in entries.values() if not entry.is_own),
    )
    run = Sweep(cases=tuple(cases), schedulers=chosen, search=search)
    options = {
        "networks": names,
        **{key: given[key] for key in OF_NETWORKS},
        "machine": machine,
        **{key: given[key] for key in SETTINGS},
        "settings": settings,
        "scheduler": list(chosen),
        "objective": objective,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    identity = {
        "version": _VERSION,
        "mapper": ",".join(dict.fromkeys(network.mapper for network in found)),
        "spmopt": __version__,
        **dict(
            _spell(key, value)
            for key, value in options.items()
            # The mapper stands above: stored problems bring their own, in place of the option.
            if value is not None and key not in OF_MAPPER
        ),
    }
    extra = [key for key, _ in cases[0].extra]
    # Over all cases: each alone is consistent, but rows of two sources get compared.
    mixed = disagreement(source for case in cases for source in sources_of(case.machine))
    table = RowTable(path, SweepColumns(extra, on_chip=True), identity)
    count, left = len(run.keys(table)), ""
    queue = TaskQueue(processors() if jobs is None else jobs, report=callbacks.note)
    try:
        if mixed is not None:
            callbacks.warn(mixed)
        with queue:
            run_sweeps([run], table, queue, report=callbacks.progress, warn=callbacks.warn)
    except callbacks.interrupts:
        kept = "" if path is None else f" are in {path}: the same command goes on from there"
        left = f"{len(table)} of {count} rows{kept}"
    return SweepTable(table.rows, list(table.columns.types), extra, None, left)


def _spell(key: str, value: Any) -> tuple[str, Any]:
    """Return an option as the first line of a file has it."""
    if isinstance(value, Mapping):
        value = [f"{name}={item}" for name, item in value.items()]
    elif isinstance(value, Path):
        value = str(value)
    return {"parameters": "param", "settings": "set"}.get(key, key), value


def _schedulers(
    given: Sequence[str | SchedulerEntry | Policy] | None,
    objective: str,
    cases: Sequence[SweepCase],
) -> dict[str, SchedulerEntry]:
    """Check schedulers, with every machine, before anything is scheduled; return them by name."""
    from spmopt.core.objective import objective_named
    from spmopt.schedulers.registry import by_name

    aim = objective_named(objective, cases[0].machine)
    found = by_name(_usual(aim, cases) if given is None else given)
    entries = found.values()
    # Each combination once: a sweep may have thousands of machines.
    for features in dict.fromkeys(case.machine.features for case in cases):
        for entry in entries:
            entry.require(aim, features)
            entry.require_features(features)
    return found


def _usual(aim: Objective, cases: Sequence[SweepCase]) -> list[str]:
    """Return the schedulers of a sweep that names none."""
    from spmopt.schedulers.registry import find

    fusion_scheduler = find(FUSION)
    fuses = fusion_scheduler.takes(aim) and not any(
        case.network.is_lowered or not fusion_scheduler.takes_features(case.machine.features)
        for case in cases
    )
    return ["belady", RESIDENCY, *[FUSION] * fuses, *["lp-bound"] * (not aim.replayed)]


def _require_sendable(entries: Iterable[SchedulerEntry]) -> None:
    """Raise :class:`InputError` for a policy that other processes cannot import."""
    for entry in entries:
        home = sys.modules.get(getattr(entry.target, "__module__", None) or "")
        # In an interactive session pickle succeeds, but the other process finds no module.
        typed = home is sys.modules["__main__"] and not hasattr(home, "__file__")
        try:
            pickle.dumps(entry)
        except Exception as error:  # parts of a policy may raise anything
            why = " ".join(str(error).split())
        else:
            why = "it is in no file" if typed else ""
        if why:
            raise InputError(
                f"scheduler {entry.name}: cannot be sent to other processes ({why}); define it at "
                "the top of a module, or give jobs=1"
            )


def _csv(output: str | Path) -> Path:
    """Return the file that rows are written to; :class:`InputError` if its name says otherwise."""
    path = Path(output)
    if path.suffix.lower() != ".csv" and (is_file(path) or not exists(path)):
        raise InputError(f"{path}: rows are written as CSV; let the name end in .csv")
    return path
