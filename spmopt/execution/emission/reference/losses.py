"""What a training step has beside gradients of layers: losses, dropout, cells, optimizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spmopt.execution.emission.reference.products import add_up
from spmopt.execution.emission.reference.steps import Describing, Steps, rows
from spmopt.execution.kernels.call import FRACTIONS, Array, Call
from spmopt.execution.kernels.training import CONSTANTS, STATES
from spmopt.graph.operators.attributes import integer
from spmopt.graph.operators.loops import Access, Index


def _loss(kernel: str) -> Describing:
    """Score rows by labels: the sum, or its gradient, of dY or of 1 where nothing reads Y."""

    def described(call: Call, results: Sequence[Array], do: Steps) -> None:
        *above, x, labels = call.inputs
        axis = -1 if call.operator == "LossGradient" else integer(call.attributes, "axis", -1)
        turned, many, inner = rows(x, [axis])
        if not kernel.endswith("gradient"):
            factor = FRACTIONS if call.whole_numbers else 0
            do.run(kernel, results, [turned, labels], [many, inner], [factor])
            return
        dy = above[0] if above else do.own(())
        if not above:
            do.run("fill", [dy], numbers=[1])
        target, _, _ = rows(results[0], [axis])
        operands = [np.broadcast_to(dy, turned.shape), turned, labels]
        do.run(kernel, [target], operands, [many, inner])

    return described


def _dropout(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.run("dropout", results, call.inputs)


def _dropout_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, kept = call.inputs
    do.copy(results[0], do.made("product", [do.made("scale_by", [dy], [2]), kept]))


def _multiplied(do: Steps, target: Array, a: Array, b: Array) -> None:
    """Add the product of two matrices."""
    extents = {"m": a.shape[0], "k": a.shape[1], "n": b.shape[1]}

    def of(one: str, other: str) -> Access:
        return Access("", (Index(((one, 1),)), Index(((other, 1),))))

    add_up(do, extents, (of("m", "n"), target), [(of("m", "k"), a), (of("k", "n"), b)])


def _gate(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Multiply [x, h] by W."""
    x, h, w = call.inputs
    _multiplied(do, results[0], x, w[: x.shape[1]])
    _multiplied(do, results[0], h, w[x.shape[1] :])


def _gate_input(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, w = call.inputs
    inputs = w.shape[0] - dy.shape[1]
    whole = do.own((dy.shape[0], w.shape[0]))
    _multiplied(do, whole, dy, w.T)
    parts = [whole[:, :inputs], whole[:, inputs:]]
    wanted = [p for p, shape in zip(parts, call.shapes, strict=False) if p.shape == shape]
    for result, part in zip(results, wanted, strict=True):
        do.copy(result, part)


def _gate_weight(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, x, h = call.inputs
    for of, rows_ in ((x, slice(0, x.shape[1])), (h, slice(x.shape[1], None))):
        part = do.own((of.shape[1], dy.shape[1]))
        _multiplied(do, part, of.T, dy)
        do.copy(results[0][rows_], part)


def _cell(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.run("lstm_cell", results, call.inputs)


def _cell_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    *above, i, f, o, g, c, new = call.inputs
    dc = above[0] if len(above) == 2 else np.broadcast_to(do.own(()), c.shape)
    every = [*results, *(do.own(c.shape) for _ in range(5 - len(results)))]
    do.run("lstm_cell_gradient", every, [dc, above[-1], i, f, o, g, c, new])


def _updated(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Update a weight by its gradient; of a master copy it follows what is updated."""
    weight, gradient, *states = call.inputs
    count = STATES[call.operator]
    masters, states = states[: len(states) - count], states[len(states) - count :]
    new, *others = results
    following, others = others[: len(masters)], others[len(masters) :]
    operands = [masters[0] if masters else weight, gradient, *states]
    do.run(call.operator.lower(), [new, *others], operands, numbers=CONSTANTS)
    for result in following:
        do.copy(result, new)


DESCRIBED: Mapping[str, Describing] = {
    "CrossEntropy": _loss("cross_entropy"),
    "CrossEntropyGradient": _loss("cross_entropy_gradient"),
    "LossGradient": _loss("cross_entropy_gradient"),
    "NegativeLogLikelihood": _loss("likelihood"),
    "NegativeLogLikelihoodGradient": _loss("likelihood_gradient"),
    "DropoutTraining": _dropout,
    "DropoutGradient": _dropout_gradient,
    "LSTMGate": _gate,
    "LSTMGateInputGradient": _gate_input,
    "LSTMGateWeightGradient": _gate_weight,
    "LSTMCell": _cell,
    "LSTMCellGradient": _cell_gradient,
    **dict.fromkeys(STATES, _updated),
}
