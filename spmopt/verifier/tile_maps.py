"""Computations, inputs and results of tiles of operations.

Boxes of loops, affine maps, parts of tensors. Plain records, which the caller makes
of a graph and of the names in a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from spmopt.core.table import Ints

Box = Mapping[str, tuple[int, int]]
"""Where each loop runs, from one index to before another."""


@dataclass(frozen=True, slots=True)
class AxisMap:
    """An index along an axis: ``offset`` and each loop times its coefficient, by ``divisor``.

    The quotient is rounded down; or, if it is ``exact``, it is no index where it is not whole.
    """

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0
    divisor: int = 1
    exact: bool = False

    @property
    def loops(self) -> frozenset[str]:
        """The loops that it depends on."""
        return frozenset(loop for loop, _ in self.terms)

    def image(self, box: Box) -> Ints:
        """Return all indices over a box, in ascending order, each once."""
        steps = (coefficient * np.arange(*box[loop]) for loop, coefficient in self.terms)
        first = np.array([self.offset], np.int64)
        every = reduce(lambda found, step: np.unique(np.add.outer(found, step)), steps, first)
        if self.exact:
            every = every[every % self.divisor == 0]
        return every if self.divisor == 1 else np.unique(every // self.divisor)


@dataclass(frozen=True, slots=True)
class AccessMap:
    """Elements of an operand, by its name in the operation: an index an axis, None for all of it.

    A name that is no operand is of a value within the operation.
    """

    operand: str
    axes: tuple[AxisMap | None, ...]

    @property
    def loops(self) -> frozenset[str]:
        """The loops that it depends on."""
        return frozenset[str]().union(*(axis.loops for axis in self.axes if axis is not None))


@dataclass(frozen=True, slots=True)
class StatementMap:
    """``target`` gets a function of ``reads``, combined over the loops that it lacks."""

    target: AccessMap
    reads: tuple[AccessMap, ...]

    @property
    def loops(self) -> frozenset[str]:
        """All loops."""
        return self.target.loops.union(*(access.loops for access in self.reads))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMap:
    """A node: loops and how far they run, statements in order, and the values of its operands."""

    name: str
    extents: Mapping[str, int]
    statements: tuple[StatementMap, ...]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMap:
    """A value: a shape that its tensor is seen in, and the axes that its parts are parts of.

    ``axes``: the batch, then rows; None where this shape has no such axis. ``runs``: how many
    elements of each such axis stand in memory one after another from its beginning, at which
    stride. ``tensor`` is -1 where no node uses it.
    """

    shape: tuple[int, ...]
    tensor: int
    axes: tuple[int | None, ...]
    runs: tuple[tuple[int, int], ...]


class Share(NamedTuple):
    """Of ``of`` equal shares of an axis those from ``begin`` to before ``end``."""

    begin: int = 0
    end: int = 1
    of: int = 1

    def of_axis(self, size: int) -> tuple[int, int]:
        """Return the indices along an axis, from one to before another."""
        return size * self.begin // self.of, size * self.end // self.of


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMap:
    """A part of a tensor: its shares of the axes of ``ValueMap.axes``."""

    name: str
    tensor: int
    shares: tuple[Share, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TileMap:
    """An operation that computes a box of a node's loops; of a loop that is not named all of it.

    ``reads`` and ``writes`` are parts.
    """

    name: str
    node: int
    box: Box
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class TileMaps:
    """Nodes in order, and the operations in order that are said to compute them.

    Attributes
    ----------
    tensors
        Name and bytes of each.
    """

    tensors: Sequence[tuple[str, int]]
    values: Sequence[ValueMap]
    nodes: Sequence[NodeMap]
    parts: Sequence[PartMap]
    fusion_tiles: Sequence[TileMap]
