"""Operators of integer networks for embedded targets, which are in no standard.

Tools that write them (QuantLib, Deeploy) differ in their arithmetic. Residues of sums stand for it:
they depend on every operand at its place, and rows, where an operator has them, on all of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spmopt.execution.kernels.call import WRAP, Array, Call, NodeKernel, residue
from spmopt.execution.kernels.reductions import axes_reduced
from spmopt.graph.operators.attributes import integer


def _per_channel(of: Array, x: Array) -> Array:
    """Return figures of channels, the second axis, as X broadcasts them; of all, or of the last."""
    if of.ndim == 1 and x.ndim > 1 and of.size == x.shape[1] != x.shape[-1]:
        return of.reshape((1, -1, *(1,) * (x.ndim - 2)))
    return of


def _typed(call: Call, total: Array) -> Sequence[Array]:
    """Return whole numbers of the type of the result."""
    found, dtype = residue(total), call.dtypes[0] if call.dtypes else np.dtype(np.int64)
    return [(np.mod(found, 2 * WRAP) if dtype.kind == "u" else found).astype(dtype)]


def _sum(axes: Callable[[Call], tuple[int, ...]]) -> NodeKernel:
    """Return the sum of operands, of odd multiples, and of the row along ``axes``."""

    def kernel(call: Call) -> Sequence[Array]:
        x, *figures = (each.astype(np.float64) for each in call.inputs)
        # Odd factors: no operand vanishes modulo 16.
        total = x + 3 * np.sum(x, axis=gone, keepdims=True) if (gone := axes(call)) else x
        for place, each in enumerate(figures):
            total = total + (2 * place + 3) * _per_channel(each, x)
        return _typed(call, total)

    return kernel


def _of_reduction(call: Call) -> Sequence[Array]:
    (x,), (shape,) = call.inputs, call.shapes
    return _typed(call, np.sum(x, axis=axes_reduced(call, x.ndim), dtype=float).reshape(shape))


def _from_axis(call: Call) -> tuple[int, ...]:
    rank = call.inputs[0].ndim
    return tuple(range(integer(call.attributes, "axis", -1) % rank, rank))


KERNELS: Mapping[str, NodeKernel] = {
    **dict.fromkeys(
        (
            *("RequantShift", "ai.onnx.contrib.RequantShift", "PACTOps.RequantShift", "iNoNorm"),
            *("TrueIntegerDiv", "IntegerDiv", "iGELU", "iHardswish"),
            *("RequantizediGELU", "RequantizediHardswish"),
        ),
        _sum(lambda call: ()),
    ),
    **dict.fromkeys(("iSoftmax", "ITAMax", "ITAPartialMax"), _sum(lambda call: (call.axis(),))),
    **dict.fromkeys(("iLayerNorm", "iRMSNorm"), _sum(_from_axis)),
    "IntegerMean": _of_reduction,
}
