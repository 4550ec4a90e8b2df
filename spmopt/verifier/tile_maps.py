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

from spmopt.core.loops import Index, Statement
from spmopt.core.table import Ints

Box = Mapping[str, tuple[int, int]]
"""Where each loop runs, from one index to before another."""


def indices_over(index: Index, box: Box) -> Ints:
    """Return all indices along an axis over a box, in ascending order, each once."""
    steps = (coefficient * np.arange(*box[loop]) for loop, coefficient in index.terms)
    first = np.array([index.offset], np.int64)
    every = reduce(lambda found, step: np.unique(np.add.outer(found, step)), steps, first)
    if index.exact:
        every = every[every % index.divisor == 0]
    return every if index.divisor == 1 else np.unique(every // index.divisor)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMap:
    """A node: loops and how far they run, statements in order, and the values of its operands."""

    name: str
    extents: Mapping[str, int]
    statements: tuple[Statement, ...]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMap:
    """A value: a shape that its tensor is seen in, and the axes that its parts are parts of.

    ``axes``: those of fusion tiles, then rows; None where this shape has no such axis. ``runs``:
    how many elements of each such axis stand in memory one after another from its beginning, at
    which stride. ``tensor`` is -1 where no node uses it.
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
