"""Cases of a sweep: networks at every batch size, on machines of all settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.api.callbacks import Callbacks
from spmopt.api.inputs import (
    DEFAULT_MACHINE,
    NETWORK_OPTIONS,
    SETTINGS,
    Workload,
    already_lowered,
    is_stored,
    load,
    require_training,
)
from spmopt.api.inputs import machine as machine_of
from spmopt.api.mapper import cycles_change, give_of_mapper, lower
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.core.machine import Machine
    from spmopt.hardware.settings import Setting
    from spmopt.sweeps.cases import Network, SweepCase

Axis = str | int | Sequence[str | int]
"""Values of one axis: a list, or a text with commas and ranges, as ``24MB:1000MB:2MB``."""
_SILENT = Callbacks(warn=lambda message: None)
OF_MAPPER = ("mapper", "fold")
OF_NETWORKS = (*NETWORK_OPTIONS, *OF_MAPPER, "costs")
"""Options of a network."""
_IN_ROWS = frozenset(SETTINGS) - {"technology", "banks"}
"""Settings that have columns in any sweep."""


def axes_of(given: Mapping[str, Axis | bool | None]) -> dict[str, tuple[Setting, ...]]:
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
            # Each value once: 8MB and 8000kB would be the same row twice.
            found[key] = tuple(dict.fromkeys(chain.from_iterable(values)))
    return found


def networks_of(
    names: Sequence[str],
    *,
    batch: Axis | None = None,
    mapper: str | None = None,
    fold: bool = True,
    costs: str | Path | None = None,
    **options: Any,
) -> list[Network]:
    """Return every network at every batch size, each once.

    Raises
    ------
    InputError
        An unknown network, or an option that does not go with one.
    """
    from spmopt.frontends.networks import FILES, require_network
    from spmopt.graph.preparation import with_name
    from spmopt.sweeps.axes import axis, count
    from spmopt.sweeps.cases import Network

    require_training(options["optimizer"], options["training"])
    chosen = with_name(mapper, fold=fold)
    batches: Sequence[int | None] = (None,)
    if batch is not None:
        texts = [batch] if isinstance(batch, str | int) else batch
        batches = [value for text in texts for value in axis(str(text), "batch", count)]
    costs = None if costs is None else str(costs)
    if costs is not None and (len(batches) > 1 or len(dict.fromkeys(names)) > 1):
        raise ArgumentError("costs", f" {costs}: are of one network at one batch size; give one")
    found: dict[Network, None] = {}
    for name in dict.fromkeys(names):
        if is_stored(name):
            for option in give_of_mapper(mapper, fold):
                raise already_lowered(option, name)
            problem = load(name, batch=batches[0], **options).problem
            assert problem is not None
            found[Network(name=name, mapper=problem.mapper, costs=costs)] = None
            continue
        if not name.lower().endswith(FILES):
            require_network(name)
        for size in batches:
            parameters = tuple((options["parameters"] or {}).items())
            own = {**options, "parameters": parameters, "mapper": chosen, "costs": costs}
            found[Network(name=name, batch=size, **own)] = None
    return list(found)


def cases_of(
    network: Network,
    machines: str | Sequence[str] | None,
    axes: Mapping[str, tuple[Setting, ...]],
) -> list[SweepCase]:
    """Combine a network with every machine and all settings; capacities go together."""
    from spmopt.hardware.machines import load_machine

    others = {key: values for key, values in axes.items() if key != "spm"}
    # One machine at the least capacity checks the settings; _cases restores the others.
    least = {"spm": min(map(int, axes["spm"]))} if "spm" in axes else {}
    combined = [
        {**dict(zip(others, values, strict=True)), **least} for values in product(*others.values())
    ]
    build: list[Callable[[Mapping[str, Setting]], Machine]]
    if network.is_lowered:
        if machines is not None:
            raise already_lowered("machine", network.name)
        build = [partial(_of_problem, load(network.name))]
    else:
        texts = [machines] if isinstance(machines, str) else machines or [DEFAULT_MACHINE]
        names = dict.fromkeys(name.strip() for text in texts for name in text.split(","))
        build = [partial(load_machine, name) for name in names]
    found = [
        case
        for machine in build
        for settings in combined
        for case in _cases(network, machine(settings), settings, axes)
    ]
    for case in found if network.costs is not None else ():
        changed = cycles_change(found[0].machine, case.machine)
        if changed is not None:
            said = f" {network.costs}: {changed[0]} varies, on which cycles depend; leave one out"
            raise ArgumentError("costs", said)
    return found


def _of_problem(workload: Workload, settings: Mapping[str, Setting]) -> Machine:
    """Return the machine of a stored problem with other settings, if its cycles stay."""
    assert workload.problem is not None
    # Silent: the sweep itself warns once, not once a case.
    changed = machine_of(workload.problem.machine, settings=settings, callbacks=_SILENT)
    return lower(workload, changed).machine


def _cases(
    network: Network,
    machine: Machine,
    settings: Mapping[str, Setting],
    axes: Mapping[str, tuple[Setting, ...]],
) -> list[SweepCase]:
    """Return one case of all capacities; with a technology, whose figures differ, one of each."""
    from spmopt.hardware.machines import override
    from spmopt.hardware.scratchpad import default_page
    from spmopt.sweeps.cases import SweepCase

    capacities = [int(value) for value in axes.get("spm", (machine.spm_bytes,))]
    extra = tuple(
        (key, str(settings[key]))
        for key, values in axes.items()
        if len(values) > 1 and key not in _IN_ROWS
    )
    if machine.memory is None:
        for size in capacities:
            # Built only to be checked: errors should come before the first schedule.
            replace(machine, spm_bytes=size)  # raises its error
        # One lowering serves all capacities in a row where cycles and pages do not depend on them.
        chosen = "page" in settings or machine.page_bytes != default_page(machine.spm_bytes)
        of_size = {
            each: machine.page_bytes if chosen else default_page(each) for each in capacities
        }
        in_rows = [tuple(sizes) for _, sizes in groupby(capacities, of_size.__getitem__)]
        groups = [
            (replace(machine, spm_bytes=sizes[0], page_bytes=of_size[sizes[0]]), sizes)
            for sizes in in_rows
        ]
    else:
        groups = [(override(machine, {"spm": size}), (size,)) for size in capacities]
    return [
        SweepCase(network=network, machine=each, capacities=sizes, extra=extra)
        for each, sizes in groups
    ]
