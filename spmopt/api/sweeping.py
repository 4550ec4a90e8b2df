"""Sweeps: schedulers over ranges of machines and batches, as rows."""

from __future__ import annotations

import csv
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt import __version__
from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import (
    DEFAULT_MACHINE,
    Workload,
    already_lowered,
    given_of_lowering,
    is_stored,
    load,
    lower,
    require_training,
)
from spmopt.api.inputs import machine as machine_of
from spmopt.api.scheduling import require_limits
from spmopt.api.shown import Drawing, Shown
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.machine import Machine
    from spmopt.core.scheduler import Policy
    from spmopt.experiments.rows import Row
    from spmopt.hardware.settings import Setting
    from spmopt.reporting.curves import Curves
    from spmopt.reporting.tables import Part
    from spmopt.schedulers.registry import SchedulerEntry
    from spmopt.sweeps.cases import Network, SweepCase

Axis = str | int | Sequence[str | int]
"""Values of one axis: a list, or a text with commas and ranges, as ``24MB:1000MB:2MB``."""
_SILENT = Callbacks(warn=lambda message: None)
_OF_LOWERING = ("lowering", "fold")
OF_NETWORKS = (
    *("training", "batch", "optimizer", "dtype", "parameters", "assume_pointwise", "operators"),
    *_OF_LOWERING,
)
"""Options of a network."""
_VERSION = 2
"""Of files: in those of version 1 ``tiled`` is the lowering ``panel``."""
_IN_ROWS = ("spm", "bandwidth", "throughput", "clock", "page", "dma_setup", "duplex")
"""Settings that have columns in any sweep."""
_SWEPT = (*_IN_ROWS, "technology", "banks")


@dataclass(frozen=True, eq=False, repr=False)
class SweepTable(Shown):
    """Rows of a sweep: one for each point and scheduler.

    Attributes
    ----------
    table
        Values by column, as ``spmopt sweep -o`` writes them.
    names
        Columns.
    extra
        Those of other machine settings that were swept.
    path
        File that they were read from, if any.
    left
        What an interrupt left undone, in words; empty where the sweep is complete.
    """

    table: Sequence[Row]
    names: Sequence[str]
    extra: Sequence[str]
    path: Path | None = None
    left: str = ""

    @property
    def texts(self) -> list[list[str]]:
        """The rows as fields of CSV lines."""
        from spmopt.experiments.rows import text_of

        return [[text_of(row[name]) for name in self.names] for row in self.table]

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return values by column."""
        return self.table

    def record(self) -> Mapping[str, object]:
        """Return all rows, as ``spmopt sweep --json``."""
        return {"rows": list(self.table)}

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield what differs between rows as a table, and what all have in common."""
        from spmopt.reporting.sweep import sweep_parts

        del width
        yield from sweep_parts(self.table, self.extra, self.left)

    def text(self) -> str:
        """Return the table as CSV."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.names, *self.texts])
        return text.getvalue()

    def summary(self) -> Iterator[str]:
        """Yield how many rows there are, and how well the relaxation is enclosed."""
        from spmopt.reporting.quantities import percent

        verified = sum(row["verified"] is True for row in self.table)
        yield f"{len(self.table)} rows, {verified} of them schedules, all verified"
        gaps = [
            gap
            for row in self.table
            if row["verified"] is None and isinstance(gap := row["gap"], float)
        ]
        if gaps:
            yield f"the relaxation is enclosed to within {percent(max(gaps)).removeprefix('+')}"

    def curves(self) -> Curves:
        """Return what there is to draw: quantities over what was swept, bounds as bands.

        Raises
        ------
        InputError
            There are no such rows.
        """
        from spmopt.reporting.curves import curves_of

        try:
            return curves_of(self.table, self.names, self.extra)
        except InputError as error:
            raise InputError(f"{self.path}: {error}" if self.path else str(error)) from None

    def draw(self, x: str | None = None, y: str | None = None) -> Drawing:
        """Draw a quantity over another, by column or label; by default the first there is."""
        curves = self.curves()
        view = curves.view(x, y)

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.reporting.plots.curves import save_curves

            save_curves(curves, view, path)

        title = f"{curves.subject}, {view.y.label} over {view.x.label}"
        return Drawing(title, write, {"x": view.x.key, "y": view.y.key})

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return what a page shows in a line, its text, and a record of it."""
        from spmopt.reporting.page.curves import curves_page

        callbacks.progress("making the page", None)
        curves = self.curves()
        about = f"{curves.subject}, {len(curves.rows)} rows"
        return about, curves_page(curves), {"rows": len(curves.rows)}


@checked
def read_sweep(path: str | Path) -> SweepTable:
    """Read the CSV file of a sweep.

    Parameters
    ----------
    path
        File that :func:`sweep` wrote.

    Returns
    -------
    SweepTable
        Its rows.

    Raises
    ------
    InputError
        It cannot be read, or is not of a sweep.
    """
    from spmopt.sweeps.stored import stored_sweep

    found = stored_sweep(Path(path))
    return SweepTable(found.rows, found.names, found.extra, Path(path))


@checked
def sweep(
    networks: str | Sequence[str],
    schedulers: Sequence[str | SchedulerEntry | Policy] = ("belady", "page", "fluid"),
    *,
    training: bool = False,
    batch: Axis | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | None = None,
    lowering: str | None = None,
    fold: bool = True,
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
    time_limit: float = 60.0,
    tolerance: float = 1e-3,
    jobs: int | None = 1,
    scheduler_address: str | None = None,
    wait_for_workers: int = 0,
    shard: str | None = None,
    output: str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> SweepTable:
    """Run schedulers over ranges of scratchpads, machines and batches.

    Parameters
    ----------
    networks
        Network names, ONNX files, or instances as JSON files.
    schedulers
        Names (see :func:`list_schedulers`); fluid is the bound. Policies of one's own, as
        :func:`solve` takes them, must be functions of a module where there are several processes.
    training, optimizer, dtype, parameters, assume_pointwise, operators
        As for :func:`load`.
    batch
        Batch sizes, e.g. 8:256:x2; default: that of each network.
    lowering, fold
        As for :func:`lower`.
    machine
        Machine names or TOML files; default: rtx2080ti.
    spm, bandwidth, throughput, clock, page, dma_setup, duplex, technology, banks
        As for :func:`spmopt.machine`; lists, or texts with commas and ranges, as 24MB:1000MB:2MB.
    settings
        Any other setting of a machine file, e.g. energy.mac_pj=1,2; may be repeated. Commas stand
        between the banks of one machine, semicolons between those of several.
    objective, time_limit
        As for :func:`solve`.
    tolerance
        Gap at which a schedule counts as optimal, and to which bounds are enclosed.
    jobs
        Number of processes; None: all processors. More than one need a script that can be
        imported, see :mod:`multiprocessing`.
    scheduler_address
        Dask scheduler whose workers replace processes, e.g. tcp://host:8786.
    wait_for_workers
        Number of workers that the Dask scheduler must have before anything starts.
    shard
        Run only the I-th of N parts of the points, into a file of its own, which :func:`merge`
        joins with the others.
    output
        CSV file that rows are added to as they finish; a sweep of the same options is resumed.
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
    from spmopt.experiments.executors import processors
    from spmopt.experiments.queue import TaskQueue
    from spmopt.experiments.store import RowTable
    from spmopt.hardware.scratchpad import disagreement, sources_of
    from spmopt.sweeps.rows import SweepColumns
    from spmopt.sweeps.run import Sweep, run_sweeps
    from spmopt.sweeps.work import SolveOptions

    require_limits(time_limit, tolerance, jobs=jobs)
    path = None if output is None else _csv(output)
    axes = _axes({**(settings or {}), **{key: given[key] for key in _SWEPT}})
    names = [networks] if isinstance(networks, str) else list(networks)
    found = networks_of(names, **{key: given[key] for key in OF_NETWORKS})
    cases = [case for network in found for case in _cases_of(network, machine, axes)]
    entries = _schedulers(schedulers, objective, cases)
    if jobs != 1 and scheduler_address is None:
        _require_sendable(entries.values())
    chosen = tuple(entries)
    search = SolveOptions(
        objective=objective,
        tolerance=tolerance,
        time_limit_s=time_limit,
        given=tuple(entry for entry in entries.values() if not entry.is_own),
    )
    part, cut = Sweep(cases=tuple(cases), schedulers=chosen, search=search).shard(shard)
    options = {
        "networks": names,
        **{key: given[key] for key in OF_NETWORKS},
        "machine": machine,
        **{key: given[key] for key in _SWEPT},
        "settings": settings,
        "scheduler": list(chosen),
        "objective": objective,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    identity = {
        "version": _VERSION,
        "lowering": ",".join(dict.fromkeys(network.lowering for network in found)),
        "spmopt": __version__,
        **dict(
            _spelled(key, value)
            for key, value in options.items()
            if value is not None and key not in _OF_LOWERING
        ),
        **cut,
    }
    extra = [key for key, _ in cases[0].extra]
    table = RowTable(path, SweepColumns(extra, on_chip=True), identity, callbacks.note)
    count, left = len(part.keys(table)), ""
    mixed = disagreement(source for case in cases for source in sources_of(case.machine))
    queue = TaskQueue(
        processors() if jobs is None else jobs,
        scheduler_address,
        wait_for_workers=wait_for_workers,
        report=callbacks.note,
    )
    try:
        if mixed is not None:
            callbacks.warn(mixed)
        with queue:
            ended = run_sweeps([part], table, queue, report=callbacks.progress, warn=callbacks.warn)
        if not ended.complete:
            callbacks.note(f"{count - len(table)} of {count} rows are with other processes")
    except callbacks.interrupts:
        left = f"{len(table)} of {count} rows{_kept(path)}"
    return SweepTable(table.rows, list(table.columns.types), extra, None, left)


def _kept(output: Path | None) -> str:
    """Say where what an interrupted sweep has found is kept."""
    from spmopt.sweeps.solutions import count_solutions, solutions_path

    if output is None:
        return ""
    part = solutions_path(output)
    solved = 0 if part is None else count_solutions(part)
    solutions = f", {solved} solutions for their bounds in {part}" if solved else ""
    return f" are in {output}{solutions}: the same command goes on from there"


def _spelled(key: str, value: Any) -> tuple[str, Any]:
    """Return an option as the first line of a file has it."""
    if isinstance(value, Mapping):
        value = [f"{name}={item}" for name, item in value.items()]
    return {"parameters": "param", "settings": "set"}.get(key, key), value


def _axes(given: Mapping[str, Axis | bool | None]) -> dict[str, tuple[Setting, ...]]:
    """Return values of machine settings in base units, each once."""
    from spmopt.hardware.settings import require_setting
    from spmopt.sweeps.axes import setting_axis

    found = {}
    for key, axis in given.items():
        require_setting(key)
        if axis is not None:
            parts = [axis] if isinstance(axis, str | int) else axis
            values = (
                (part,) if isinstance(part, int) else setting_axis(key, part, key) for part in parts
            )
            found[key] = tuple(dict.fromkeys(chain.from_iterable(values)))
    return found


def networks_of(
    names: Sequence[str],
    *,
    batch: Axis | None = None,
    lowering: str | None = None,
    fold: bool = True,
    **options: Any,
) -> list[Network]:
    """Return every network at every batch size, each once.

    Raises
    ------
    InputError
        An unknown network, or an option that does not go with one.
    """
    from spmopt.frontends.networks import FILES, require_network
    from spmopt.graph.preparation import named
    from spmopt.sweeps.axes import axis, count
    from spmopt.sweeps.cases import Network

    require_training(options["optimizer"], options["training"])
    chosen = named(lowering, fold=fold)
    batches: Sequence[int | None] = (None,)
    if batch is not None:
        texts = [batch] if isinstance(batch, str | int) else batch
        batches = [value for text in texts for value in axis(str(text), "batch", count)]
    found: dict[Network, None] = {}
    for name in dict.fromkeys(names):
        if is_stored(name):
            for option in given_of_lowering(lowering, fold):
                raise already_lowered(option, name)
            instance = load(name, batch=batches[0], **options).instance
            assert instance is not None
            found[Network(name=name, lowering=instance.lowering)] = None
            continue
        if not name.lower().endswith(FILES):
            require_network(name)
        for size in batches:
            parameters = tuple((options["parameters"] or {}).items())
            own = {**options, "parameters": parameters, "lowering": chosen}
            found[Network(name=name, batch=size, **own)] = None
    return list(found)


def _schedulers(
    given: Sequence[str | SchedulerEntry | Policy], objective: str, cases: Sequence[SweepCase]
) -> dict[str, SchedulerEntry]:
    """Check schedulers, with every machine, before anything is scheduled; return them by name."""
    from spmopt.core.objective import objective_named
    from spmopt.schedulers.registry import able, by_name

    aim = objective_named(objective, cases[0].machine)
    found = by_name(given)
    entries = found.values()
    for features in dict.fromkeys(case.machine.features for case in cases):
        for entry in entries:
            entry.require(aim, able(aim, features=features))
            entry.require_features(features)
    return found


def _require_sendable(entries: Iterable[SchedulerEntry]) -> None:
    """Raise :class:`InputError` for a policy that other processes cannot import."""
    for entry in entries:
        home = sys.modules.get(getattr(entry.target, "__module__", None) or "")
        typed = home is sys.modules["__main__"] and not hasattr(home, "__file__")
        try:
            pickle.dumps(entry)
        except Exception as error:  # whatever the parts of a policy do
            why = " ".join(str(error).split())
        else:
            why = "it is in no file" if typed else ""
        if why:
            raise InputError(
                f"scheduler {entry.name}: cannot be sent to other processes ({why}); define it at "
                "the top of a module, or give jobs=1"
            )


def _cases_of(
    network: Network,
    machines: str | Sequence[str] | None,
    axes: Mapping[str, tuple[Setting, ...]],
) -> list[SweepCase]:
    """Combine a network with every machine and all settings; capacities go together."""
    from spmopt.hardware.machines import load_machine

    others = {key: values for key, values in axes.items() if key != "spm"}
    least = {"spm": min(map(int, axes["spm"]))} if "spm" in axes else {}
    combined = [
        {**dict(zip(others, values, strict=True)), **least} for values in product(*others.values())
    ]
    build: list[Callable[[Mapping[str, Setting]], Machine]]
    if network.is_lowered:
        if machines is not None:
            raise already_lowered("machine", network.name)
        build = [partial(_of_instance, load(network.name))]
    else:
        texts = [machines] if isinstance(machines, str) else machines or [DEFAULT_MACHINE]
        names = dict.fromkeys(name.strip() for text in texts for name in text.split(","))
        build = [partial(load_machine, name) for name in names]
    return [
        case
        for machine in build
        for settings in combined
        for case in _cases(network, machine(settings), settings, axes)
    ]


def _of_instance(workload: Workload, settings: Mapping[str, Setting]) -> Machine:
    """Return the machine of a stored instance with other settings, if its cycles stay."""
    assert workload.instance is not None
    changed = machine_of(workload.instance.machine, settings=settings, callbacks=_SILENT)
    return lower(workload, changed).machine


def _cases(
    network: Network,
    machine: Machine,
    settings: Mapping[str, Setting],
    axes: Mapping[str, tuple[Setting, ...]],
) -> list[SweepCase]:
    """Return one case of all capacities; with a technology, whose figures differ, one of each."""
    from spmopt.hardware.machines import override
    from spmopt.sweeps.cases import SweepCase

    capacities = [int(value) for value in axes.get("spm", (machine.spm_bytes,))]
    extra = tuple(
        (key, str(settings[key]))
        for key, values in axes.items()
        if len(values) > 1 and key not in _IN_ROWS
    )
    if machine.memory is None:
        for size in capacities:
            replace(machine, spm_bytes=size)  # says what is wrong with it
        groups = [(machine, tuple(capacities))]
    else:
        groups = [(override(machine, {"spm": size}), (size,)) for size in capacities]
    return [
        SweepCase(network=network, machine=each, capacities=sizes, extra=extra)
        for each, sizes in groups
    ]


@checked
def merge(files: Sequence[str | Path], output: str | Path) -> tuple[int, Sequence[str]]:
    """Join the files of shards of a sweep into one, in the order of the sweep.

    Parameters
    ----------
    files
        CSV files that :func:`sweep` wrote with ``shard``.
    output
        CSV file of the whole sweep.

    Returns
    -------
    tuple
        Number of rows, and what is missing of the whole.

    Raises
    ------
    InputError
        Files of different sweeps, or one that cannot be read or written.
    """
    from spmopt.experiments.store import merge as joined

    return joined([Path(file) for file in files], _csv(output))


def _csv(output: str | Path) -> Path:
    """Return the file that rows are written to; :class:`InputError` if its name says otherwise."""
    path = Path(output)
    if path.suffix.lower() != ".csv" and (path.is_file() or not path.exists()):
        raise InputError(f"{path}: rows are written as CSV; let the name end in .csv")
    return path
