"""Poolings and their gradients, as loops over windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from spmopt.execution.emission.reference.products import add_up, nest_of
from spmopt.execution.emission.reference.steps import Describing, Steps
from spmopt.execution.kernels.call import Array, Call
from spmopt.execution.kernels.windows import counts

_WINDOW = "n, c, *(strides*y + dilations*r - pads)"
_POOL = f"y0[n, c, *y] += x0[{_WINDOW}]; r < kernel_shape"
_POOL_GRADIENT = f"y0[{_WINDOW}] += x0[n, c, *y]; r < kernel_shape"
_MAXIMA_GRADIENT = f"y0[{_WINDOW}] += x0[n, c, *y] * x1[{_WINDOW}] * x2[n, c, *y]; r < kernel_shape"


def _over(
    source: str,
    call: Call,
    target: Array,
    operands: Sequence[Array],
    do: Steps,
    *,
    kernel: str = "sums",
) -> None:
    nest = nest_of(source, call)
    (statement,) = nest.statements
    reads = sorted(statement.reads, key=lambda access: access.tensor)
    pairs = [*zip(reads, operands, strict=True)]
    outside = 0.0 if kernel == "sums" else -inf
    add_up(do, nest.extents, (statement.target, target), pairs, kernel, outside=outside)


def _max_pool(call: Call, results: Sequence[Array], do: Steps) -> None:
    if len(results) > 1:
        raise NotImplementedError("places of maxima")
    do.run("fill", results, numbers=[-inf])
    _over(_POOL, call, results[0], call.inputs, do, kernel="maxima")


def _max_pool_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    _over(_MAXIMA_GRADIENT, call, results[0], call.inputs, do, kernel="maxima_gradient")


def _average_pool(call: Call, results: Sequence[Array], do: Steps) -> None:
    x, total = call.inputs[0], do.own(call.shapes[0])
    _over(_POOL, call, total, [x], do)
    count = _counts(call, x.shape, total.shape, do)
    do.copy(results[0], do.made("quotient", [total, count]))


def _average_pool_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy = call.inputs[0]
    share = do.made("quotient", [dy, _counts(call, results[0].shape, dy.shape, do)])
    _over(_POOL_GRADIENT, call, results[0], [share], do)


def _counts(call: Call, x: tuple[int, ...], y: tuple[int, ...], do: Steps) -> Array:
    """Return how many elements each window has."""
    found = do.own(y[2:])
    do.run("constant", [found], numbers=counts(call, x, y).ravel().tolist())
    return found


DESCRIBED: Mapping[str, Describing] = {
    "MaxPool": _max_pool,
    "MaxPoolGradient": _max_pool_gradient,
    "AveragePool": _average_pool,
    "AveragePoolGradient": _average_pool_gradient,
}
