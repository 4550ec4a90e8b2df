"""The layers of a network as matrix products, in forward order.

A layer is a product of data with a weight: a convolution (by im2col: one row an output pixel of the
batch; groups are products of their own), a fully connected layer, a gate of an LSTM cell. Products
of two activations, as the scores of attention, have no weight gradient and are left out: the
paper applies its orders "to layers where weight gradients and input gradients can be computed
using GEMM or convolution operations" (Kim et al., MICRO 2023, section 6.1).

A weight that is used several times (a gate in each time step, a head on several maps) gives a layer
each time; their weight gradients are summed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable

from spmopt.core.instance import TensorKind
from spmopt.graph import operators
from spmopt.graph.ir import Graph, Node
from spmopt.graph.operators.spec import Gemm, OperatorSpec, Style
from spmopt.tiles.layer import Layer

_MOVES = ("Transpose", "Cast")


def layers_of(graph: Graph) -> tuple[Layer, ...]:
    """Layers of a forward or training graph, named after their nodes, in the order of these.

    Returns
    -------
    tuple of Layer
        ``m`` rows of data (batch included), ``k`` inputs and ``n`` outputs of the weight,
        ``groups`` products; equal layers are repeated, see :func:`distinct`.
    """
    return tuple(
        _layer(node.name, product, transposed) for node, product, transposed in _trained(graph)
    )


def first_layers(graph: Graph) -> frozenset[str]:
    """Names of the layers whose input gradient nobody needs.

    Their input depends on no weight: the layers that read the network's inputs. Several networks
    have several; one that begins with trained embeddings has none.
    """
    trained = {index for index, value in enumerate(graph.values) if _is_weight(graph, index)}
    for node in graph.nodes:
        if not trained.isdisjoint(node.inputs):
            trained.update(node.outputs)
    return frozenset(
        node.name
        for node, product, transposed in _trained(graph)
        if trained.isdisjoint(node.inputs[k] for k in (product.b if transposed else product.a))
    )


def distinct(layers: Iterable[Layer]) -> tuple[tuple[Layer, int], ...]:
    """The first layer of each size, in order, and how many layers have this size."""
    first: dict[tuple[int, int, int, int], Layer] = {}
    count: dict[tuple[int, int, int, int], int] = {}
    for layer in layers:
        size = (layer.m, layer.k, layer.n, layer.groups)
        first.setdefault(size, layer)
        count[size] = count.get(size, 0) + 1
    return tuple((layer, count[size]) for size, layer in first.items())


def _trained(graph: Graph) -> list[tuple[Node, Gemm, bool]]:
    """Forward products with a weight: node, product, and whether the weight is on the left."""
    weights = {index for index, value in enumerate(graph.values) if _is_weight(graph, index)}
    found = []
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        if _keeps_weights(node, spec) and node.inputs[0] in weights:
            weights.update(node.outputs)
        # Operators of the backward pass have no rule for shapes.
        if spec.gemm is None or spec.shapes is None:
            continue
        product = spec.gemm(graph.shapes(node.inputs), graph.shapes(node.outputs), node.attributes)
        left, right = (
            any(node.inputs[k] in weights for k in side) for side in (product.a, product.b)
        )
        if left != right:
            found.append((node, product, left))
    return found


def _keeps_weights(node: Node, spec: OperatorSpec) -> bool:
    """Whether the result of a weight is that weight; rows that were looked up are data."""
    if node.operator == "Lookup":
        return False
    return spec.style is Style.VIEW or node.operator in _MOVES


def _is_weight(graph: Graph, index: int) -> bool:
    return graph.values[index].kind is TensorKind.WEIGHT


def _layer(name: str, product: Gemm, transposed: bool) -> Layer:
    """With the weight on the left, Y^T = X^T W^T is the layer."""
    m, n = (product.n, product.m) if transposed else (product.m, product.n)
    return Layer(name=name, m=m, k=product.k, n=n, groups=product.batch)
