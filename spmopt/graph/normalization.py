"""Training normalizations in two operations each: sums over the batch, and their users.

The statistics of a channel are known after its last element has been read, so that normalizing
reads X once more; a machine does it in one go only where all of X stays on chip. The gradient
needs sums of dY and of dY times the normalized X, which are those of bias and scale, before the
first element of dX. In two operations each can be cut along the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph.build import GraphBuilder
from spmopt.graph.naming import find_unused

_FORWARD, _BACKWARD = "BatchNormalizationTraining", "NormalizationGradient"


def split_normalizations(graph: Graph) -> Graph:
    """Return ``graph`` with training batch normalizations and their gradients in two operations.

    Forward: ``BatchNormalizationStatistics`` reads X and writes mean and deviation;
    ``BatchNormalization`` reads both and X, and writes Y. Backward: ``NormalizationGradientSums``
    reads dY, X and the statistics and writes the gradients of scale and bias;
    ``NormalizationGradientApply`` reads all of these and writes dX. The work is that of one
    operation. Left as it is: a gradient of scale and bias alone, which is but sums, and one that
    adds to gradients of a shared scale, whose sums are not its own.
    """
    step = _Split(graph)
    # Only normalizations of training have statistics to compute; others are one operation.
    if not step.forward:
        return graph
    for node in graph.nodes:
        step.nodes.extend(step.parts(node))
    return Graph(name=graph.name, values=tuple(step.values), nodes=tuple(step.nodes))


class _Split(GraphBuilder):
    """The growing graph. ``forward`` are normalizations, by the mean that they write."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.name)
        self.take_over(graph)
        self.forward = {node.outputs[1]: node for node in graph.nodes if node.operator == _FORWARD}

    def parts(self, node: Node) -> Iterator[Node]:
        """Yield the replacement of ``node``."""
        if node.operator == _FORWARD:
            statistics = node.outputs[1:3]
            yield self._part(node, "Statistics", node.inputs[:1], statistics)
            yield replace(
                node,
                operator="BatchNormalization",
                # X, scale and bias; the inference form takes statistics behind them.
                inputs=(*node.inputs[:3], *statistics),
                outputs=node.outputs[:1],
            )
        elif node.operator == _BACKWARD and self._is_split(node):
            dy, x, scale, mean, deviation = node.inputs
            # Inputs 1 and 2 of the forward node: gradients of scale and bias are the sums.
            sums = tuple(self._sum(node, of) for of in self.forward[mean].inputs[1:3])
            yield self._part(node, "Sums", (dy, x, mean, deviation), sums)
            yield replace(
                node,
                operator=f"{_BACKWARD}Apply",
                inputs=(dy, x, scale, mean, deviation, *sums),
                outputs=node.outputs[:1],
            )
        else:
            yield node

    def _is_split(self, node: Node) -> bool:
        if len(node.inputs) != 5 or node.inputs[3] not in self.forward:
            return False
        x, first = self.values[node.inputs[1]], self.values[node.outputs[0]]
        # The first output is dX only if X needs a gradient; else it is that of the scale.
        return x.shape == first.shape

    def _sum(self, node: Node, weight: int) -> int:
        """Return the gradient of a scale or bias; a new value where the node does not write it."""
        name = f"{self.values[weight].name}.gradient"
        for value in node.outputs[1:]:
            # The training graph names gradients after their weight; a number may follow.
            if self.values[value].name.startswith(name):
                return value
        like = self.values[weight]
        return self.add_value(
            Value(
                name=name,
                shape=like.shape,
                element_type=like.element_type,
                kind=TensorKind.GRADIENT,
            )
        )

    def _part(
        self, node: Node, part: str, inputs: tuple[int, ...], outputs: tuple[int, ...]
    ) -> Node:
        operator = _BACKWARD if node.operator == _BACKWARD else "BatchNormalization"
        return replace(
            node,
            name=find_unused(f"{node.name}.{part.lower()}", self.node_names),
            operator=f"{operator}{part}",
            inputs=inputs,
            outputs=outputs,
        )
