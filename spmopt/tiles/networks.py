"""The layers of a network as matrix products, in forward order.

A layer is a product of data with a weight: a convolution (by im2col: one row an output pixel of the
batch; groups are products of their own), a fully connected layer, a gate of an LSTM cell. Products
of two activations, as the scores of attention, have no weight gradient: the paper applies its
orders "to layers where weight gradients and input gradients can be computed using GEMM or
convolution operations" (Kim et al., MICRO 2023, section 6.1). They are left out unless asked for,
though their two gradients are the same products, W and dW being activations, one group a slice.

A weight that is used several times (a gate in each time step, a head on several maps) gives a layer
each time; their weight gradients are summed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from spmopt.core.graph import Graph, Node
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.operators.spec import Gemm, OperatorSpec, Style
from spmopt.graph.operators.windows import sliding
from spmopt.tiles.layer import Layer
from spmopt.tiles.window import Window

_MOVES = ("Transpose", "Cast")
_CONVOLUTIONS = ("Conv", "ConvTranspose")
_DIMENSIONS = 2
_BEFORE_KERNEL = 2  # channels of the result, and of the data of a group


def layers_of(graph: Graph, *, of_activations: bool = False) -> tuple[Layer, ...]:
    """List layers of a forward or training graph, named after their nodes, in order of these.

    Parameters
    ----------
    of_activations
        Whether products of two activations are among them.

    Returns
    -------
    tuple of Layer
        ``m`` rows of data (batch included), ``k`` inputs and ``n`` outputs of the weight,
        ``groups`` products; equal layers are repeated, see :func:`distinct`.
    """
    return tuple(
        _sliding(_layer(node.name, each.gemm, each.left), graph, node)
        for node, each in _products(graph)
        if each.is_trained or (of_activations and each.is_of_activations)
    )


def products_of_activations(graph: Graph) -> tuple[str, ...]:
    """Return names of the products of two activations."""
    return tuple(node.name for node, each in _products(graph) if each.is_of_activations)


def first_layers(graph: Graph) -> frozenset[str]:
    """Return names of the layers whose input gradient nobody needs.

    Their input depends on no weight: the layers that read the network's inputs. Several networks
    have several; one that begins with trained embeddings has none.
    """
    # A layer whose input depends on a weight must pass its gradient on.
    trained = {index for index, value in enumerate(graph.values) if _is_weight(graph, index)}
    for node in graph.nodes:
        if not trained.isdisjoint(node.inputs):
            trained.update(node.outputs)
    return frozenset(
        node.name
        for node, each in _products(graph)
        if each.is_trained and trained.isdisjoint(node.inputs[k] for k in each.data)
    )


def distinct(layers: Iterable[Layer]) -> tuple[tuple[Layer, int], ...]:
    """Give the first layer of each size, in order, and how many layers have this size."""
    alike: dict[Layer, list[Layer]] = {}
    for layer in layers:
        alike.setdefault(replace(layer, name=""), []).append(layer)
    return tuple((same[0], len(same)) for same in alike.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Product:
    """A forward product, and which of its operands are weights."""

    gemm: Gemm
    left: bool
    right: bool

    @property
    def is_trained(self) -> bool:
        return self.left != self.right

    @property
    def data(self) -> tuple[int, ...]:
        """Inputs that are no weight."""
        return self.gemm.b if self.left else self.gemm.a

    @property
    def is_of_activations(self) -> bool:
        """And every slice has operands of its own: none of its gradients is a sum over slices."""
        slices = self.gemm.slices
        return not (self.left or self.right) and set(slices) == {self.gemm.batch}


def _products(graph: Graph) -> list[tuple[Node, _Product]]:
    """Return nodes that are forward products."""
    weights = {index for index, value in enumerate(graph.values) if _is_weight(graph, index)}
    found = []
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        if _keeps_weights(node, spec) and node.inputs[0] in weights:
            weights.update(node.outputs)
        # Operators of the backward pass have no rule for shapes.
        if spec.gemm is None or spec.shapes is None:
            continue
        gemm = spec.gemm(graph.shapes(node.inputs), graph.shapes(node.outputs), node.attributes)
        left, right = (any(node.inputs[k] in weights for k in side) for side in (gemm.a, gemm.b))
        found.append((node, _Product(gemm=gemm, left=left, right=right)))
    return found


def _sliding(layer: Layer, graph: Graph, node: Node) -> Layer:
    """Add the kernel of a convolution, and how it slides where it has one or two dimensions.

    Where the im2col matrix has each element of the feature map once, it is that.
    """
    if node.operator not in _CONVOLUTIONS:
        return layer
    kernel = prod(graph.values[node.inputs[1]].shape[_BEFORE_KERNEL:])
    image = graph.values[node.inputs[0]].shape[_BEFORE_KERNEL:]
    if node.operator != "Conv" or len(image) > _DIMENSIONS:
        return replace(layer, kernel=kernel)
    window = _window(graph, node)
    return layer if window.is_plain else replace(layer, kernel=kernel, window=window)


def _window(graph: Graph, node: Node) -> Window:
    """Return how a convolution of one or two dimensions reads its feature map."""
    image = graph.values[node.inputs[0]].shape[_BEFORE_KERNEL:]
    kernel = graph.values[node.inputs[1]].shape[_BEFORE_KERNEL:]
    slides = sliding(image, kernel, node.attributes)
    output = graph.values[node.outputs[0]].shape[_BEFORE_KERNEL:]
    return Window(
        image=_pair(image, 1),
        kernel=_pair(kernel, 1),
        output=_pair(output, 1),
        strides=_pair(slides.strides, 1),
        padding=_pair(slides.begins, 0),
        dilations=_pair(slides.dilations, 1),
    )


def _pair(sizes: tuple[int, ...], height: int) -> tuple[int, int]:
    """Take tensors with a width alone as one row."""
    *rows, width = sizes
    return (rows[0] if rows else height), width


def _keeps_weights(node: Node, spec: OperatorSpec) -> bool:
    """Return whether the result of a weight is that weight; rows that were looked up are data."""
    if node.operator == "Lookup":
        return False
    return spec.style is Style.VIEW or node.operator in _MOVES


def _is_weight(graph: Graph, index: int) -> bool:
    return graph.values[index].kind is TensorKind.WEIGHT


def _layer(name: str, product: Gemm, transposed: bool) -> Layer:
    """Make a layer; with the weight on the left it is Y^T = X^T W^T."""
    m, n = (product.n, product.m) if transposed else (product.m, product.n)
    return Layer(name=name, m=m, k=product.k, n=n, groups=product.batch)
