"""Operators that are several products or steps, as the nodes that they are.

Work, fusion tiles and gradients follow from these nodes. They are fewer than those of the function
bodies of ONNX, whose products are the same, but which copy operands: attention takes 2 to 3.5 times
as many bytes.
"""

from __future__ import annotations

from spmopt.graph.composites import layers
from spmopt.graph.composites.attention import attention
from spmopt.graph.composites.call import Call, Composite, Operand, Results
from spmopt.graph.composites.einsum import einsum
from spmopt.graph.composites.microsoft import MICROSOFT, as_other
from spmopt.graph.composites.recurrent import gru, lstm, rnn

__all__ = ["COMPOSITES", "WITH_MORE_RESULTS", "Call", "Composite", "Operand", "Results"]

COMPOSITES: dict[str, Composite] = {
    "AffineGrid": layers.affine_grid,
    "Attention": attention,
    "CausalConvWithState": layers.causal_convolution,
    "DeformConv": layers.deform_conv,
    "Einsum": einsum,
    "GRU": gru,
    "InstanceNormalization": layers.instance_normalization,
    "LSTM": lstm,
    "LinearAttention": layers.linear_attention,
    "RNN": rnn,
    "SimplifiedLayerNormalization": as_other("RMSNormalization", 0, 1, keep=("axis",)),
    "SoftmaxCrossEntropyLoss": layers.cross_entropy,
    "ai.onnx.contrib.RequantShift": as_other("RequantShift", 0, 1, 2),
    **MICROSOFT,
}
"""By the names of the operators, those of other domains as ``domain.Name``."""

WITH_MORE_RESULTS: dict[str, Composite] = {
    "BatchNormalization": layers.batch_normalization,
    "Dropout": layers.dropout,
    "LayerNormalization": layers.layer_normalization,
    "MaxPool": layers.max_pool,
}
"""Operators with a rule that are something else where results beyond the first are read."""
