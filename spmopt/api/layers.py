"""Layers whose gradients are computed: of a network, of a topology, or one product."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spmopt.api.callbacks import Callbacks
from spmopt.core.errors import InputError
from spmopt.core.validation import read_text
from spmopt.tiles.layer import Layer
from spmopt.tiles.scalesim import read_topology

_SIZES = re.compile(r"([0-9]{1,15})[xX]([0-9]{1,15})[xX]([0-9]{1,15})")
_OF_NETWORKS = ("parameters", "assume_pointwise", "operators", "products_of_activations")
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class ListedLayer:
    """A layer, whether its dX is needed, how many there are of its size, and where it is from.

    ``line`` is its line in a topology file.
    """

    layer: Layer
    input_gradient: bool
    where: str
    line: int | None = None
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class LayerList:
    """A title, layers in forward order, and notes on them."""

    title: str
    layers: tuple[ListedLayer, ...]
    notes: tuple[str, ...] = ()


def read_layers(options: Mapping[str, Any], callbacks: Callbacks) -> LayerList:
    """Return the layers asked for, each size once.

    Parameters
    ----------
    options
        Parameters of :func:`spmopt.gradients`.

    Raises
    ------
    InputError
        Not one source of layers, or one that cannot be used; options that have no effect.
    """
    source, gemm = options["source"], options["gemm"]
    if gemm is not None and source is None:
        _refuse(options, "one product has none; name a network", ("batch", *_OF_NETWORKS))
        sizes = sizes_of(gemm, "gemm")
        layer = Layer(name=gemm, m=sizes["m"], k=sizes["k"], n=sizes["n"])
        known = ListedLayer(layer=layer, input_gradient=True, where="--gemm")
        read = LayerList(title=gemm, layers=(known,))
    elif source is None or gemm is not None:
        raise InputError(
            "name a network, an ONNX file or a topology (.csv); or give --gemm MxKxN alone"
        )
    elif source.lower().endswith(".csv"):
        _refuse(options, f"{source} is a topology; name a network", _OF_NETWORKS)
        read = _topology(Path(source), options)
    else:
        read = _network(source, options, callbacks)
    layers = _only(read.layers, options["only"])
    if options["im2col"]:
        if all(known.layer.window is None for known in layers):
            raise InputError("im2col: no layer is a convolution with a feature map; leave it out")
        # Without a window the rows of im2col count as they are, elements repeated.
        layers = tuple(replace(known, layer=replace(known.layer, window=None)) for known in layers)
    found = _tell_apart(_fold(layers))
    return replace(read, layers=found, notes=(*read.notes, *_of_kernels(found)))


def _topology(path: Path, options: Mapping[str, Any]) -> LayerList:
    """Return the layers of a file; the first one is the first of its network."""
    batch = 1 if options["batch"] is None else options["batch"]
    found = read_topology(path, batch)
    lines = [
        number
        for number, line in enumerate(
            read_text(path, advice="name a topology").splitlines(), start=1
        )
        # As the reader skips lines: the head, comments, and lines of commas alone.
        if number > 1 and line.partition("#")[0].replace(",", "").strip()
    ]
    known = tuple(
        ListedLayer(
            layer=layer,
            input_gradient=number > 0 or options["all_input_gradients"],
            where=f"{path}, line {line}",
            line=line,
        )
        for number, (layer, line) in enumerate(zip(found, lines, strict=True))
    )
    return LayerList(title=f"{path.name}, batch {batch}", layers=known)


def _network(name: str, options: Mapping[str, Any], callbacks: Callbacks) -> LayerList:
    from spmopt.api.inputs import is_stored, load
    from spmopt.tiles.networks import first_layers, layers_of, products_of_activations

    if is_stored(name):
        raise InputError(f"{name}: is lowered already, without layers; name a network instead")
    of_load = {
        key: options[key] for key in ("batch", "parameters", "assume_pointwise", "operators")
    }
    workload = load(name, **of_load, callbacks=callbacks)
    graph, of_activations = workload.graph, options["products_of_activations"]
    assert graph is not None
    # Nothing before a first layer needs its input gradient.
    first = frozenset() if options["all_input_gradients"] else first_layers(graph)
    found = tuple(
        ListedLayer(layer=layer, input_gradient=layer.name not in first, where=name)
        for layer in layers_of(graph, of_activations=of_activations)
    )
    if not found:
        raise InputError(f"{name}: has no matrix product with a weight; name another network")
    notes: tuple[str, ...] = ()
    # Neither factor is a weight, so that dX and dW would be mere names.
    left_out = () if of_activations else products_of_activations(graph)
    if left_out:
        products = "product" if len(left_out) == 1 else "products"
        notes = (
            f"{len(left_out)} {products} of two activations left out, which have no weight "
            f"gradient: {_some(left_out)}; --products-of-activations includes them",
        )
    return LayerList(title=workload.title, layers=found, notes=notes)


def _only(found: tuple[ListedLayer, ...], words: str | None) -> tuple[ListedLayer, ...]:
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


def _fold(found: tuple[ListedLayer, ...]) -> tuple[ListedLayer, ...]:
    """The first layer of each size, and how many there are."""
    first: dict[tuple[Layer, bool], ListedLayer] = {}
    for known in found:
        # Without the name: layers of one size cost the same and are computed once.
        size = (replace(known.layer, name=""), known.input_gradient)
        before = first.get(size)
        first[size] = known if before is None else replace(before, count=before.count + 1)
    return tuple(first.values())


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return f"{', '.join(names[:_SHOWN])}{more}"


def _of_kernels(found: tuple[ListedLayer, ...]) -> tuple[str, ...]:
    """How elements of the feature maps of convolutions count."""
    layers = [known.layer for known in found if known.layer.kernel > 1]
    maps = [layer.name for layer in layers if layer.window is not None]
    rows = [layer.name for layer in layers if layer.window is None]
    notes = []
    if maps:
        notes.append(
            "tiles of X and dX hold each element of the feature map once, as do traffic, what is "
            f"compulsory and bounds; tiles that overlap each have it: {_some(maps)}"
        )
    if rows:
        notes.append(
            "convolutions are products of im2col rows: X (Y of transposed ones) has an element "
            "once for each place of the kernel that it is under, in traffic, in what is "
            f"compulsory and in bounds: {_some(rows)}"
        )
    return tuple(notes)


def _tell_apart(found: tuple[ListedLayer, ...]) -> tuple[ListedLayer, ...]:
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


def _refuse(options: Mapping[str, Any], why: str, names: tuple[str, ...]) -> None:
    """Refuse options that have no effect."""
    for name in names:
        if options[name]:
            raise InputError(f"{name}: {why}")


def sizes_of(text: str, option: str) -> dict[str, int]:
    """M, K and N of ``MxKxN``; raises :class:`InputError`."""
    found = _SIZES.fullmatch(text.strip())
    if found is None or any(int(size) < 1 for size in found.groups()):
        raise InputError(f"{option} {text!r}: write three sizes of at least 1, as 512x256x128")
    return dict(zip("mkn", map(int, found.groups()), strict=True))
