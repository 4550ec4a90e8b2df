"""The Transformer, encoder and decoder, with the widths of "big".

``layers`` is the depth of each of the two stacks, N in the paper: the default has 6 + 6, and
``layers=96`` has 96 + 96. The table of word pieces is shared by both embeddings and the output
projection. Scaling the embedding and adding the sinusoids is one ``Add``; dropout follows it.
"""

from __future__ import annotations

from spmopt.frontends.zoo.attention import (
    Widths,
    attention,
    embed,
    feed_forward,
    word_probabilities,
)
from spmopt.frontends.zoo.layers import NetworkBuilder


def _embed(net: NetworkBuilder, name: str, table: int, positions: int, batch: int) -> int:
    length = net.shape(positions)[0]
    x = embed(net, name, table, batch, length)
    x = net.layer("Add", f"{name}.positions", x, positions)
    return net.dropout(f"{name}.drop", x)


def transformer(
    net: NetworkBuilder, batch: int, *, layers: int, sequence: int, vocabulary: int, **sizes: int
) -> list[int]:
    """Build the Transformer; ``sizes`` are ``hidden``, ``heads`` and ``inner``."""
    widths = Widths(**sizes, activation="Relu", attention_bias=False)
    table = net.weight("embedding.weight", (vocabulary, widths.hidden))
    positions = net.state("positions", (sequence, widths.hidden))
    x = _embed(net, "source", table, positions, batch)
    for index in range(layers):
        x = attention(net, f"encoder{index}.self", x, x, widths)
        x = feed_forward(net, f"encoder{index}.ffn", x, widths)
    y = _embed(net, "target", table, positions, batch)
    for index in range(layers):
        y = attention(net, f"decoder{index}.self", y, y, widths, causal=True)
        y = attention(net, f"decoder{index}.cross", y, x, widths)
        y = feed_forward(net, f"decoder{index}.ffn", y, widths)
    return [word_probabilities(net, y, table)]
