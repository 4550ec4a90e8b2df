"""Operators of ONNX that are few others: normalizations, losses, grids, results that are extra."""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.composites.call import Call, Results


def instance_normalization(call: Call) -> Results:
    """Return a group normalization of one channel each."""
    channels = call.operand(0).shape[1]
    return [call.add("GroupNormalization", *call.values(0, 1, 2), num_groups=channels)]


def layer_normalization(call: Call) -> Results:
    """Return the form of training, whose other results are statistics."""
    attributes = {k: v for k, v in call.attributes.items() if k in ("axis", "epsilon")}
    return call.many("LayerNormalizationTraining", *call.values(0, 1, 2), part="", **attributes)


def batch_normalization(call: Call) -> Results:
    """Return the form of training, whose other results are statistics."""
    return call.many("BatchNormalizationTraining", *call.values(0, 1, 2))


def dropout(call: Call) -> Results:
    """Return the form of training, which writes a mask."""
    return call.many("DropoutTraining", call.value(0))


def max_pool(call: Call) -> Results:
    """Return the maxima, and where they are."""
    return call.many("MaxPoolIndices", call.value(0), part="", **call.attributes)


def cross_entropy(call: Call) -> Results:
    """Return the loss; with probabilities that are read, these first."""
    operands = call.values(0, 1, 2)
    if not call.wants(1):
        return [call.add("SoftmaxCrossEntropyLoss", *operands, part="", **call.attributes)]
    scores = call.add("LogSoftmax", operands[0], part="log", axis=1)
    operands[0] = scores
    return [call.add("NegativeLogLikelihoodLoss", *operands, part="", **call.attributes), scores]


def affine_grid(call: Call) -> Results:
    """Multiply the places of an image, a table, by the matrix of each image."""
    theta, size = call.value(0), call.operand(1).contents
    if size is None:
        raise InputError("its size is not known beforehand; export the model with a fixed one")
    images, _, *space = (int(each) for each in size)
    rank = len(space)
    table = (prod(space), rank + 1)
    places = call.builder.state(f"{call.name}.places", table, element_type=call.type(theta))
    grid = call.add("Einsum", places, theta, part="product", equation="pk,nik->npi")
    return [call.reshape(grid, images, *space, rank)]


def deform_conv(call: Call) -> Results:
    """Return the product; an absent bias before a mask is no operand."""
    return [call.add("DeformConv", *call.values(0, 1, 2, 3, 4), part="", **call.attributes)]


def linear_attention(call: Call) -> Results:
    """Return the output and the state; absent operands in between are none."""
    return call.many("LinearAttention", *call.values(0, 1, 2, 3, 4, 5), part="", **call.attributes)


def causal_convolution(call: Call) -> Results:
    """Return a convolution of each channel after the state, and the new state."""
    x, weight = call.value(0), call.value(1)
    (_, channels, length), (_, _, taps) = call.shape(x), call.shape(weight)
    if taps > 1 and call.given(3) is not None:
        x = call.join([call.value(3), x], 2)
        pads = (0, 0)
    else:
        pads = (taps - 1, 0)
    operands = [x, weight, *call.values(2)]
    y = call.add("Conv", *operands, part="conv", group=channels, pads=pads, kernel_shape=(taps,))
    if call.text("activation", "none") in ("silu", "swish"):
        y = call.add("Swish", y, part="activation")
    state = None
    if call.wants(1) and taps < 2:
        raise InputError("has an empty state, for its kernel has one tap; export it as Conv")
    if call.wants(1):
        if pads[0]:
            padding = (0, 0, pads[0], 0, 0, 0)
            x = call.add("Pad", x, part="past", pads=padding)
        state = call.add(
            "Slice", x, part="state", starts=(length,), ends=(length + taps - 1,), axes=(2,)
        )
    return [y, state]
