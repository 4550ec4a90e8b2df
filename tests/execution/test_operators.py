"""Every operator has a kernel, and every gradient is the slope of what it is the gradient of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Node
from spmopt.core.pieces.listing import Listing
from spmopt.execution.computations import listing_for
from spmopt.execution.kernels import kernel_of
from spmopt.graph.build import GraphBuilder
from spmopt.graph.elements import with_element_type
from spmopt.graph.listing import lower_listed
from spmopt.graph.operators import SPECS, lookup
from spmopt.graph.operators.spec import Style
from spmopt.graph.training import training_graph
from tests.execution.slopes import check_slopes

MACHINE = spmopt.machine(spm="256KiB")
Build = Callable[[GraphBuilder], int]


def test_every_operator_has_a_kernel() -> None:
    lacking = []
    for name in SPECS.names():
        if name in SPECS.added:  # by another test of this process
            continue
        try:
            computes = lookup(name).style is not Style.VIEW
        except InputError:  # refused
            continue
        if computes and kernel_of(Node(name="", operator=name, inputs=(), outputs=())) is None:
            lacking.append(name)
    assert not lacking


def of_x(operator: str, x: tuple[int, ...] = (3, 4, 5), /, **attributes: Attribute) -> Build:
    """An operator of one operand, of which a weight is."""
    return lambda b: b.add(operator, [b.weight("x", x)], name="it", **attributes)


def of_two(operator: str, **attributes: Attribute) -> Build:
    def build(b: GraphBuilder) -> int:
        a, w = b.weight("a", (3, 4, 5)), b.weight("w", (4, 1))
        return b.add(operator, [a, w], name="it", **attributes)

    return build


def indexed(operator: str, *shapes: tuple[int, ...], **attributes: Attribute) -> Build:
    """Of data, of indices, and perhaps of what is written there."""

    def build(b: GraphBuilder) -> int:
        x = b.weight("x", shapes[0])
        indices = b.input("indices", shapes[1], element_type="int64")
        more = [b.weight("u", shape) for shape in shapes[2:]]
        return b.add(operator, [x, indices, *more], name="it", **attributes)

    return build


def stated(operator: str, x: tuple[int, ...], y: tuple[int, ...], /, **of: Attribute) -> Build:
    """Of an operator whose result a file states."""
    return lambda b: b.add_stated(operator, [b.weight("x", x)], [(y, "fp32")], name="it", **of)[0]


def grid(b: GraphBuilder) -> int:
    inputs = [b.weight("x", (2, 3, 6, 7)), b.input("g", (2, 4, 5, 2))]
    return b.add_stated("GridSample", inputs, [((2, 3, 4, 5), "fp32")], name="it")[0]


def long_step(b: GraphBuilder) -> int:
    x, h = (b.weight(name, (3, 16)) for name in "xh")
    c, h = b.add_many(
        "LSTMUpdate", [x, h, b.weight("c", (3, 4)), b.weight("p", (1, 12))], name="it"
    )
    return b.add("Add", [c, h])


def short_step(b: GraphBuilder) -> int:
    inputs = [b.weight("x", (3, 12)), b.weight("h", (3, 12)), b.weight("s", (3, 4))]
    return b.add("GRUUpdate", inputs, name="it")


def loss(operator: str, shape: tuple[int, ...], **attributes: Attribute) -> Build:
    def build(b: GraphBuilder) -> int:
        x = b.add("Mul", [b.weight("x", shape), b.weight("w", shape)], name="scores")
        labels = b.input("labels", (shape[0], *shape[2:]), element_type="int64")
        return b.add(operator, [x, labels], name="it", **attributes)

    return build


def joined(b: GraphBuilder) -> int:
    parts = [
        b.input("a", (3, 2)),
        b.weight("b", (3, 4)),
        b.input("c", (3, 1)),
        b.weight("d", (3, 2)),
    ]
    return b.add("Concat", parts, name="it", axis=1)


def chosen(b: GraphBuilder) -> int:
    mask, far = b.input("mask", (3, 4), element_type="bool"), b.input("far", (1, 1))
    return b.add("Where", [mask, far, b.weight("x", (3, 4))], name="it")


def averaged(b: GraphBuilder) -> int:
    return b.add("Mean", [b.input("a", (3, 4)), b.weight("b", (4,)), b.weight("c", (3, 4))])


def powers(b: GraphBuilder) -> int:
    x = b.add("Exp", [b.weight("x", (3, 4))])
    return b.add("Pow", [x, b.weight("e", (4,))], name="it")


def places(b: GraphBuilder) -> int:
    x = b.weight("x", (2, 3, 7, 8))
    shape = {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 0)}
    return b.add_many("MaxPoolIndices", [x], name="it", **shape)[0]


POOL: Mapping[str, Attribute] = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1)}
HOW = "coordinate_transformation_mode"
GRADIENTS: Mapping[str, Build] = {
    "Celu": of_x("Celu", alpha=0.7),
    "Shrink": of_x("Shrink", lambd=0.3, bias=0.1),
    "ThresholdedRelu": of_x("ThresholdedRelu", alpha=0.4),
    "PRelu": of_two("PRelu"),
    "SwiGLU": of_two("SwiGLU", alpha=1.5),
    "Pow": powers,
    "Mean": averaged,
    "Where": chosen,
    "Concat": joined,
    "CastLike": of_two("CastLike"),
    **{
        f"{name}{axes}": of_x(name, axes=axes, keepdims=keep)
        for name in ("ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1")
        for axes, keep in (((1,), 0), ((0, 1), 1))
    },
    "ReduceProd": of_x("ReduceProd", axes=(1,), keepdims=0),
    "ReduceMean": of_x("ReduceMean", axes=(1,), keepdims=1),
    "ReduceL2": of_x("ReduceL2", axes=(-1,), keepdims=0),
    "ReduceLogSumExp": of_x("ReduceLogSumExp", axes=(0,), keepdims=1),
    "ReduceLogSum": lambda b: b.add(
        "ReduceLogSum", [b.add("Exp", [b.weight("x", (3, 4, 5))])], name="it", axes=(1,)
    ),
    "LpNormalization": of_x("LpNormalization", axis=1),
    "LpNormalization, 1": of_x("LpNormalization", axis=-1, p=1),
    "CumSum": of_x("CumSum", axis=1),
    "CumSum back": of_x("CumSum", axis=0, reverse=1, exclusive=1),
    "LpPool": of_x("LpPool", (2, 3, 6, 5), p=2, **POOL),
    "GlobalLpPool": lambda b: b.add("Flatten", [of_x("GlobalLpPool", (2, 3, 6, 5), p=3)(b)]),
    "MaxPoolIndices": places,
    "DepthToSpace": of_x("DepthToSpace", (2, 8, 3, 3), blocksize=2, mode="CRD"),
    "SpaceToDepth": of_x("SpaceToDepth", (2, 2, 4, 6), blocksize=2),
    "Trilu": of_x("Trilu", (2, 4, 5), upper=0, k=1),
    "TopK": lambda b: b.add_many("TopK", [b.weight("x", (3, 7))], name="it", k=3, axis=1)[0],
    "CenterCropPad": stated("CenterCropPad", (3, 6, 5), (3, 4, 8), shape=(3, 4, 8)),
    "Col2Im": stated(
        "Col2Im",
        (2, 12, 9),
        (2, 3, 4, 5),
        image_shape=(4, 5),
        block_shape=(2, 2),
        strides=(1, 2),
        pads=(0, 1, 0, 0),
        dilations=(1, 1),
    ),
    "Diagonal": stated("Diagonal", (3, 4, 3), (3, 4)),
    "GatherElements": indexed("GatherElements", (4, 5), (4, 3), axis=1),
    "GatherND": indexed("GatherND", (4, 5, 2), (3, 2)),
    "ScatterElements": indexed("ScatterElements", (4, 5), (4, 2), (4, 2), axis=1, reduction="add"),
    "Scatter": indexed("Scatter", (6, 5), (2, 3), (2, 3), axis=0),
    "ScatterND": indexed("ScatterND", (4, 5), (3, 1), (3, 5)),
    "ScatterND, sums": indexed("ScatterND", (4, 5), (3, 1), (3, 5), reduction="add"),
    "ReverseSequence": indexed("ReverseSequence", (5, 3, 2), (3,)),
    "GridSample": grid,
    "Resize": of_x("Resize", (2, 3, 4, 5), shape=(2, 3, 7, 3), mode="linear"),
    "Resize, cubic": of_x("Resize", (1, 2, 5, 6), shape=(1, 2, 8, 9), mode="cubic"),
    "Resize, corners": of_x(
        "Resize", (1, 2, 3, 4), shape=(1, 2, 6, 8), mode="linear", **{HOW: "align_corners"}
    ),
    "Upsample": of_x("Upsample", (1, 2, 3, 4), shape=(1, 2, 6, 8), mode="nearest"),
    "LSTMUpdate": long_step,
    "GRUUpdate": short_step,
    "SoftmaxCrossEntropyLoss": loss("SoftmaxCrossEntropyLoss", (3, 4, 2)),
    "SoftmaxCrossEntropyLoss, sum": loss("SoftmaxCrossEntropyLoss", (3, 4), reduction="sum"),
    "NegativeLogLikelihoodLoss": loss("NegativeLogLikelihoodLoss", (3, 4, 2)),
    "NegativeLogLikelihood": loss("NegativeLogLikelihoodLoss", (3, 4), reduction="sum"),
}


STEPS = {"GridSample": 1e-2}
"""Where the operator rounds to 32 bits."""


def listed(build: Build, dtype: str) -> Listing:
    """The training step of an operator."""
    builder = GraphBuilder("one")
    found = build(builder)
    graph = training_graph(with_element_type(builder.finish([found]), dtype))
    listing = listing_for(lower_listed(graph, MACHINE), None, None)
    assert listing is not None
    return listing


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_operators_are_slopes(name: str) -> None:
    found = listed(GRADIENTS[name], "fp64")
    assert check_slopes(found, STEPS.get(name, 1e-5)) >= 1
