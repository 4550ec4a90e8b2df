"""Optimiser updates, in place on W and its states: inputs W, dW, states; outputs W, states."""

from __future__ import annotations

from spmopt.graph.operators.pointwise import per_input, pointwise
from spmopt.graph.operators.spec import OperatorSpec

SPECS: tuple[OperatorSpec, ...] = (
    # W -= r dW.
    pointwise("SGD", per_input(2), None),
    # v = a v + dW; W -= r v.
    pointwise("Momentum", per_input(4), None),
    # m = a m + (1 - a) dW (3); v = b v + (1 - b) dW^2 (4); W -= r m / (sqrt(v) + e) (5).
    pointwise("Adam", per_input(12), None),
)
