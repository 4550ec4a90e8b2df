"""Live bytes of activations in each step: a lower limit of memory that holds them all."""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem, TensorKind
from spmopt.core.table import Ints

# Kinds of tensors that exist before and after: no activations.
_PERSISTENT = (TensorKind.WEIGHT, TensorKind.STATE)


def live_activation_bytes(problem: Problem) -> Ints:
    """Return (n,) bytes of activations that are live in each operation, in the given order.

    An activation is live from the operation that computes it to its last use. Inputs are live from
    the first operation on, results that are kept to the last.
    """
    count = len(problem.operations)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, operation in enumerate(problem.operations):
        for index in operation.tensors:
            first.setdefault(index, step)
            last[index] = step
    change = np.zeros(count + 1, np.int64)
    for index, begin in first.items():
        tensor = problem.tensors[index]
        if tensor.kind in _PERSISTENT:
            continue
        # Half-open: the tensor is live in its last use, and gone in the next step.
        end = count if tensor.keep else last[index] + 1
        change[0 if tensor.in_dram else begin] += tensor.size_bytes
        change[end] -= tensor.size_bytes
    return np.cumsum(change[:count])
