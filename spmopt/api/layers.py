"""Layers whose gradients are computed: of a network, of a topology, or one product."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spmopt.api.callbacks import Callbacks
from spmopt.core.errors import InputError
from spmopt.tiles.layer import Layer
from spmopt.tiles.scalesim import read_text, read_topology

_SIZES = re.compile(r"([0-9]{1,15})[xX]([0-9]{1,15})[xX]([0-9]{1,15})")
_OF_NETWORKS = ("parameters", "assume_pointwise", "products_of_activations")
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class LayerOptions:
    """Which layers; fields are as for :func:`spmopt.api.gradients.gradients`."""

    source: str | None
    gemm: str | None
    batch: int | None
    parameters: Mapping[str, int]
    assume_pointwise: bool
    products_of_activations: bool
    only: str | None
    all_input_gradients: bool


@dataclass(frozen=True, kw_only=True)
class Known:
    """A layer, whether its dX is needed, how many there are of its size, and where it is from.

    ``line`` is that of a topology.
    """

    layer: Layer
    input_gradient: bool
    where: str
    line: int | None = None
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Read:
    """A title, layers in forward order, and what is to be said of them."""

    title: str
    layers: tuple[Known, ...]
    notes: tuple[str, ...] = ()


def read_layers(layers: LayerOptions, callbacks: Callbacks) -> Read:
    """Layers asked for, each size once.

    Raises
    ------
    InputError
        Not one source of layers, or one that cannot be used; options that have no effect.
    """
    read = _layers(layers, callbacks)
    found = _told_apart(_folded(_only(read.layers, layers.only)))
    return replace(read, layers=found, notes=(*read.notes, *_of_kernels(found)))


def _layers(layers: LayerOptions, callbacks: Callbacks) -> Read:
    source = layers.source
    if layers.gemm is not None and source is None:
        _refuse(layers, "one product has none; name a network", ("batch", *_OF_NETWORKS))
        layer = Layer(name=layers.gemm, **sizes_of(layers.gemm, "gemm"))
        known = Known(layer=layer, input_gradient=True, where="--gemm")
        return Read(title=layers.gemm, layers=(known,))
    if source is None or layers.gemm is not None:
        raise InputError(
            "name a network, an ONNX file or a topology (.csv); or give --gemm MxKxN alone"
        )
    if source.lower().endswith(".csv"):
        _refuse(layers, f"{source} is a topology; name a network", _OF_NETWORKS)
        return _topology(Path(source), layers)
    return _network(source, layers, callbacks)


def _topology(path: Path, layers: LayerOptions) -> Read:
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
            line=line,
        )
        for number, (layer, line) in enumerate(zip(found, lines, strict=True))
    )
    return Read(title=f"{path.name}, batch {batch}", layers=known)


def _network(name: str, layers: LayerOptions, callbacks: Callbacks) -> Read:
    from spmopt.frontends import zoo
    from spmopt.frontends.networks import load_network
    from spmopt.tiles.networks import first_layers, layers_of, products_of_activations

    if name.lower().endswith(".json"):
        raise InputError(f"{name}: is lowered already, without layers; name a network instead")
    callbacks.progress(f"building {name}", None)
    graph = load_network(
        name,
        batch=layers.batch,
        training=False,
        optimizer=None,
        assume_pointwise=layers.assume_pointwise,
        warn=callbacks.warn,
        **layers.parameters,
    )
    first = frozenset() if layers.all_input_gradients else first_layers(graph)
    found = tuple(
        Known(layer=layer, input_gradient=layer.name not in first, where=name)
        for layer in layers_of(graph, of_activations=layers.products_of_activations)
    )
    if not found:
        raise InputError(f"{name}: has no matrix product with a weight; name another network")
    batch = layers.batch
    if batch is None and name in zoo.names():
        batch = zoo.entry(name).batch
    title = Path(name).name
    notes: tuple[str, ...] = ()
    left_out = () if layers.products_of_activations else products_of_activations(graph)
    if left_out:
        products = "product" if len(left_out) == 1 else "products"
        notes = (
            f"{len(left_out)} {products} of two activations left out, which have no weight "
            f"gradient: {_some(left_out)}; --products-of-activations includes them",
        )
    title = title if batch is None else f"{title}, batch {batch}"
    return Read(title=title, layers=found, notes=notes)


def _only(found: tuple[Known, ...], words: str | None) -> tuple[Known, ...]:
    if words is None:
        return found
    wanted = words.lower().split()
    kept = tuple(
        known for known in found if all(word in known.layer.name.lower() for word in wanted)
    )
    if not kept:
        names = _some([known.layer.name for known in found])
        raise InputError(f"only {words!r}: no layer has these words in its name, as {names}")
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


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return f"{', '.join(names[:_SHOWN])}{more}"


def _of_kernels(found: tuple[Known, ...]) -> tuple[str, ...]:
    """What im2col makes of convolutions."""
    names = [known.layer.name for known in found if known.layer.kernel > 1]
    if not names:
        return ()
    return (
        "convolutions are products of im2col rows: X (Y of transposed ones) has an element once "
        "for each place of the kernel that it is under, in traffic, in what is compulsory and in "
        f"bounds: {_some(names)}",
    )


def _told_apart(found: tuple[Known, ...]) -> tuple[Known, ...]:
    """Give layers of one name, but of several sizes, names of their own: by line, or number."""
    times = Counter(known.layer.name for known in found)
    seen: Counter[str] = Counter()
    apart = []
    for known in found:
        name = known.layer.name
        seen[name] += 1
        place = str(seen[name]) if known.line is None else f"line {known.line}"
        own = name if times[name] == 1 else f"{name} ({place})"
        apart.append(replace(known, layer=replace(known.layer, name=own)))
    return tuple(apart)


def _refuse(layers: LayerOptions, why: str, options: tuple[str, ...]) -> None:
    """Refuse options that have no effect."""
    for name in options:
        if getattr(layers, name):
            raise InputError(f"{name}: {why}")


def sizes_of(text: str, option: str) -> dict[str, int]:
    """M, K and N of ``MxKxN``; raises :class:`InputError`."""
    found = _SIZES.fullmatch(text.strip())
    if found is None or any(int(size) < 1 for size in found.groups()):
        raise InputError(f"{option} {text!r}: write three sizes of at least 1, as 512x256x128")
    return dict(zip("mkn", map(int, found.groups()), strict=True))
