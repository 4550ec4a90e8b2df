"""The matrices of a layer's passes, their tiles as tensors, and what a tile product costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from types import MappingProxyType
from typing import Self

import numpy as np

from spmopt.core.instance import Tensor, TensorKind
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.grid import Grid

INPUTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"dX": ("dY", "W"), "dW": ("dY", "X"), "Y": ("X", "W")}
)
"""What each result is the product of, in the order of the products' numbers (see Grid)."""
RESULTS = tuple(INPUTS)
GRADIENTS = RESULTS[:2]
AXES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"dY": (0, 2), "X": (0, 1), "W": (1, 2), "dX": (0, 1), "dW": (1, 2), "Y": (0, 2)}
)
"""The axes of each matrix: 0 along M, 1 along K, 2 along N."""
_SUMMED = {"dX": 2, "dW": 0, "Y": 1}  # the axis that a result's products are summed over
_KINDS = {
    "dY": TensorKind.GRADIENT,
    "X": TensorKind.ACTIVATION,
    "W": TensorKind.WEIGHT,
    "dX": TensorKind.GRADIENT,
    "dW": TensorKind.WEIGHT_GRADIENT,
    "Y": TensorKind.ACTIVATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """The tiles of the matrices that some results need, as tensors.

    Attributes
    ----------
    first
        Tensor of each matrix's first tile; the others follow by rows.
    size_bytes
        Of each matrix's tiles, in its two axes.
    """

    first: Mapping[str, int]
    size_bytes: Mapping[str, Ints]

    @classmethod
    def of(cls, grid: Grid, results: Sequence[str], element_bytes: int) -> Self:
        """Tiles of ``results`` and of what they are the products of."""
        needed = {matrix for name in results for matrix in (*INPUTS[name], name)}
        sides = grid.sides
        sizes = {
            matrix: np.multiply.outer(sides[rows], sides[columns]) * element_bytes
            for matrix, (rows, columns) in AXES.items()
            if matrix in needed
        }
        ends = accumulate((size.size for size in sizes.values()), initial=0)
        return cls(first=dict(zip(sizes, ends, strict=False)), size_bytes=sizes)

    @property
    def count(self) -> int:
        """Tiles of all these matrices."""
        return sum(sizes.size for sizes in self.size_bytes.values())

    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors, named ``dY[i,j]`` and so on; results are to be kept."""
        return tuple(
            Tensor(
                name=f"{matrix}[{row},{column}]",
                size_bytes=size,
                kind=_KINDS[matrix],
                in_dram=matrix not in INPUTS,
                keep=matrix in INPUTS,
            )
            for matrix, sizes in self.size_bytes.items()
            for row, line in enumerate(sizes.tolist())
            for column, size in enumerate(line)
        )

    def touched(self, matrix: str, place: Sequence[Ints]) -> Ints:
        """Tensor of the tile of ``matrix`` that the products at (i, k, j) have to do with."""
        row, column = (place[axis] for axis in AXES[matrix])
        number: Ints = self.first[matrix] + row * self.size_bytes[matrix].shape[1] + column
        return number

    def operands(self, grid: Grid, products: Ints) -> Ints:
        """(n, 3) Tensors of the two tiles multiplied and of the result, for each product."""
        operands: Ints = np.empty((products.size, 3), np.int64)
        number = products // grid.products
        for result, name in enumerate(RESULTS):
            chosen: Bools = number == result
            if chosen.any():
                place = grid.indices(products[chosen])
                for column, matrix in enumerate((*INPUTS[name], name)):
                    operands[chosen, column] = self.touched(matrix, place)
        return operands


def product_cycles(
    grid: Grid, machine: Machine, cores: int = 1, *, results: Sequence[str] = GRADIENTS
) -> Ints:
    """(2 I K J,) Compute cycles of each tile product on one of ``cores``, by its number.

    Those of a matrix product of the tile's size (:mod:`spmopt.graph.cycles`): on the array, which
    each core has, or else at the core's share of the machine's rate.
    """
    cycles: Ints = np.empty((len(results), *grid.shape), np.int64)
    sides = grid.sides
    # Few sizes of tiles are there: a row of tiles is cut short at its end only.
    for lengths in product(*(sorted(set(side.tolist())) for side in sides)):
        same = np.ix_(*(side == length for side, length in zip(sides, lengths, strict=True)))
        for number, result in enumerate(results):
            # dX = dY W^T has rows along M and columns along K, dW = X^T dY along K and N.
            (rows, columns), summed = AXES[result], _SUMMED[result]
            gemm = Gemm(m=lengths[rows], k=lengths[summed], n=lengths[columns])
            cycles[number][same] = compute_cycles(machine, cores * 2 * gemm.macs, gemm)
    return cycles.reshape(-1)
