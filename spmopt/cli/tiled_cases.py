"""From the options to layers, a machine and cases."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from spmopt.cli.inputs import overrides, parameters, require_limits
from spmopt.cli.tiled import Effort, Hardware, Layers, Tiled
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.gradients.case import WHOLE, Case
from spmopt.machines.load import load_machine, override
from spmopt.machines.settings import Setting
from spmopt.tiles.cores import scaled
from spmopt.tiles.grid import Tile
from spmopt.tiles.layer import Layer
from spmopt.tiles.scalesim.config import read_config
from spmopt.tiles.scalesim.text import read_text
from spmopt.tiles.scalesim.topology import read_topology

_MACHINE = "small-npu"
_SIZES = re.compile(r"([0-9]{1,15})[xX]([0-9]{1,15})[xX]([0-9]{1,15})")
_SRAMS = 3
_OF_NETWORKS = ("param", "assume_pointwise")
_SHOWN = 3
Report = Callable[[str, float | None], None]


@dataclass(frozen=True, kw_only=True)
class Known:
    """A layer, whether its dX is needed, how many there are of its size, and where it is from."""

    layer: Layer
    input_gradient: bool
    where: str
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Different layers, and cases of all of them."""

    title: str
    layers: tuple[Known, ...]
    machine: Machine
    cases: tuple[Case, ...]
    known: tuple[Known, ...]
    """Layer of each case."""


def asked(
    layers: Layers,
    tiled: Tiled,
    hardware: Hardware,
    effort: Effort,
    *,
    report: Report,
    warn: Callable[[str], None],
) -> Asked:
    """Read everything; raises :class:`InputError`."""
    require_limits(effort.time_limit, effort.tolerance, jobs=effort.jobs)
    machine = scaled(machine_of(hardware, tiled.element_bytes), tiled.cores)
    title, found = _layers(layers, report, warn)
    folded = _folded(_only(found, layers.only))
    tile = None if tiled.tile is None else Tile(**_sizes(tiled.tile, "--tile"))
    cases = [
        (
            known,
            Case(
                layer=known.layer,
                machine=machine,
                order=order,
                replacement=replacement,
                partition=partition,
                cores=tiled.cores,
                tile=tile,
                element_bytes=tiled.element_bytes,
                input_gradient=known.input_gradient,
                add_early=tiled.add_early,
                objective=effort.objective,
                tolerance=effort.tolerance,
                time_limit_s=effort.time_limit,
            ),
        )
        for known in folded
        for replacement, partition, order in _ways(tiled)
    ]
    return Asked(
        title=title,
        layers=folded,
        machine=machine,
        cases=tuple(case for _, case in cases),
        known=tuple(known for known, _ in cases),
    )


def _ways(tiled: Tiled) -> tuple[tuple[str, str, str], ...]:
    """Replacements, partitions and orders, in all combinations."""
    return tuple(
        product(
            _names(tiled.replacement, "--replacement"),
            _names(tiled.partition or _cut(tiled.cores), "--partition"),
            _names(tiled.order, "--order"),
        )
    )


def machine_of(hardware: Hardware, element_bytes: int) -> Machine:
    """One core: the machine named, what a .cfg says instead, then single settings."""
    settings = overrides(hardware.changes)
    name = hardware.machine or _MACHINE
    if hardware.cfg is None:
        return load_machine(name, settings)
    clock = {key: value for key, value in settings.items() if key == "clock"}
    return override(_configured(hardware.cfg, load_machine(name, clock), element_bytes), settings)


def _configured(path: Path, machine: Machine, element_bytes: int) -> Machine:
    """SCALE-Sim's three SRAMs are one scratchpad here, and their three interfaces one channel."""
    config = read_config(path)
    array = config.array
    settings: dict[str, Setting] = {
        "name": config.name,
        "source": str(path),
        "spm": config.sram_bytes,
        "throughput": 2 * array.rows * array.columns * machine.clock_hz,
        "array.rows": array.rows,
        "array.columns": array.columns,
        "array.dataflow": array.dataflow,
    }
    if config.words_per_cycle is not None:
        words = _SRAMS * config.words_per_cycle * machine.clock_hz
        settings["bandwidth"] = words * element_bytes
    return override(machine, settings)


def _layers(
    layers: Layers, report: Report, warn: Callable[[str], None]
) -> tuple[str, tuple[Known, ...]]:
    """A title, and all layers in forward order."""
    source = layers.source
    if layers.gemm is not None and source is None:
        _refuse(layers, "one product has none; name a network", ("batch", *_OF_NETWORKS))
        layer = Layer(name=layers.gemm, **_sizes(layers.gemm, "--gemm"))
        return layers.gemm, (Known(layer=layer, input_gradient=True, where="--gemm"),)
    if source is None or layers.gemm is not None:
        raise InputError(
            "name a network, an ONNX file or a topology (.csv); or give --gemm MxKxN alone"
        )
    if source.lower().endswith(".csv"):
        _refuse(layers, f"{source} is a topology; name a network", _OF_NETWORKS)
        return _topology(Path(source), layers)
    return _network(source, layers, report, warn)


def _topology(path: Path, layers: Layers) -> tuple[str, tuple[Known, ...]]:
    """A file and its layers; the first one is the first of its network."""
    batch = 1 if layers.batch is None else layers.batch
    found = read_topology(path, batch)
    lines = [
        number
        for number, line in enumerate(read_text(path, "a topology").splitlines(), start=1)
        if number > 1 and line.partition("#")[0].replace(",", "").strip()
    ]
    known = tuple(
        Known(
            layer=layer,
            input_gradient=number > 0 or layers.all_input_gradients,
            where=f"{path}, line {line}",
        )
        for number, (layer, line) in enumerate(zip(found, lines, strict=True))
    )
    return f"{path.name}, batch {batch}", known


def _network(
    name: str, layers: Layers, report: Report, warn: Callable[[str], None]
) -> tuple[str, tuple[Known, ...]]:
    from spmopt.frontends import zoo
    from spmopt.frontends.networks import load_network
    from spmopt.tiles.layers_of import first_layers, layers_of

    if name.lower().endswith(".json"):
        raise InputError(f"{name}: is lowered already, without layers; name a network instead")
    report(f"building {name}", None)
    graph = load_network(
        name,
        batch=layers.batch,
        training=False,
        optimizer=None,
        assume_pointwise=layers.assume_pointwise,
        warn=warn,
        **parameters(layers.param or ()),
    )
    first = frozenset() if layers.all_input_gradients else first_layers(graph)
    found = tuple(
        Known(layer=layer, input_gradient=layer.name not in first, where=name)
        for layer in layers_of(graph)
    )
    if not found:
        raise InputError(f"{name}: has no matrix product with a weight; name another network")
    batch = layers.batch
    if batch is None and name in zoo.names():
        batch = zoo.entry(name).batch
    title = Path(name).name
    return title if batch is None else f"{title}, batch {batch}", found


def _only(found: tuple[Known, ...], words: str | None) -> tuple[Known, ...]:
    if words is None:
        return found
    wanted = words.lower().split()
    kept = tuple(
        known for known in found if all(word in known.layer.name.lower() for word in wanted)
    )
    if not kept:
        names = ", ".join(known.layer.name for known in found[:_SHOWN])
        raise InputError(f"--only {words!r}: no layer has these words in its name, as {names}")
    return kept


def _folded(found: tuple[Known, ...]) -> tuple[Known, ...]:
    """The first layer of each size, and how many there are."""
    first: dict[tuple[int, int, int, int, bool], Known] = {}
    for known in found:
        layer = known.layer
        size = (layer.m, layer.k, layer.n, layer.groups, known.input_gradient)
        before = first.get(size)
        first[size] = known if before is None else replace(before, count=before.count + 1)
    return tuple(first.values())


def _refuse(layers: Layers, why: str, options: tuple[str, ...]) -> None:
    """Refuse options that have no effect."""
    for name in options:
        if getattr(layers, name):
            raise InputError(f"--{name.replace('_', '-')}: {why}")


def _names(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.replace(",", " ").split()))
    if not names:
        raise InputError(f"{option}: name at least one")
    return names


def _sizes(text: str, option: str) -> dict[str, int]:
    found = _SIZES.fullmatch(text.strip())
    if found is None or any(int(size) < 1 for size in found.groups()):
        raise InputError(f"{option} {text!r}: write three sizes of at least 1, as 512x256x128")
    return dict(zip("mkn", map(int, found.groups()), strict=True))


def _cut(cores: int) -> str:
    return WHOLE if cores == 1 else f"m/{cores}"
