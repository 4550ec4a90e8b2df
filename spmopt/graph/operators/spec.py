"""Specification of an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from spmopt.core.graph import Attribute

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]
Attributes = Mapping[str, Attribute]
Needed = frozenset[int]


class Style(StrEnum):
    """How lowering treats an operator (PROBLEM.md, section 1)."""

    GEMM = "gemm"  # Conv, Gemm, MatMul and their gradients: one operand required-resident, or tiles
    POINTWISE = "pointwise"  # operands stream
    VIEW = "view"  # shape-only: the result is the operand, no data moves


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """The matrix product behind an operator: ``batch`` products of (m, k) by (k, n).

    Attributes
    ----------
    a, b, c
        Positions of the inputs that make up A (m, k) and B (k, n), and of the outputs that
        make up C (m, n). Inputs and outputs named by none of them (a bias) are streamed.
    slices
        Independent slices of A, B and C that a batched product works through one after
        another: of a required-resident operand one slice is enough. 1: all of it is needed
        (groups of a convolution too, whose rows hold all channels).
    taps
        Elements of a window that each of ``m``, ``k`` and ``n`` counts for a channel of a map.
    """

    m: int
    k: int
    n: int
    batch: int = 1
    a: tuple[int, ...] = (0,)
    b: tuple[int, ...] = (1,)
    c: tuple[int, ...] = (0,)
    slices: tuple[int, int, int] = (1, 1, 1)
    taps: tuple[int, int, int] = (1, 1, 1)

    @property
    def window(self) -> int:
        """Elements of a window that ``k`` counts, with as many input channels each."""
        return self.taps[1]

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.batch * self.m * self.k * self.n

    def roles(self, inputs: Sequence[int], outputs: Sequence[int]) -> tuple[list[int], ...]:
        """Return the tensors that make up A, B and C, of the inputs and outputs of a node."""
        places = ((self.a, inputs), (self.b, inputs), (self.c, outputs))
        return tuple([tensors[k] for k in positions] for positions, tensors in places)


ShapeRule = Callable[[Shapes, Attributes], Shapes]
"""Shapes of the results, from those of the inputs."""
Computes = Callable[[Shapes, Shapes, Attributes], str]
"""The computation, as a text for :mod:`spmopt.graph.operators.loops`."""
GemmRule = Callable[[Shapes, Shapes, Attributes], Gemm]
"""The matrix product behind an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientRule:
    """One gradient operation of a node.

    Its inputs are the gradients of the node's outputs (those that have one: a loss at the end
    of the graph has none, its gradient is 1), then the tensors of ``reads``:
    ``("x", 0)`` is input 0 of the node, ``("y", 0)`` its output 0. Its outputs are the
    gradients of the node's inputs ``of``. It inherits the node's attributes.
    """

    of: tuple[int, ...]
    reads: tuple[tuple[str, int], ...]
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingForm:
    """Replacement of an operator in a training graph.

    ``operator`` takes the inputs at positions ``inputs``, and may write more (a mask, saved
    statistics) after the results of the operator that it replaces.
    """

    operator: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec:
    """Rules of one operator; every callable takes input shapes, output shapes, attributes.

    Attributes
    ----------
    shapes
        Result shapes. None for operators of the backward pass, whose results have the shapes
        of the tensors that they are gradients of (or that they update).
    operations
        Multiplications, additions, comparisons and elementary functions, one each (2 per MAC).
    special
        Those of ``operations`` that are divisions, roots, powers or other elementary functions,
        which a machine may be slower at.
    gemm
        For style GEMM only.
    second
        A second matrix product: of a softmax of the first, whose result is no tensor, nor then in
        ``c``; or of an operand of the first, as the two gradients of a layer are.
    gradients
        Gradient operations for the inputs in the last argument (those that need one), in the
        order in which they run. None: not differentiable.
    accumulates
        A gradient operator that adds to its results in place when they exist already.
    computes
        Its computation, as a text for :mod:`spmopt.graph.operators.loops`.
    result_types
        Element types of the results, from those of the inputs; the last is that of all further
        results. By default all are that of input 0.
    constants
        Inputs of ONNX that are attributes here, by position: ``{1: "shape"}``.
    loose
        Positions of constants whose contents need not be known: then they are operands.
    states
        Positions of inputs that are neither data nor trained (running statistics).
    training
        Replacement of the operator in a training graph, where it differs.
    loss
        A result of this operator that is an output of the graph begins the backward pass.
    stated
        Result shapes are stated where it is used (a file, the inference of ONNX), for they follow
        from data or from contents of inputs; ``shapes`` is None.
    scales
        Positions of inputs that are left out where they are single numbers known beforehand.
    refused
        Why there is no rule, and the remedy; nothing else holds then.
    assumed
        Class that a user gave it in place of a rule of its own: its cost is an assumption.
    """

    name: str
    style: Style
    shapes: ShapeRule | None
    operations: Callable[[Shapes, Shapes, Attributes], int]
    special: Callable[[Shapes, Shapes, Attributes], int] = lambda *of: 0
    gemm: GemmRule | None = None
    second: GemmRule | None = None
    gradients: Callable[[Shapes, Shapes, Attributes, Needed], tuple[GradientRule, ...]] | None = (
        None
    )
    accumulates: bool = False
    computes: Computes | None = None
    result_types: Callable[[tuple[str, ...], Attributes], tuple[str, ...]] | None = None
    constants: Mapping[int, str] | None = None
    loose: tuple[int, ...] = ()
    states: tuple[int, ...] = ()
    training: TrainingForm | None = None
    loss: bool = False
    stated: bool = False
    scales: tuple[int, ...] = ()
    refused: str = ""
    assumed: str = ""
