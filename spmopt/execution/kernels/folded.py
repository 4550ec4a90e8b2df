"""Operators of floating point whose operands are integers.

Where a pair of conversions has become part of an operator (:mod:`spmopt.graph.quantization`), it
reads integers, and behind its operands scales of channels. The scales of a product multiply its
result; scales and zeros of one number are lost, as in :mod:`.quantized`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.execution.kernels import integers, quantized, selecting
from spmopt.execution.kernels.call import Array
from spmopt.execution.kernels.onnx_reference import takes_bytes

_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum")
_ANY = {*integers.KERNELS, *quantized.KERNELS, *selecting.KERNELS}


def plain_operands(operator: str, inputs: Sequence[Array]) -> tuple[list[Array], Sequence[Array]]:
    """Return operands that an operator can compute with, and scales of its result."""
    mixed = any(each.dtype.kind == "f" for each in inputs)
    own = operator in _ANY or "." in operator
    takes = own or (takes_bytes(operator) and not mixed)
    if takes or not any(_is_narrow(each) for each in inputs):
        return list(inputs), ()
    count = len(inputs)
    real = next((each.dtype for each in inputs if each.dtype.kind == "f"), np.dtype(np.float32))
    if operator in _PRODUCTS:
        rest = inputs[2:]
        first = rest[0] if rest else None
        bias = first is not None and (first.dtype.kind in "iu" or len(rest) > 1)
        count = 2 + (bias and operator not in ("MatMul", "Einsum"))
        plain = [each.astype(real) if each.dtype.kind in "iu" else each for each in inputs]
    else:
        plain = [each.astype(real) if _is_narrow(each) else each for each in inputs]
    return plain[:count], inputs[count:]


def scale(operator: str, result: Array, scales: Sequence[Array]) -> Array:
    """Return a result times the scales of its channels, or their sum if they are of other axes."""
    axis = 1 if operator.startswith("Conv") else -1
    for each in scales:
        result = result * quantized.spread(each, result.shape, axis).astype(result.dtype)
    return result


def _is_narrow(array: Array) -> bool:
    return array.dtype.kind in "iu" and array.dtype.itemsize < 4
