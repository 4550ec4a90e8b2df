"""Causal masks that a model has as constants: triangles that hide later keys from queries.

Exporters write them as scores plus a constant, or as a choice between the two. Such a mask is no
operand of a schedule: the softmax itself is causal, and hidden scores need not be computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import helper

from spmopt.core.table import Bools
from spmopt.frontends.onnx_import.evaluate import evaluate
from spmopt.frontends.onnx_import.facts import Array, Fact, node_attributes
from spmopt.frontends.onnx_import.network import ModelParts
from spmopt.graph.operators.attention import CAUSAL, visible_keys
from spmopt.graph.operators.attributes import position

_LOW = 0.5
"""Of the least number of an element type: a score as low has probability 0 beside any other."""
_LARGEST = 1 << 26
"""Elements of masks that are read: 8,192 queries and as many keys."""
_SAME = frozenset(("Identity",))
_SCALES = _SAME | {"Mul", "Div"}
_PRODUCTS = frozenset(("MatMul", "Einsum", "Gemm"))


def take_causal(
    network: ModelParts, facts: Mapping[str, Fact], stored: Callable[[str], Array | None]
) -> ModelParts:
    """Return the model with causal softmax nodes where a constant mask makes them so.

    Parameters
    ----------
    stored
        Gives the contents of an initializer, None where they cannot be read.
    """
    finder, gone = _Finder(network, facts, stored), dict[str, str]()
    marked = dict[str, dict[str, int]]()
    for node in network.nodes:
        found = finder.find(node) if node.op_type == "Softmax" and not node.domain else None
        if found is not None:
            gone[found.mask.output[0]] = found.scores
            marked[node.output[0]] = found.attributes
    if not gone:
        return network
    nodes = list[onnx.NodeProto]()
    for node in network.nodes:
        if node.output[0] in gone:
            continue
        changed = marked.get(node.output[0], {})
        if changed or not gone.keys().isdisjoint(node.input):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [gone.get(name, name) for name in node.input]
            copy.attribute.extend(helper.make_attribute(*each) for each in changed.items())
            nodes.append(copy)
        else:
            nodes.append(node)
    return replace(network, nodes=tuple(nodes))


@dataclass(frozen=True)
class _Mask:
    """A node that hides keys, the scores that it takes, and attributes of its softmax."""

    mask: onnx.NodeProto
    scores: str
    attributes: dict[str, int]


class _Finder:
    def __init__(
        self,
        network: ModelParts,
        facts: Mapping[str, Fact],
        stored: Callable[[str], Array | None],
    ) -> None:
        self.network, self.facts, self.stored = network, facts, stored
        self._producer = {name: node for node in network.nodes for name in node.output}
        self._readers = Counter(name for node in network.nodes for name in node.input)
        self._readers.update(network.outputs)
        self._contents: dict[str, Array | None] = {}
        self._triangles: dict[tuple[str, ...], dict[str, int] | None] = {}

    def find(self, softmax: onnx.NodeProto) -> _Mask | None:
        """Return the causal mask before a softmax along the last axis, if there is one.

        Between it and the softmax, and between it and the product, nothing else may hide a key.
        """
        name = softmax.input[0]
        shape = self.facts[name].shape
        default = -1 if self.network.opsets.get("", 1) >= 13 else 1
        axis = node_attributes(softmax).get("axis", default)
        if len(shape) < 2 or position(axis, len(shape)) != len(shape) - 1 or shape[-2] < 2:
            return None
        node = self._before(name, shape, scaled=False)
        if node is None or node.op_type not in ("Add", "Where"):
            return None
        scores = [
            each
            for each in node.input
            if each and self.facts[each].live and self.facts[each].shape == shape
        ]
        if len(scores) != 1 or sum(self.facts[each].live for each in node.input) != 1:
            return None
        product = self._before(scores[0], shape, scaled=True)
        if product is None or product.op_type not in _PRODUCTS:
            return None
        found = self._triangle(node, scores[0], (shape[-2], shape[-1]))
        return None if found is None else _Mask(node, scores[0], found)

    def _before(self, name: str, shape: tuple[int, ...], *, scaled: bool) -> onnx.NodeProto | None:
        """Return the node behind a value of the same shape and type, read by nothing else.

        ``scaled``: scores that one number multiplies or divides are the same to a mask.
        """
        kind = self.facts[name].element_type
        while self.facts[name].shape == shape and self.facts[name].element_type == kind:
            node = self._producer.get(name)
            if node is None or node.domain or self._readers[name] != 1:
                return None
            if node.op_type not in (_SCALES if scaled else _SAME):
                return node
            # Whatever it is, a scale of several numbers, or one that data give, may hide keys.
            name, *factors = node.input
            if any(self.facts[each].live or self.facts[each].elements > 1 for each in factors):
                return node
        return None

    def _triangle(
        self, node: onnx.NodeProto, scores: str, shape: tuple[int, int]
    ) -> dict[str, int] | None:
        """Return attributes of a causal softmax if a node hides later keys, and nothing else."""
        place = [*node.input].index(scores)
        # Layers share one mask.
        key = node.op_type, str(place), *(each for each in node.input if each != scores)
        if key not in self._triangles:
            hidden = self._hidden(node, place)
            self._triangles[key] = None if hidden is None else _causal(hidden, shape)
        return self._triangles[key]

    def _hidden(self, node: onnx.NodeProto, place: int) -> Bools | None:
        """Return which scores a node hides; None where it does more, or that is not known."""
        others = [self._read(each) for at, each in enumerate(node.input) if at != place]
        if any(each is None for each in others) or not self.facts[node.output[0]].floating:
            return None
        mask = np.asarray(others[-1])
        if mask.dtype.kind != "f":
            return None
        hides: Bools = mask <= _LOW * float(np.finfo(mask.dtype).min)
        if node.op_type == "Add":
            return hides if np.all(hides | (mask == 0)) else None
        if place == 0 or not hides.all():
            return None
        chosen = np.asarray(others[0], bool)
        return ~chosen if place == 1 else chosen

    def _read(self, name: str) -> Array | None:
        """Return the contents of a constant; None where they are not known or too large."""
        if name not in self._contents:
            self._contents[name] = self._work_out(name)
        return self._contents[name]

    def _work_out(self, name: str) -> Array | None:
        fact, node = self.facts[name], self._producer.get(name)
        if fact.data is not None:
            return fact.data
        if fact.live or fact.elements > _LARGEST:
            return None
        if node is None:
            return self.stored(name)
        inputs = [self._read(each) if each else None for each in node.input]
        if any(data is None and each for data, each in zip(inputs, node.input, strict=True)):
            return None
        try:
            return evaluate(node, inputs, self.network.opsets)
        except ValueError:
            return None


def _causal(hidden: Bools, shape: tuple[int, int]) -> dict[str, int] | None:
    """Return attributes of a causal softmax by the (queries, keys) that a mask hides."""
    queries, keys = shape
    # Masks that differ between heads or sequences are no triangle.
    if hidden.ndim < 2 or hidden.shape[-2:] != shape or hidden.size != queries * keys:
        return None
    rows: Bools = hidden.reshape(shape)
    attributes = dict(zip(CAUSAL, (1, int(rows[-1].sum())), strict=True))
    visible = visible_keys(attributes, queries, keys)
    # A query that sees nothing has the same probability for each key.
    if visible is None or visible[0] < 1:
        return None
    return attributes if np.array_equal(rows, np.arange(keys) >= visible[:, None]) else None
