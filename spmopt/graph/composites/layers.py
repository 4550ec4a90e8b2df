"""Operators of ONNX that are few others: normalizations, losses, grids, results that are extra."""

from __future__ import annotations

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


def cross_entropy(call: Call) -> Results:
    """Return the loss; with probabilities that are read, these first."""
    operands = call.values(0, 1, 2)
    if not call.wants(1):
        return [call.add("SoftmaxCrossEntropyLoss", *operands, part="", **call.attributes)]
    scores = call.add("LogSoftmax", operands[0], part="log", axis=1)
    operands[0] = scores
    return [call.add("NegativeLogLikelihoodLoss", *operands, part="", **call.attributes), scores]


def deform_conv(call: Call) -> Results:
    """Return the product; an absent bias before a mask is no operand."""
    return [call.add("DeformConv", *call.values(0, 1, 2, 3, 4), part="", **call.attributes)]
