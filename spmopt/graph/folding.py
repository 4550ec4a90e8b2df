"""An inference graph as it is run: values known before the first input are computed once.

Four things fall away, as in any runtime. Dropout and identities do nothing. Results of constants
alone are constants. Conversions between integers and floating point are part of the operations
around them (:mod:`spmopt.graph.quantization`). Batch normalization multiplies each channel by a
number and adds another: where it alone reads the result of a convolution or matrix product with
weights of its own, the factors go into these weights and the rest into a bias:

    W' = W scale / sqrt(variance + epsilon)
    b' = (b - mean) scale / sqrt(variance + epsilon) + shift

A normalization before its convolution (pre-activation, DenseNet) has another operation in between,
and stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder, renumber
from spmopt.graph.operators.spec import Style
from spmopt.graph.quantization import quantize

_NOTHING = ("Dropout", "Identity")
_NORMALIZATION = "BatchNormalization"
_CONSTANT = (TensorKind.WEIGHT, TensorKind.STATE)
_LOOKUP = "Lookup"
"""A view of a table, of rows that come with the input."""


def fold(graph: Graph) -> Graph:
    """Return an inference graph in which nothing is computed that is known before.

    Values are named as before, by the operation that is left; a bias that a normalization makes is
    named after the product. Folding a second time changes nothing.
    """
    step = _Folding(graph)
    return step.result() if step.changed else graph


class _Folding(GraphBuilder):
    """The growing graph: nodes that stay, and values by the places that they had."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.name)
        self.take_over(graph)
        self.nodes.extend(quantize(list(_without_nothing(graph)), self.values))
        self._fold_constants()
        self._fold_normalizations()
        self.changed = self.nodes != list(graph.nodes)

    def result(self) -> Graph:
        """Return the graph, without values that nothing uses any more."""
        # Inputs stay even where nothing reads them: they are the network's interface.
        used = {v for node in self.nodes for v in (*node.inputs, *node.outputs)}
        kept = [
            index
            for index, value in enumerate(self.values)
            if index in used or value.keep or value.kind is TensorKind.INPUT
        ]
        return renumber(self.name, self.values, self.nodes, kept)

    def _fold_constants(self) -> None:
        """Drop operations on constants alone; views of constants stay, and are constants too."""
        written = {v for node in self.nodes for v in node.outputs}
        constant = {
            index
            for index, value in enumerate(self.values)
            if value.kind in _CONSTANT and index not in written
        }
        # Results of weights stay weights, so that parameters and training kinds keep their meaning.
        trained = {index for index in constant if self.values[index].kind is TensorKind.WEIGHT}
        left = []
        for node in self.nodes:
            # A Lookup reads rows that follow from the input, though its table is a constant.
            known = node.inputs and constant.issuperset(node.inputs) and node.operator != _LOOKUP
            if known and not _is_kept(self.values, node.outputs):
                constant.update(node.outputs)
                trained.update(() if trained.isdisjoint(node.inputs) else node.outputs)
                if operators.lookup(node.operator).style is not Style.VIEW:
                    for v in node.outputs:
                        kind = TensorKind.WEIGHT if v in trained else TensorKind.STATE
                        self.values[v] = replace(self.values[v], kind=kind)
                    continue
            left.append(node)
        self.nodes = left
        of_constants = [node for node in left if constant.issuperset(node.outputs)]
        read = {v for node in left for v in node.inputs} if of_constants else set()
        for node in reversed(of_constants):  # views that nothing reads any more
            # In reverse, as a view may be read by another view alone, which goes first.
            if read.isdisjoint(node.outputs):
                self.nodes.remove(node)
                read = {v for each in self.nodes for v in each.inputs}

    def _fold_normalizations(self) -> None:
        """Give products the results of the normalizations that they feed."""
        if all(node.operator != _NORMALIZATION for node in self.nodes):
            return
        # A product with a second reader must still write its unnormalized result.
        uses = Counter(v for node in self.nodes for v in node.inputs)
        written = {v: node for node in self.nodes for v in node.outputs}
        products: dict[int, Node] = {}
        gone = set[int]()
        for place, node in enumerate(self.nodes):
            if node.operator != _NORMALIZATION:
                continue
            product = written.get(node.inputs[0])
            if product is None or not self._can_fold(node, product, uses, written):
                continue
            products[product.outputs[0]] = self._with_bias(product, node)
            gone.add(place)
        self.nodes = [
            products.get(node.outputs[0], node)
            for place, node in enumerate(self.nodes)
            if place not in gone
        ]

    def _can_fold(
        self, node: Node, product: Node, uses: Counter[int], written: dict[int, Node]
    ) -> bool:
        """Return whether ``node`` alone reads the result of ``product`` with weights of its own."""
        spec, (result, *of_channel) = operators.lookup(product.operator), node.inputs
        if spec.gemm is None or spec.shapes is None or len(node.outputs) != 1:
            return False
        weights = product.inputs[1:]
        constants = [*weights, *of_channel]
        # Statistics that the graph computes are not known beforehand.
        if any(v in written or self.values[v].kind not in _CONSTANT for v in constants):
            return False
        # Only of a plain matrix are the columns the channels that a normalization scales.
        plain = len(self.values[result].shape) == 2 == len(self.values[weights[0]].shape)
        fits = product.operator in ("Conv", "ConvTranspose") or (
            product.operator in ("Gemm", "MatMul") and plain
        )
        # Shared weights would have to be scaled twice, differently.
        alone = uses[result] == 1 and all(uses[v] == 1 for v in weights)
        return fits and alone and not self.values[result].keep

    def _with_bias(self, product: Node, normalization: Node) -> Node:
        """Return the product that writes the result of the normalization."""
        inputs, shift = product.inputs[:2], self.values[normalization.inputs[2]]
        if self.values[product.inputs[-1]].shape == shift.shape and len(product.inputs) == 3:
            inputs = product.inputs
        else:
            inputs += (self.add_value(replace(shift, name=f"{product.name}.bias")),)
        # MatMul has no bias operand.
        operator = "Gemm" if product.operator == "MatMul" else product.operator
        return replace(product, operator=operator, inputs=inputs, outputs=normalization.outputs)


def _without_nothing(graph: Graph) -> Iterator[Node]:
    """Yield all nodes but those that do nothing; readers of their results read their operands."""
    same: dict[int, int] = {}
    for node in graph.nodes:
        if node.operator in _NOTHING and not _is_kept(graph.values, node.outputs):
            # Chains of identities end at their first operand.
            same[node.outputs[0]] = same.get(node.inputs[0], node.inputs[0])
            continue
        if same.keys().isdisjoint(node.inputs):
            yield node
        else:
            yield replace(node, inputs=tuple(same.get(value, value) for value in node.inputs))


def _is_kept(values: Sequence[Value], indices: Sequence[int]) -> bool:
    return any(values[index].keep for index in indices)
