"""Attention as one operation: scores and probabilities are no tensors, as in every runtime.

Scores of a block of queries and a block of keys are computed, their softmax (with the maximum and
the sum of each row so far), and their share of the context, which is rescaled where the maximum
rises (online softmax, Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022). So scores need
the room of a block, where two products and a softmax would move all of them four times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from spmopt.core.graph import Attribute, Graph, Node
from spmopt.graph import operators
from spmopt.graph.build import renumber
from spmopt.graph.naming import Names, find_unused
from spmopt.graph.operators.attention import CAUSAL, SCORES
from spmopt.graph.operators.attributes import integer, position, text
from spmopt.graph.operators.spec import Shape, Style

OPERATOR = "FusedAttention"
BETWEEN = ("Add", "Sub", "Mul", "Div", "Where")
"""Operators that scores may pass before their softmax, element by element."""


def fuse_attention(graph: Graph) -> Graph:
    """Return ``graph`` with each product, softmax and product as one node.

    Nothing else reads the values between them. The scores may be scaled, masked and seen in another
    shape with the same last axis. Doing it a second time changes nothing.
    """
    if all(node.operator != "Softmax" for node in graph.nodes):
        return graph
    finder, names = _Finder(graph), Names()
    for node in graph.nodes:
        names.add(node.name)
    found, gone = list[_Attention](), set[int]()
    for node in graph.nodes:
        each = finder.find(node)
        # The context of one may be the scores of the next: each node belongs to one of them.
        if each is not None and gone.isdisjoint(map(id, each.nodes)):
            found.append(each)
            gone.update(map(id, each.nodes))
    last = {id(each.nodes[-1]): each for each in found}
    nodes = list[Node]()
    for node in graph.nodes:
        if id(node) in last:
            nodes.append(last[id(node)].join(names))
        elif id(node) not in gone:
            nodes.append(node)
    if not found:
        return graph
    used = {v for node in nodes for v in (*node.inputs, *node.outputs)}
    before = {v for node in graph.nodes for v in (*node.inputs, *node.outputs)}
    kept = [v for v in range(len(graph.values)) if v in used or v not in before]
    return renumber(graph.name, graph.values, nodes, kept)


@dataclass(frozen=True)
class _Attention:
    """Nodes that are one: views among them, the second product the last."""

    nodes: Sequence[Node]
    inputs: tuple[int, ...]
    attributes: Mapping[str, Attribute]

    def join(self, names: Names) -> Node:
        """Return the node, named by the common beginning of the others' names."""
        first, last = self.nodes[0].name, self.nodes[-1].name
        same = next(
            (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
        )
        stem = first[: 1 + max(first.rfind(each, 0, same) for each in "./_")]
        return Node(
            name=find_unused(f"{stem}attention", names),
            operator=OPERATOR,
            inputs=self.inputs,
            outputs=self.nodes[-1].outputs,
            attributes=self.attributes,
        )


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._readers = Counter(v for node in graph.nodes for v in node.inputs)
        self._reader = {v: node for node in graph.nodes for v in node.inputs}
        self._writer = {v: node for node in graph.nodes for v in node.outputs}

    def find(self, softmax: Node) -> _Attention | None:
        """Return the attention that a softmax is part of."""
        if not self._is_last_axis(softmax):
            return None
        before, after = self._before(softmax.inputs[0]), self._after(softmax.outputs[0])
        if before is None or after is None:
            return None
        (first, between, chain), (second, views) = before, after
        equations = _equation(first, self._shape), _equation(second, self._shape)
        shapes = {self._shape(v) for v in (first.outputs[0], second.inputs[0])}
        # Of views between them the last axis is the same, and rows are in the same order.
        of_softmax = self._shape(softmax.inputs[0])
        plain = len(shapes) == 1 and shapes.pop()[-1] == of_softmax[-1]
        # A mask belongs to the axes that scores have where it meets them.
        seen = {of_softmax, *(self._shape(node.outputs[0]) for node, _ in between)}
        if between and {self._shape(first.outputs[0])} != seen:
            return None
        if not plain or not _are_rows(*equations):
            return None
        causal = {name: softmax.attributes[name] for name in CAUSAL if name in softmax.attributes}
        if causal and not self._are_tokens(equations[0], first, softmax):
            return None
        inputs, words = [*first.inputs, second.inputs[1]], list[str]()
        for node, at in between:
            operands = list[str]()
            for place, value in enumerate(node.inputs):
                operands.append(SCORES if place == at else str(len(inputs)))
                inputs += [value] if place != at else []
            words.append(f"{node.operator}:{','.join(operands)}")
        attributes = {"first": equations[0], "second": equations[1], "between": " ".join(words)}
        nodes = [first, *chain, softmax, *views, second]
        return _Attention(nodes, tuple(inputs), {**attributes, **causal})

    def _are_tokens(self, equation: str, product: Node, softmax: Node) -> bool:
        """Return whether rows of scores are tokens of queries, in the product and the softmax."""
        _, keys, scores = equation.replace("->", ",").split(",")
        same = self._shape(product.outputs[0])[-2] == self._shape(softmax.inputs[0])[-2]
        return same and len(scores) > 1 and scores[-2] not in keys

    def _is_last_axis(self, node: Node) -> bool:
        """Return whether a node is a softmax along the last axis, of scores that it alone reads."""
        if node.operator != "Softmax" or not self._is_inner(node.inputs[0]):
            return False
        rank = len(self._shape(node.inputs[0]))
        return position(integer(node.attributes, "axis", -1), rank) == rank - 1

    def _before(self, value: int) -> tuple[Node, list[tuple[Node, int]], list[Node]] | None:
        """Return the product behind scores, the operations on these, and all nodes between."""
        between, chain = list[tuple[Node, int]](), list[Node]()
        while (node := self._writer.get(value)) is not None:
            if _is_product(node):
                return node, between[::-1], chain[::-1]
            at = self._scores_among(node)
            if at is None:
                return None
            if node.operator in BETWEEN:
                between.append((node, at))
            chain.append(node)
            value = node.inputs[at]
        return None

    def _after(self, value: int) -> tuple[Node, list[Node]] | None:
        """Return the product that takes probabilities, and views of them."""
        views = list[Node]()
        while self._is_inner(value):
            node = self._reader[value]
            if _is_product(node):
                return (node, views) if node.inputs[0] == value else None
            if not self._is_plain_view(node):
                return None
            views.append(node)
            value = node.outputs[0]
        return None

    def _scores_among(self, node: Node) -> int | None:
        """Return which operand of a node are scores that it alone reads."""
        if self._is_plain_view(node):
            return 0 if self._is_inner(node.inputs[0]) else None
        if node.operator not in BETWEEN or len(node.outputs) != 1:
            return None
        result = self._shape(node.outputs[0])
        places = [
            place
            for place, v in enumerate(node.inputs)
            if v in self._writer and self._is_inner(v) and self._shape(v) == result
        ]
        others = [self.graph.values[v].shape for k, v in enumerate(node.inputs) if [k] != places]
        small = all(len(each) <= len(result) for each in others)
        return places[0] if len(places) == 1 and small else None

    def _is_inner(self, value: int) -> bool:
        """Return whether one node alone reads a value, and nothing outside."""
        return self._readers[value] == 1 and not self.graph.values[value].keep

    def _is_plain_view(self, node: Node) -> bool:
        """Return whether a node sees the same elements, in the same order, in another shape."""
        style = operators.lookup(node.operator).style
        return style is Style.VIEW and "perm" not in node.attributes

    def _shape(self, value: int) -> Shape:
        return self.graph.values[value].shape


def _equation(node: Node, shape: Callable[[int], Shape]) -> str:
    """Return the product of a node as an equation; of operands that broadcast none."""
    if node.operator == "Einsum":
        return text(node.attributes, "equation", "").replace(" ", "")
    a, b = map(shape, node.inputs)
    if len(a) != len(b) or len(a) < 2 or a[:-2] != b[:-2]:
        return ""
    rows, (m, k, n) = ascii_lowercase[: len(a) - 2], [*ascii_lowercase[len(a) : len(a) + 3]]
    first = k + m if integer(node.attributes, "transA", 0) else m + k
    second = n + k if integer(node.attributes, "transB", 0) else k + n
    return f"{rows}{first},{rows}{second}->{rows}{m}{n}"


def _is_product(node: Node) -> bool:
    return node.operator in ("MatMul", "Einsum") and len(node.inputs) == 2


def _are_rows(first: str, second: str) -> bool:
    """Return whether the second product sums up along keys, the last axis of scores, alone."""
    if not first or not second:
        return False
    queries, keys, scores = first.replace("->", ",").split(",")
    given, values, result = second.replace("->", ",").split(",")
    if len(given) != len(scores):
        return False
    if not set(keys) & set(scores[:-1]) <= set(queries):
        return False  # rows of its own, beside those of queries
    every = set(given) - {given[-1]}
    shared = {given[at] for at, label in enumerate(scores) if label in queries and label in keys}
    return (
        scores[-1] in keys
        and scores[-1] not in queries
        and given[-1] in values
        and given[-1] not in result
        and every <= set(result)
        # The same heads share keys and values.
        and {*values} & every == shared
    )
