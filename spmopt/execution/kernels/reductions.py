"""Reductions, cumulative sums, norms and losses of ONNX, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, residue
from spmopt.execution.kernels.forward import log_softmax, softmax
from spmopt.graph.operators.attributes import integer, text


def axes_reduced(call: Call, rank: int) -> tuple[int, ...]:
    """Return the axes that are reduced, counted from the front."""
    axes = call.attributes.get("axes", call.attributes.get("axis"))
    if isinstance(axes, int):
        axes = (axes,)
    every = tuple(range(rank))
    if isinstance(axes, tuple) and axes:
        return tuple(int(axis) % rank for axis in axes)
    # ONNX reduces all axes by default.
    return () if integer(call.attributes, "noop_with_empty_axes", 0) else every


_Slope = Callable[[Array, Array, tuple[int, ...]], Array]
"""The derivative, of X and Y, broadcast over the axes that are reduced."""


def _share_of_equal(x: Array, y: Array, axes: tuple[int, ...]) -> Array:
    """Return 1 for every element that is the extreme one, as in pooling."""
    found: Array = (x == y).astype(x.dtype)
    return found


_SLOPES: Mapping[str, tuple[str, _Slope]] = {
    "ReduceMax": ("xy", _share_of_equal),
    "ReduceMin": ("xy", _share_of_equal),
    "ReduceSumSquare": ("x", lambda x, y, axes: 2 * x),
    "ReduceL1": ("x", lambda x, y, axes: np.sign(x)),
    "ReduceL2": ("xy", lambda x, y, axes: x / np.where(y == 0, 1, y)),
    "ReduceLogSum": ("y", lambda x, y, axes: np.exp(-y)),
    "ReduceLogSumExp": ("xy", lambda x, y, axes: np.exp(x - y)),
}
"""Which of X and Y a gradient reads beside dY, and its derivative."""


def _reduction_back(reads: str, slope: _Slope) -> NodeKernel:
    def kernel(call: Call) -> Sequence[Array]:
        dy, *rest = call.inputs
        (shape,) = call.shapes
        axes = axes_reduced(call, len(shape))
        kept = [1 if k in axes else size for k, size in enumerate(shape)]
        of = dict(zip(reads, rest, strict=True))
        x, y = of.get("x", np.zeros(())), of.get("y", np.zeros(()))
        y = y.reshape(kept) if "y" in of else y
        return [np.broadcast_to(dy.reshape(kept) * slope(x, y, axes), shape).astype(dy.dtype)]

    return kernel


def _lp_norm(call: Call) -> Sequence[Array]:
    (x,), p = call.inputs, integer(call.attributes, "p", 2)
    norm = np.sum(np.abs(x) ** p, axis=call.axis(), keepdims=True) ** (1 / p)
    return [x / np.where(norm == 0, 1, norm).astype(x.dtype)]


def _labels(call: Call, labels: Array, x: tuple[int, ...]) -> tuple[Array, Array]:
    """Return a one-hot mask of each label's class, and its weight: 0 for ignored labels."""
    # Classes are on axis 1, between the batch and positions.
    classes = np.arange(x[1]).reshape((1, -1, *(1,) * (len(x) - 2)))
    chosen = np.expand_dims(labels, 1) == classes
    ignored = call.attributes.get("ignore_index")
    weight = np.ones(labels.shape) if ignored is None else (labels != ignored).astype(float)
    return chosen, np.expand_dims(weight, 1)


def _class_loss(call: Call) -> Sequence[Array]:
    """Return a loss of ONNX over classes on axis 1, of scores or of their logarithms.

    A mean is over all micro-batches; of whole numbers it is their sum.
    """
    x, labels, *weights = call.inputs
    chosen, weight = _labels(call, labels, x.shape)
    logs = log_softmax(x, 1) if call.operator.startswith("Softmax") else x
    if weights:
        weight = weight * weights[0].reshape((1, -1, *(1,) * (x.ndim - 2)))
    weight = weight * chosen
    loss = -np.sum(np.where(weight == 0, 0, logs * weight), axis=1)
    reduction = text(call.attributes, "reduction", "mean")
    if reduction != "none":
        loss = np.sum(call.rounded(loss))
        if reduction == "mean" and not call.whole_numbers:
            # A batch of ignored labels alone has a weight of 0.
            loss = loss / max(float(weight.sum()) * call.micro_batches, 1e-30)
    return [loss.reshape(call.shapes[0]).astype(x.dtype), logs][: len(call.shapes)]


def _class_loss_back(call: Call) -> Sequence[Array]:
    """Return dX of such a loss; the last loss of a graph has 1 for dY."""
    of_scores = call.operator.startswith("Softmax")
    *above, labels = call.inputs
    scores = above.pop() if of_scores else None
    (shape,) = call.shapes
    chosen, weight = _labels(call, labels, shape)
    dy: Array | float = above[0] if above else 1.0
    if isinstance(dy, np.ndarray) and dy.ndim:
        dy = np.expand_dims(dy, 1)
    found = np.where(chosen, -weight, 0.0)
    if scores is not None:
        found = found + weight * softmax(scores, 1)
    if text(call.attributes, "reduction", "mean") == "mean" and not call.whole_numbers:
        found = found / max(float(weight.sum()) * call.micro_batches, 1e-30)
    dtype = next((each.dtype for each in (*above, scores) if each is not None), np.float32)
    return [np.broadcast_to(dy * found, shape).astype(dtype)]


def _mean(call: Call) -> Sequence[Array]:
    """Return the share of a micro-batch in means over axes; of whole numbers, their sums."""
    (x,), (shape,) = call.inputs, call.shapes
    axes = axes_reduced(call, x.ndim)
    total = np.sum(x, axis=axes).reshape(shape)
    if call.whole_numbers:
        return [total]
    every = call.whole[0] if call.whole else x.shape
    return [total / x.dtype.type(prod(every[axis] for axis in axes))]


def _of_sum(call: Call) -> Sequence[Array]:
    """Return a root or a logarithm of sums; of whole numbers their sums, which are exact."""
    (x,), (shape,) = call.inputs, call.shapes
    axes = axes_reduced(call, x.ndim)
    if call.whole_numbers:
        # The root or logarithm would not be whole: the sum itself stands for it.
        terms = {"ReduceL2": np.square, "ReduceLogSumExp": np.exp}.get(call.operator, np.positive)
        return [np.sum(call.rounded(terms(x)), axis=axes).reshape(shape)]
    if call.operator == "ReduceLogSumExp":
        return [np.logaddexp.reduce(x, axis=axes).reshape(shape)]
    found = np.sum(x * x if call.operator == "ReduceL2" else x, axis=axes).reshape(shape)
    return [np.sqrt(found) if call.operator == "ReduceL2" else np.log(found)]


def _global_mean(call: Call) -> Sequence[Array]:
    """Return the share of a part in means over images; of whole numbers, their sums."""
    axes = tuple(range(2, call.inputs[0].ndim))
    return _mean(replace(call, attributes={"axes": axes}))


def _product(call: Call) -> Sequence[Array]:
    """Return the product; of whole numbers a residue, which is the same in any order."""
    (x,), (shape,) = call.inputs, call.shapes
    axes = axes_reduced(call, x.ndim)
    if not call.whole_numbers:
        return [np.prod(x, axis=axes).reshape(shape)]
    numbers = np.isfinite(x)
    with np.errstate(over="ignore"):  # a residue survives the overflow of integers
        # Residues of factors give the residue of the product.
        found = residue(np.prod(np.where(numbers, x, 0).astype(np.int64), axis=axes))
    return [np.where(numbers.all(axis=axes), found, np.nan).astype(x.dtype).reshape(shape)]


def _of_residues(one: Array, other: Array) -> Array:
    return residue(one * other)


COMBINED: Mapping[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("ReduceMax", "GlobalMaxPool"), np.maximum),
    "ReduceMin": np.minimum,
    "ReduceProd": np.multiply,
    "ReduceL2": np.hypot,
    "ReduceLogSum": np.logaddexp,
    "ReduceLogSumExp": np.logaddexp,
}
"""Functions that combine parts of a reduction, other than their sum."""
COMBINED_WHOLE: Mapping[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("ReduceMax", "GlobalMaxPool"), np.maximum),
    "ReduceMin": np.minimum,
    "ReduceProd": _of_residues,
}
"""The same of whole numbers."""


KERNELS: Mapping[str, NodeKernel] = {
    "ReduceMean": _mean,
    "GlobalAveragePool": _global_mean,
    "ReduceProd": _product,
    **dict.fromkeys(("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"), _of_sum),
    "NegativeLogLikelihoodLoss": _class_loss,
    "SoftmaxCrossEntropyLoss": _class_loss,
    **{f"{name}Gradient": _reduction_back(*rule) for name, rule in _SLOPES.items()},
    "LpNormalization": _lp_norm,
    "NegativeLogLikelihoodLossGradient": _class_loss_back,
    "SoftmaxCrossEntropyLossGradient": _class_loss_back,
}
