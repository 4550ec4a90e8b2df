"""From the options of a sweep to the cases that they describe."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from spmopt.cli.inputs import DEFAULT_MACHINE, load_instance, pair, parameters, require_training
from spmopt.cli.options import Changes, Source
from spmopt.cli.sweeping.options import Swept
from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.frontends import zoo
from spmopt.graph.lower import LOWERINGS
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.settings import KEYS, Setting
from spmopt.sweep.axes import axis, count, setting_axis
from spmopt.sweep.cases import Case, Network

_AXES = ("spm", "bandwidth", "throughput", "clock", "page", "dma_setup")


def cases(swept: Swept) -> list[Case]:
    """Every combination of network, batch, machine and settings; capacities go together.

    Raises
    ------
    InputError
        A text that is no list or range, an unknown network, machine or setting.
    """
    require_training(swept.optimizer, swept.training)
    axes = _settings(swept)
    batches: tuple[int | None, ...] = (None,)
    if swept.batch is not None:
        batches = axis(swept.batch, "--batch", count)
    found: list[Case] = []
    for name in dict.fromkeys(swept.networks):
        if name.lower().endswith(".json"):
            found += _stored(name, swept, axes)
            continue
        for batch in batches:
            found += _networks(_network(name, batch, swept), swept, axes)
    return found


def _settings(swept: Swept) -> dict[str, tuple[Setting, ...]]:
    """Values of every machine setting that is given, as :mod:`spmopt.sweep.axes` reads them."""
    axes: dict[str, tuple[Setting, ...]] = {}
    for text in swept.set or ():
        key, value = pair(text, "--set")
        if key not in KEYS:
            raise unknown("machine setting", key, KEYS)
        axes[key] = setting_axis(key, value, f"--set {key}")
    for key in (*_AXES, "technology", "banks"):
        value = getattr(swept, key)
        if value is not None:
            axes[key] = setting_axis(key, value, f"--{key.replace('_', '-')}")
    if swept.duplex is not None:
        axes["duplex"] = (swept.duplex,)
    return axes


def _network(name: str, batch: int | None, swept: Swept) -> Network:
    if swept.lowering not in (None, *LOWERINGS):
        raise InputError(f"lowering {swept.lowering!r} is unknown; use {' or '.join(LOWERINGS)}")
    if not name.lower().endswith(".onnx"):
        try:
            zoo.entry(name)
        except InputError as error:
            raise InputError(
                f"{error} (a file must end in .onnx, a stored instance in .json)"
            ) from None
    return Network(
        name=name,
        training=swept.training,
        batch=batch,
        optimizer=swept.optimizer,
        parameters=tuple(parameters(swept.param or ()).items()),
        assume_pointwise=swept.assume_pointwise,
        lowering=swept.lowering or LOWERINGS[0],
    )


def _networks(network: Network, swept: Swept, axes: dict[str, tuple[Setting, ...]]) -> list[Case]:
    names = [name.strip() for name in (swept.machine or DEFAULT_MACHINE).split(",")]
    return [
        case
        for name in dict.fromkeys(names)
        for settings in _combinations(axes)
        for case in _cases(network, load_machine(name, settings), settings, axes)
    ]


def _stored(name: str, swept: Swept, axes: dict[str, tuple[Setting, ...]]) -> list[Case]:
    """Cases of a stored instance; what cannot be changed about it is refused as for ``solve``."""
    found = []
    for settings in _combinations(axes):
        given = {
            field: getattr(swept, field)
            for field in (
                "training",
                "optimizer",
                "param",
                "assume_pointwise",
                "lowering",
                "machine",
            )
        }
        source = Source(
            network=name,
            batch=None if swept.batch is None else 1,
            changes=Changes(set=[f"{key}={value}" for key, value in settings.items()]),
            **given,
        )
        instance = load_instance(source, lambda *_: None, lambda _: None)
        network = Network(name=name, lowering=instance.lowering)
        found += _cases(network, instance.machine, settings, axes)
    return found


def _combinations(axes: dict[str, tuple[Setting, ...]]) -> list[dict[str, Setting]]:
    """Settings of every machine, the capacity at its least."""
    others = {key: values for key, values in axes.items() if key != "spm"}
    least = {"spm": min(map(int, axes["spm"]))} if "spm" in axes else {}
    return [
        {**dict(zip(others, values, strict=True)), **least} for values in product(*others.values())
    ]


def _cases(
    network: Network,
    machine: Machine,
    settings: dict[str, Setting],
    axes: dict[str, tuple[Setting, ...]],
) -> list[Case]:
    """One case of all capacities; with a technology, whose figures differ, one of each."""
    capacities = [int(value) for value in axes.get("spm", (machine.spm_bytes,))]
    extra = {
        key: str(settings[key])
        for key, values in axes.items()
        if len(values) > 1 and key not in (*_AXES, "duplex")
    }
    if machine.memory is None:
        for size in capacities:
            replace(machine, spm_bytes=size)  # says what is wrong with it
        groups = [(machine, tuple(capacities))]
    else:
        groups = [(override(machine, {"spm": size}), (size,)) for size in capacities]
    return [
        Case(network=network, machine=each, capacities=sizes, extra=tuple(extra.items()))
        for each, sizes in groups
    ]
