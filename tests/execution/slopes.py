"""Gradients of a training graph beside differences of its loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.execution.executor import Trace, execute_plainly
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.memory import Bytes
from spmopt.execution.values import array_of

_LOSSES = ("LossGradient",)


def ran(kernel: GraphKernel, contents: Sequence[Bytes | None]) -> Trace:
    """Whole operations in their order."""
    order = range(len(kernel.problem.operations))
    return execute_plainly(kernel.problem, order, contents, kernel)


def check_slopes(tileable: TileableGraph, step: float = 1e-6) -> int:
    """Check the slope of the loss along a random change of all weights; return how many."""
    kernel = GraphKernel(tileable, data="normal")
    problem, contents = kernel.problem, kernel.contents(0)
    place = {tensor.name: t for t, tensor in enumerate(problem.tensors)}
    pairs = [
        (t, place.get(f"{tensor.name}.sum", place[f"{tensor.name}.gradient"]))
        for t, tensor in enumerate(problem.tensors)
        if tensor.kind == "weight" and f"{tensor.name}.gradient" in place
    ]
    made = ran(kernel, contents)
    chosen = np.random.default_rng(1)
    slope, ends = 0.0, ([*contents], [*contents])
    for weight, gradient in pairs:
        way = chosen.standard_normal(problem.tensors[weight].size_bytes // 8)
        slope += float(made.contents[gradient].view(np.float64) @ way)
        now = contents[weight]
        assert now is not None
        for end, sign in zip(ends, (1, -1), strict=True):
            end[weight] = (now.view(np.float64) + sign * step * way).view(np.uint8)
    one, other = (_loss(kernel, each) for each in ends)
    assert slope == pytest.approx((one - other) / (2 * step), rel=1e-3, abs=1e-6)
    assert slope
    return len(pairs)


def _loss(kernel: GraphKernel, contents: Sequence[Bytes | None]) -> float:
    """Cross-entropy of all that losses begin at, from what these operations read; else outputs."""
    total, kinds = 0.0, [operation.kind for operation in kernel.problem.operations]

    def watched(index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        nonlocal total
        if kinds[index] in _LOSSES:
            labels = operands[1].view(np.int64)
            scores = operands[0].view(np.float64).reshape(labels.size, -1)
            top = scores.max(axis=1, keepdims=True)
            logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
            total -= float(logs[np.arange(labels.size), labels].sum())
        return kernel(index, operands)

    order = range(len(kernel.problem.operations))
    found = execute_plainly(kernel.problem, order, contents, watched)
    if set(kinds) & set(_LOSSES):
        return total
    return sum(_total(kernel, found, t) for t in range(len(kernel.problem.tensors)))


def _total(kernel: GraphKernel, found: Trace, t: int) -> float:
    """The sum of an output."""
    tensor = kernel.problem.tensors[t]
    if not tensor.keep or tensor.kind != "activation":
        return 0.0
    value = kernel.graph.values[kernel.roots[t]]
    return float(array_of(found.contents[t], value, value.elements).sum())
