"""Loop nests over tiles of a convolution or one of its gradients, counted element by element.

Nothing here knows lines, halos or strides: only which elements of the feature map each product of
a position and a row of the weights touches. One byte an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from spmopt.core.graph import Graph, Node
from spmopt.graph import operators
from spmopt.graph.buffers import window_buffers
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tiles import DIMENSIONS, LACKS, Product, ProductTensors
from spmopt.graph.training import training_graph

FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT = "Conv", "ConvInputGradient", "ConvWeightGradient"
_MAPS = {FORWARD: 0, INPUT_GRADIENT: 2, WEIGHT_GRADIENT: 0}
"""Of A, B and C the feature map over which windows slide."""
_POSITIONS = {FORWARD: 0, INPUT_GRADIENT: 0, WEIGHT_GRADIENT: 1}
"""Of m, k and n that of positions."""


@dataclass(frozen=True, kw_only=True)
class Convolution:
    """X (images, channels, rows, columns) under windows of ``kernel``, to ``filters`` channels."""

    shape: tuple[int, int, int, int]
    kernel: tuple[int, int]
    filters: int = 2
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int] = (0, 0)
    dilations: tuple[int, int] = (1, 1)

    @cached_property
    def graph(self) -> Graph:
        """It in training, behind a layer so that X has a gradient."""
        b = GraphBuilder("one")
        channels = self.shape[1]
        x = b.add(
            "Conv", [b.input("x", self.shape), b.weight("v", (channels, channels, 1, 1))], name="v"
        )
        y = b.add(
            "Conv",
            [x, b.weight("w", (self.filters, channels, *self.kernel))],
            name="c",
            strides=self.strides,
            dilations=self.dilations,
            pads=self.pads * 2,
        )
        return training_graph(b.finish([y]))

    def node(self, operator: str) -> Node:
        """The layer, or one of its gradients."""
        own = [
            n for n in self.graph.nodes if n.operator == operator and n.name.split(".")[0] == "c"
        ]
        return own[0]

    def product(self, operator: str) -> Product:
        """Its product, as in a problem."""
        node = self.node(operator)
        inputs, outputs = self.graph.shapes(node.inputs), self.graph.shapes(node.outputs)
        shapes = dict(zip(("x0", "x1", "y0"), (*inputs, *outputs), strict=True))
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        rule = operators.lookup(operator).gemm
        assert rule is not None
        nest = operators.computation(node, inputs, outputs)
        found = window_buffers(nest, shapes, dict(zip(shapes, sizes, strict=True)))
        maps = {place: found[name] for place, name in enumerate(shapes) if name in found}
        gemm = rule(inputs, outputs, node.attributes)
        return ProductTensors(gemm, [0, 1], [2], sizes, maps=maps).product

    @cached_property
    def touches(self) -> Sequence[np.ndarray]:
        """Elements of X (positions, channels x taps) as numbers, -1 in padding.

        With positions along rows, and along columns.
        """
        return [self._touches(*order) for order in ((0, 1, 2), (0, 2, 1))]

    @property
    def positions(self) -> int:
        """Of one image."""
        return len(self.touches[0]) // self.shape[0]

    def _touches(self, *order: int) -> np.ndarray:
        images, channels, rows, columns = self.shape
        (kh, kw), (sh, sw), (dh, dw), (ph, pw) = (
            self.kernel, self.strides, self.dilations, self.pads
        )  # fmt: skip
        oh = (rows + 2 * ph - dh * (kh - 1) - 1) // sh + 1
        ow = (columns + 2 * pw - dw * (kw - 1) - 1) // sw + 1
        n, y, x = (
            each.reshape(-1, 1)
            for each in np.indices((images, oh, ow)).transpose(0, *(1 + k for k in order))
        )
        c, i, j = (each.reshape(1, -1) for each in np.indices((channels, kh, kw)))
        row, column = y * sh + i * dh - ph, x * sw + j * dw - pw
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return np.where(inside, ((n * channels + c) * rows + row) * columns + column, -1)


@dataclass(frozen=True, kw_only=True)
class Nest:
    """Loops over tiles of a product, the innermost past a tile of the operand ``kept``."""

    layer: Convolution
    operator: str
    product: Product
    kept: int
    tile: tuple[int, int, int]
    order: tuple[int, ...] = ()
    columns: bool = False

    @property
    def map(self) -> int:
        """The operand over which windows slide."""
        return _MAPS[self.operator]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the tile of positions and of channels of the map that each step needs."""
        trips = [-(-s // t) for s, t in zip(self.product.dimensions, self.tile, strict=True)]
        positions = _POSITIONS[self.operator]
        (channels,) = {*DIMENSIONS[self.map]} - {positions}
        loops = (*self.order, LACKS[self.kept])
        last = None
        for at in product(*(range(trips[d]) for d in loops)):
            place = dict(zip(loops, at, strict=True))
            if (found := (place[positions], place[channels])) != last:
                last = found
                yield found

    def needs(self, of_positions: int, of_channels: int) -> np.ndarray:
        """Return which elements of the map a tile touches."""
        positions = _POSITIONS[self.operator]
        (channels,) = {*DIMENSIONS[self.map]} - {positions}
        touches = self.layer.touches[self.columns]
        length = self.tile[positions]
        # A row of the weights is a tap; the product may count them by channels.
        taps = self.tile[channels] * touches.shape[1] // self.product.dimensions[channels]
        own = touches[
            of_positions * length : (of_positions + 1) * length,
            of_channels * taps : (of_channels + 1) * taps,
        ]
        found = np.zeros(int(np.prod(self.layer.shape)), bool)
        found[own[own >= 0]] = True
        return found

    def room(self, copies: int) -> int:
        """Return the bytes of the map that are on chip at once, if none comes twice in a pass.

        With two ``copies`` the new part of the next tile arrives meanwhile; where windows begin
        anew it arrives as the last tile leaves.
        """
        steps = [*self.steps()]
        passes = np.zeros(len(steps), int)
        seen: dict[tuple[int, int], int] = {}
        for k, step in enumerate(steps):
            passes[k] = seen[step] = seen.get(step, -1) + 1
        need = np.array([self.needs(*step) for step in steps])
        held = np.zeros_like(need, int)
        new = np.zeros_like(need)
        for each in range(passes.max() + 1):
            rows = np.flatnonzero(passes == each)
            own = need[rows]
            first, last = own.argmax(axis=0), len(own) - 1 - own[::-1].argmax(axis=0)
            used = own.any(axis=0)
            begin, end = rows[first], rows[last]
            at = np.arange(len(steps))[:, None]
            held += (begin <= at) & (at <= end) & used
            new |= (begin == at) & used
        peaks = held.sum(axis=1)
        arriving = np.append(new[1:].sum(axis=1), 0)
        for k, (one, other) in enumerate(pairwise(steps)):
            at_image = other[0] * self.tile[_POSITIONS[self.operator]] % self.layer.positions == 0
            onwards = other[0] == one[0] + 1 and not at_image
            arriving[k] *= onwards or other[0] == one[0] > 0
        return int((peaks + (copies - 1) * arriving).max())


def loads(nest: Nest) -> int:
    """Return how often the map comes, in passes."""
    steps = [*nest.steps()]
    return max(steps.count(step) for step in {*steps})


def least_room(nest: Nest, copies: int) -> int:
    """Return the least room of both orders of the outer loops that pass as often as stated."""
    outer = [d for d in range(3) if d != LACKS[nest.kept]]
    passes = (
        1
        if nest.kept == nest.map
        else -(-nest.product.dimensions[LACKS[nest.map]] // nest.tile[LACKS[nest.map]])
    )
    every = [
        replace(nest, order=tuple(order), columns=columns)
        for order, columns in product((outer, outer[::-1]), (False, True))
    ]
    return min(each.room(copies) for each in every if loads(each) <= passes)


def tiles_of(found: Product, kept: int) -> Iterator[tuple[int, int, int]]:
    """Yield all tiles, one thick along the innermost loop."""
    sides: list[Sequence[int]] = [range(1, size + 1) for size in found.dimensions]
    sides[LACKS[kept]] = (1,)
    yield from product(*sides)
