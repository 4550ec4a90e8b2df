"""The Transformer, encoder and decoder, with the widths of "big".

``layers`` is the depth of each of the two stacks, N in the paper: the default has 6 + 6, and
``layers=96`` has 96 + 96. The table of word pieces is shared by both embeddings and the output
projection. Scaling the embedding and adding the sinusoids is one ``Add``; dropout follows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.frontends.zoo.attention import Widths, attention, embed, feed_forward
from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph


def _embedded(net: Layers, name: str, table: int, positions: int, batch: int) -> int:
    length = net.builder.shape(positions)[0]
    x = embed(net, name, table, batch, length)
    x = net.pointwise("Add", f"{name}.positions", x, positions)
    return net.pointwise("Dropout", f"{name}.drop", x)


def transformer(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build the Transformer."""
    hidden, length = parameters["hidden"], parameters["sequence"]
    vocabulary, layers = parameters["vocabulary"], parameters["layers"]
    widths = Widths(
        hidden=hidden,
        heads=parameters["heads"],
        inner=parameters["inner"],
        activation="Relu",
        attention_bias=False,
    )
    net = Layers(name)
    table = net.builder.weight("embedding.weight", (vocabulary, hidden))
    positions = net.builder.state("positions", (length, hidden))
    x = _embedded(net, "source", table, positions, batch)
    for index in range(layers):
        x = attention(net, f"encoder{index}.self", x, x, widths)
        x = feed_forward(net, f"encoder{index}.ffn", x, widths)
    y = _embedded(net, "target", table, positions, batch)
    for index in range(layers):
        y = attention(net, f"decoder{index}.self", y, y, widths)
        y = attention(net, f"decoder{index}.cross", y, x, widths)
        y = feed_forward(net, f"decoder{index}.ffn", y, widths)
    rows = net.reshape(y, batch * length, hidden)
    scores = net.builder.add("Gemm", [rows, table], name="projection", transB=1)
    return net.finish(net.builder.add("Softmax", [scores], name="softmax", axis=-1))
