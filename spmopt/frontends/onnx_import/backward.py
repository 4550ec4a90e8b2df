"""Training graphs in files: gradients and updates that an exporter wrote down, taken as they are.

The gradient builder of ONNX Runtime, and what compilers for embedded training make of its graphs,
name the gradient of an operator after it (``ReluGrad``, of dY and X). Each is one or two gradient
operators of ours, which read and write the same tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx

DOMAINS = ("", "com.microsoft", "ai.onnx.training", "ai.onnx.preview.training")


@dataclass(frozen=True, slots=True)
class Step:
    """A gradient operator, and positions of its inputs and results among those of the node.

    An optional input or result that is left out there is left out here. ``like``: inputs whose
    shapes the results have. ``shape``: the input whose contents are the shape of the result.
    ``in_place``: results replace the inputs that they are like.
    """

    operator: str
    reads: tuple[int, ...]
    writes: tuple[int, ...] = (0,)
    like: tuple[int, ...] = (1,)
    shape: int | None = None
    in_place: bool = False


def _of(operator: str) -> tuple[Step, ...]:
    """Of dY, and X or Y."""
    return (Step(f"{operator}Gradient", (0, 1)),)


_STEPS: Mapping[str, tuple[Step, ...]] = {
    **{f"{name}Grad": _of(name) for name in ("Relu", "Gelu", "Sigmoid", "Tanh", "LeakyRelu")},
    **{f"{name}Grad": _of("Gelu") for name in ("FastGelu", "QuickGelu")},
    **{f"{name}Grad_dX": _of("Gelu") for name in ("BiasGelu", "BiasFastGelu")},
    **{f"Softmax{version}": _of("Softmax") for version in ("Grad", "Grad_13")},
    **{f"LogSoftmax{version}": _of("LogSoftmax") for version in ("Grad", "Grad_13")},
    "HardSigmoidGrad": _of("HardSigmoid"),
    "EluGrad": _of("Elu"),
    "SoftmaxCrossEntropyLossGrad": (Step("LossGradient", (1, 2)),),
    "DropoutGrad": _of("Dropout"),
    "LayerNormalizationGrad": (
        Step("NormalizationGradient", (0, 1, 2, 3, 4), (0, 1, 2), (1, 2, 2)),
    ),
    "BatchNormalizationGrad": (
        Step("NormalizationGradient", (0, 1, 2, 3, 4), (0, 1, 2), (1, 2, 2)),
    ),
    "SimplifiedLayerNormalizationGrad": (
        Step("RMSNormalizationGradient", (0, 1, 2, 3), (0, 1), (1, 2)),
    ),
    "ConvGrad": (
        Step("ConvWeightGradient", (0, 1), (1, 2), (2,)),
        Step("ConvInputGradient", (0, 2), (0,), (1,)),
    ),
    "ConvGradW": (Step("ConvWeightGradient", (0, 1), like=()),),
    "ConvGradX": (Step("ConvInputGradient", (0, 1), like=()),),
    "ConvGradB": (Step("ReduceSum", (0,), like=()),),
    "AveragePoolGrad": (Step("AveragePoolGradient", (0,), like=()),),
    "GlobalAveragePoolGrad": (Step("GlobalAveragePoolGradient", (0,), like=()),),
    "GatherGrad": (Step("GatherGradient", (2, 1), like=(), shape=0),),
    "GatherNDGrad": (Step("GatherNDGradient", (2, 1), like=(), shape=0),),
    "GatherElementsGrad": (Step("GatherElementsGradient", (0, 2), like=(), shape=1),),
    "SliceGrad": (Step("SliceGradient", (0,), like=(), shape=1),),
    "MaxPoolGrad": (Step("MaxPoolIndexGradient", (0, 1), like=()),),  # of the place of each maximum
    "DivGrad": (Step("DivGradient", (0, 1, 2), (0, 1), (1, 2)),),
    "SGD": (Step("SGD", (0, 1), like=(0,), in_place=True),),
    "SGDOptimizer": (Step("SGD", (1, 2), in_place=True),),
    # A rate, the count of steps, the weight, its gradient and two moments.
    "AdamOptimizer": (Step("Adam", (2, 3, 4, 5), (3, 1, 2, 0), (2, 4, 5, 1), in_place=True),),
    "InPlaceAccumulator": (Step("Add", (0, 1)),),
    "InPlaceAccumulatorV2": (Step("Add", (0, 1)),),
}


_BY_INPUTS: Mapping[tuple[str, int], tuple[Step, ...]] = {
    # Without dY, which is 1: logarithms of probabilities, and labels.
    ("SoftmaxCrossEntropyLossGrad", 2): (Step("LossGradient", (0, 1), like=(0,)),),
    # Without statistics: dY, X, scale and shift.
    ("LayerNormalizationGrad", 4): (Step("LayerNormalizationBackward", (0, 1, 2)),),
}
"""Forms that are told by how many inputs a node has."""
_PREVIEWS: Mapping[str, int] = {"Adam": 2, "Momentum": 1, "Adagrad": 1}
"""States of each weight, by the optimizers of ``ai.onnx.preview.training``."""


def gradient_steps(node: onnx.NodeProto) -> tuple[Step, ...]:
    """Return what a node of a backward pass stands for; nothing if it is no such node."""
    if node.domain not in DOMAINS:
        return ()
    if node.domain == "ai.onnx.preview.training" and node.op_type in _PREVIEWS:
        return _updates(node, _PREVIEWS[node.op_type])
    own = _BY_INPUTS.get((node.op_type, len(node.input)))
    return own or _STEPS.get(node.op_type, ())


def _updates(node: onnx.NodeProto, states: int) -> tuple[Step, ...]:
    """Return a step for each weight; a rate and a count stand before weights, gradients, states."""
    count = (len(node.input) - 2) // (2 + states)
    found = []
    for k in range(count):
        places = [2 + k + count * group for group in range(2 + states)]
        updated = (places[0], *places[2:])
        writes = tuple(k + count * group for group in range(1 + states))
        found.append(Step(node.op_type, tuple(places), writes, updated, in_place=True))
    return tuple(found)


def shape_input(node: onnx.NodeProto) -> tuple[int, int] | None:
    """Return the inputs that give the type and, by contents, the shape of the result, if any do."""
    steps = gradient_steps(node)
    if len(steps) != 1 or steps[0].shape is None:
        return None
    return steps[0].reads[0], steps[0].shape


def like_input(node: onnx.NodeProto, result: int) -> int | None:
    """Return the input whose shape a result of such a node has, if that is known."""
    found = {
        place: like
        for step in gradient_steps(node)
        for place, like in zip(step.writes, step.like, strict=False)
    }
    return found.get(result)
