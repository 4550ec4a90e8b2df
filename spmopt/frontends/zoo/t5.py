"""T5, encoder and decoder, of version 1.0 (ReLU, one table for both embeddings and the output).

Norms come before the sublayers and have a scale only; nothing has a bias. The scores of
self-attention get an addend that depends on the distance of the two tokens: 32 learned ones a
head and stack, gathered once and added in each layer of the stack. ``sequence`` and ``target`` are
the tokens of source and target; the defaults are those of pre-training: 512, and 114 for targets
that hold the 15 % which are masked.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.frontends.zoo.attention import Widths, attend, embed, project
from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph

_BUCKETS = 32


def t5(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build T5."""
    hidden, target, layers = (parameters[what] for what in ("hidden", "target", "layers"))
    widths = Widths(
        hidden=hidden,
        heads=parameters["heads"],
        inner=parameters["inner"],
        activation="Relu",
        attention_bias=False,
    )
    net = Layers(name)
    table = net.builder.weight("embedding.weight", (parameters["vocabulary"], hidden))
    x = net.pointwise(
        "Dropout", "source.drop", embed(net, "source", table, batch, parameters["sequence"])
    )
    positions = _positions(net, "encoder", widths.heads, parameters["sequence"])
    for index in range(layers):
        x = _self_attention(net, f"encoder{index}.self", x, widths, positions)
        x = _feed_forward(net, f"encoder{index}.ffn", x, widths)
    x = _finished(net, "encoder", x)
    y = net.pointwise("Dropout", "target.drop", embed(net, "target", table, batch, target))
    positions = _positions(net, "decoder", widths.heads, target)
    for index in range(layers):
        y = _self_attention(net, f"decoder{index}.self", y, widths, positions)
        y = _cross_attention(net, f"decoder{index}.cross", y, x, widths)
        y = _feed_forward(net, f"decoder{index}.ffn", y, widths)
    rows = net.reshape(_finished(net, "decoder", y), batch * target, hidden)
    scores = net.builder.add("Gemm", [rows, table], name="projection", transB=1)
    return net.finish(net.builder.add("Softmax", [scores], name="softmax", axis=-1))


def _positions(net: Layers, name: str, heads: int, length: int) -> int:
    """Bias of each head and each pair of tokens: (heads, length, length)."""
    table = net.builder.weight(f"{name}.positions.weight", (_BUCKETS, heads))
    buckets = net.builder.state(f"{name}.buckets", (length, length))
    pairs = net.builder.add("Gather", [table, buckets], name=f"{name}.positions", axis=0)
    return net.builder.add("Transpose", [pairs], name=f"{name}.positions.heads", perm=(2, 0, 1))


def _self_attention(net: Layers, name: str, x: int, widths: Widths, positions: int) -> int:
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    return _added(net, name, x, attend(net, name, normed, normed, widths, positions=positions))


def _cross_attention(net: Layers, name: str, x: int, memory: int, widths: Widths) -> int:
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    return _added(net, name, x, attend(net, name, normed, memory, widths))


def _feed_forward(net: Layers, name: str, x: int, widths: Widths) -> int:
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    y = project(net, f"{name}.1", normed, widths.inner, bias=False)
    y = net.pointwise(widths.activation, f"{name}.activation", y)
    y = net.pointwise("Dropout", f"{name}.activation.drop", y)
    return _added(net, name, x, project(net, f"{name}.2", y, widths.hidden, bias=False))


def _added(net: Layers, name: str, x: int, y: int) -> int:
    return net.pointwise("Add", f"{name}.add", x, net.pointwise("Dropout", f"{name}.drop", y))


def _finished(net: Layers, name: str, x: int) -> int:
    """The norm and dropout after the last layer of a stack."""
    return net.pointwise("Dropout", f"{name}.drop", net.root_mean_square_norm(f"{name}.norm", x))
