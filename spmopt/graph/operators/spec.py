"""What the program must know of an operator, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from spmopt.graph.ir import Attribute

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]
Attributes = Mapping[str, Attribute]


class Style(StrEnum):
    """How lowering treats an operator (problem statement, section 1)."""

    GEMM = "gemm"  # Conv, Gemm, MatMul and their gradients: one operand stationary
    POINTWISE = "pointwise"  # every operand streams once
    VIEW = "view"  # shape-only: the result is the operand, no data moves


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """The matrix product behind an operator: ``batch`` products of (m, k) by (k, n)."""

    m: int
    k: int
    n: int
    batch: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.batch * self.m * self.k * self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientRule:
    """One gradient operation of a node.

    ``of`` are the positions of the inputs whose gradients it computes (dX: one operation;
    dW: another; a point-wise operator may give several at once). ``reads`` names what it
    reads beside dY: ``("x", 0)`` is input 0, ``("y", 0)`` is output 0.
    """

    of: tuple[int, ...]
    reads: tuple[tuple[str, int], ...]
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec:
    """Rules of one operator; every callable takes input shapes, output shapes, attributes.

    ``operations`` counts multiplications and additions separately (2 per MAC). ``gemm`` is
    given for style GEMM only.
    """

    name: str
    style: Style
    shapes: Callable[[Shapes, Attributes], Shapes]
    operations: Callable[[Shapes, Shapes, Attributes], int]
    gemm: Callable[[Shapes, Shapes, Attributes], Gemm] | None = None
    gradients: Callable[[Shapes, Shapes, Attributes], tuple[GradientRule, ...]] | None = None
