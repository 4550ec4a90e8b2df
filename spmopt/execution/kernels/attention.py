"""Attention as one operation: two products, and a softmax between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.forward import causal_softmax
from spmopt.graph.operators.attention import stages
from spmopt.graph.operators.attributes import text

_BETWEEN: Mapping[str, Callable[..., Array]] = {
    **{"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide},
    "Where": np.where,
}


def _attend(call: Call) -> Sequence[Array]:
    queries, keys, values = call.inputs[:3]
    scores: Array = np.einsum(text(call.attributes, "first", ""), queries, keys, optimize=True)
    for name, operands in stages(call.attributes):
        given = [scores if each is None else call.inputs[each] for each in operands]
        scores = np.asarray(_BETWEEN[name](*given))
    # Whole numbers add up to the same in any order.
    shares = call.rounded(causal_softmax(call, scores))
    second = text(call.attributes, "second", "")
    return [np.einsum(second, shares, values, optimize=True)]


def _softmax(call: Call) -> Sequence[Array]:
    return [causal_softmax(call, call.inputs[0])]


KERNELS: Mapping[str, NodeKernel] = {"FusedAttention": _attend, "Softmax": _softmax}
