"""Files that were exported for evaluation, from which a training step is to be derived.

Such an export lacks, without a sign, dropout, and normalization that was folded into the
weights of the convolution before it. But exporters leave traces of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import node_attributes
from spmopt.frontends.onnx_import.topology import describe

_FOLDED = re.compile(r"onnx::Conv_[0-9]+")
"""What torch calls weights and biases that it makes of others; parameters keep their names."""
_RULE = "FuseBatchNormInto"
"""Begins the names of rules that the newer exporter of torch notes in nodes that they made."""
_ROUNDING = frozenset(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"))
_REMEDY = (
    "export it for training (torch.onnx.export(..., training=TrainingMode.TRAINING, "
    "do_constant_folding=False, dynamo=False))"
)


def warn_of_training(model: onnx.ModelProto) -> str | None:
    """Return a warning: parts that a training step of such a file lacks, and the remedy; or None.

    Torch folds nothing else into both weight and bias of a convolution. A ``BatchNormalization``
    that runs on stored statistics stays, but says that dropout is gone.
    """
    nodes = model.graph.node
    opset = max((each.version for each in model.opset_import if not each.domain), default=1)
    folded = sum(_has_folded(node) for node in nodes)
    if folded:
        return (
            f"the normalizations after {folded} convolutions are folded into their weights, so the "
            f"training step lacks them; {_REMEDY}"
        )
    frozen = sum(node.op_type == "BatchNormalization" and _frozen(node, opset) for node in nodes)
    if frozen:
        return (
            f"{frozen} BatchNormalization nodes run on stored statistics: it was exported for "
            "evaluation. The training step takes those of the batch, but dropout, if there was "
            f"any, is gone; {_REMEDY}"
        )
    return None


def refuse_training(nodes: Sequence[onnx.NodeProto]) -> None:
    """Raise :class:`InputError` for a model that no training step can be derived from.

    One of integers: rounding has no gradient, and training that passes it over (straight
    through) keeps other tensors than such a graph has.
    """
    for node in nodes:
        if node.op_type in _ROUNDING:
            raise InputError(
                f"{describe(node)}: the model is quantized, and rounding has no gradient; derive "
                "the training step from the model before it was quantized (--dtype bf16 makes it "
                "narrower)"
            )


def _has_folded(node: onnx.NodeProto) -> bool:
    """Whether a normalization is folded into a node: by its names, or as the exporter notes."""
    # The newer exporter keeps parameter names, but notes its rewrites.
    if any(_RULE in each.value for each in node.metadata_props):
        return True
    names = node.input[1:]
    return node.op_type == "Conv" and len(names) == 2 and all(map(_FOLDED.fullmatch, names))


def _frozen(node: onnx.NodeProto, opset: int) -> bool:
    # From version 14 an attribute says so; before, training wrote further results.
    if opset >= 14:
        return not node_attributes(node).get("training_mode", 0)
    return len([name for name in node.output if name]) == 1
