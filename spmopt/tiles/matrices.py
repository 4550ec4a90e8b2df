"""The five matrices of a backward pass, their tiles as tensors, and what a tile product costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import Self

import numpy as np

from spmopt.core.instance import STATIONARY, STREAMED, Mode, Tensor, TensorKind
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.grid import Grid

INPUTS: Mapping[str, tuple[str, str]] = MappingProxyType({"dX": ("dY", "W"), "dW": ("dY", "X")})
"""What each gradient is the product of."""
AXES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"dY": (0, 2), "X": (0, 1), "W": (1, 2), "dX": (0, 1), "dW": (1, 2)}
)
"""The axes of each matrix: 0 along M, 1 along K, 2 along N."""
_SUMMED = {"dX": 2, "dW": 0}  # the axis that a gradient's products are summed over
_KINDS = {
    "dY": TensorKind.GRADIENT,
    "X": TensorKind.ACTIVATION,
    "W": TensorKind.WEIGHT,
    "dX": TensorKind.GRADIENT,
    "dW": TensorKind.WEIGHT_GRADIENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """The tiles of the matrices that some gradients need, as tensors.

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
    def of(cls, grid: Grid, gradients: Sequence[str], element_bytes: int) -> Self:
        """Tiles of ``gradients`` and of what they are the products of."""
        needed = {matrix for name in gradients for matrix in (*INPUTS[name], name)}
        sides = grid.sides
        sizes = {
            matrix: np.multiply.outer(sides[rows], sides[columns]) * element_bytes
            for matrix, (rows, columns) in AXES.items()
            if matrix in needed
        }
        ends = accumulate((size.size for size in sizes.values()), initial=0)
        return cls(first=dict(zip(sizes, ends, strict=False)), size_bytes=sizes)

    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors, named ``dY[i,j]`` and so on; gradients of the layer are to be kept."""
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


ModeOf = Callable[[str, int, int, int, bool], tuple[Mode, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Modes of tile products; there are few, because few sizes of tiles are."""

    machine: Machine
    element_bytes: int
    resident: bool

    def modes(self) -> ModeOf:
        """Return a function (gradient, elements along M, K, N, whether an update) -> modes."""
        return cache(self._modes)

    def _modes(self, gradient: str, m: int, k: int, n: int, update: bool) -> tuple[Mode, ...]:
        sides = (m, k, n)
        (rows, columns), summed = AXES[gradient], _SUMMED[gradient]
        # dX = dY W^T has rows along M and columns along K, dW = X^T dY along K and N.
        gemm = Gemm(m=sides[rows], k=sides[summed], n=sides[columns])
        left, right, result = (
            sides[a] * sides[b] * self.element_bytes
            for a, b in (AXES[matrix] for matrix in (*INPUTS[gradient], gradient))
        )
        operand = STATIONARY if self.resident else STREAMED
        mode = Mode(
            compute_cycles=compute_cycles(self.machine, 2 * gemm.macs, gemm),
            operands=(operand,) * 3,
            macs=gemm.macs,
            spm_read_bytes=left + right + (result if update else 0),
            spm_write_bytes=result,
        )
        return (mode,)
