"""Why a file's weights are not the module's parameters: matched by contents, the rest by kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from spmopt.core.graph import Graph
from spmopt.core.instance import TensorKind

KINDS = ("folded", "rows", "twice", "constants", "other")
Array = NDArray[Any]
_MASKED = -1e9
"""What is below hides a place: masks have the least number of their type."""


@dataclass(frozen=True, eq=False)
class _Weight:
    size: int
    contents: Array | None
    normalizes: bool = False
    source: Array | None = None
    """Where it is computed at import: what of."""

    @property
    def key(self) -> bytes | None:
        """The elements in order of size: the same for a transposed or reshaped copy."""
        return None if self.contents is None else np.sort(self.contents, axis=None).tobytes()


def differences(path: Path, graph: Graph, module: torch.nn.Module) -> dict[str, float]:
    """Return the parts of (weights of the file - parameters) / parameters, by kind.

    * folded: parameters of batch normalizations that went into convolutions, less biases that these
      got for them
    * rows: tables of which the file holds the rows only that are read, looked up before
    * twice: transposed copies of what the file holds already
    * constants: what is no parameter: masks, angles, buffers, scales of 1
    * other: anything else
    """
    wanted = list(_parameters(module))
    total = sum(each.size for each in wanted)
    found, wanted, copies = _matched(list(_weights(path, graph)), wanted)
    found, wanted = _recomputed(found, wanted)
    parts: Counter[str] = Counter(twice=sum(each.size for each in copies))
    lengths = {each.size for each in wanted if each.normalizes}
    tables = [each for each in wanted if each.contents is not None and each.contents.ndim > 1]
    for each in wanted:
        kind = "folded" if each.normalizes else "rows" if each in tables else "other"
        parts[kind] -= each.size
    for each in found:
        if each.size in lengths and each.contents is not None and each.contents.ndim == 1:
            parts["folded"] += each.size
        else:
            parts["rows" if _is_of(each, tables) else "constants"] += each.size
    return {kind: parts[kind] / total for kind in KINDS}


def _parameters(module: torch.nn.Module) -> Iterator[_Weight]:
    norms = {
        id(each)
        for inner in module.modules()
        if isinstance(inner, torch.nn.modules.batchnorm._BatchNorm)
        for each in inner.parameters()
    }
    for each in module.parameters():
        yield _Weight(each.nbytes, each.detach().numpy(), id(each) in norms)


def _weights(path: Path, graph: Graph) -> Iterator[_Weight]:
    model = onnx.load(path)
    held: Mapping[str, Array] = {
        each.name: numpy_helper.to_array(each) for each in model.graph.initializer
    }
    first = {name: node.input[0] for node in model.graph.node for name in node.output if node.input}
    for value in graph.values:
        if value.kind is TensorKind.WEIGHT:
            source = value.name
            while source in first:
                source = first[source]
            contents = held.get(value.name)
            yield _Weight(value.size_bytes, contents, source=held.get(source))


def _matched(
    found: Iterable[_Weight], wanted: Iterable[_Weight]
) -> tuple[list[_Weight], list[_Weight], list[_Weight]]:
    """Return what has no partner on the one side and the other, and second copies."""
    free: dict[bytes | None, list[_Weight]] = {}
    for each in wanted:
        free.setdefault(each.key, []).append(each)
    left, copies = [], []
    for each in found:
        if each.key is None or each.key not in free:
            left.append(each)
        elif free[each.key]:
            free[each.key].pop()
        else:
            copies.append(each)
    return left, [each for group in free.values() for each in group], copies


def _recomputed(found: list[_Weight], wanted: list[_Weight]) -> tuple[list[_Weight], list[_Weight]]:
    """Pair what is of one size: weights into which a normalization is folded, scaled ones."""
    pairs = Counter(each.size for each in found) & Counter(
        each.size for each in wanted if not each.normalizes
    )
    kept = []
    for group in (found, [each for each in wanted if not each.normalizes]):
        taken = Counter(pairs)
        rest = []
        for each in group:
            taken[each.size] -= 1
            if taken[each.size] < 0:
                rest.append(each)
        kept.append(rest)
    return kept[0], [*kept[1], *(each for each in wanted if each.normalizes)]


def _is_of(weight: _Weight, tables: Iterable[_Weight]) -> bool:
    """Return whether nearly all elements are of one of the tables, those hidden by a mask aside."""
    contents = weight.source if weight.contents is None else weight.contents
    if contents is None:
        return False
    seen = np.unique(contents[contents > _MASKED])
    return any(
        each.contents is not None and np.isin(seen, each.contents).mean() > 0.9 for each in tables
    )
