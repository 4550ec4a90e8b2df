"""Kernels called by the name of their operator, on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.core.graph import Node
from spmopt.execution.kernels import Call, kernel_of
from spmopt.execution.kernels.call import Array
from spmopt.graph.operators.spec import Attributes

Like = tuple[tuple[int, ...], str | np.dtype[np.generic]]
"""Shape and type of a result."""


def computed(
    operator: str, inputs: list[Array], like: Sequence[Like], attributes: Attributes
) -> list[Array]:
    """Return the results of an operator's kernel."""
    node = Node(name="it", operator=operator, inputs=(), outputs=(), attributes=attributes)
    kernel = kernel_of(node)
    assert kernel is not None
    call = Call(
        operator=operator,
        attributes=attributes,
        inputs=inputs,
        shapes=tuple(shape for shape, _ in like),
        dtypes=tuple(np.dtype(dtype) for _, dtype in like),
    )
    return [np.asarray(each) for each in kernel(call)]
