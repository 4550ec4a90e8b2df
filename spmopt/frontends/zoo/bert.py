"""BERT encoders with the pooler, as published (vocabulary 30,522, 512 positions).

TinyBERT of 4 layers is a BERT of other widths; the projections that its distillation adds in
training are left out.
"""

from __future__ import annotations

from spmopt.frontends.zoo.attention import (
    Widths,
    attention,
    embed,
    feed_forward,
    require_positions,
)
from spmopt.frontends.zoo.layers import NetworkBuilder

_VOCABULARY = 30522
_POSITIONS = 512
_SEGMENTS = 2


def bert(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    sequence: int,
    hidden: int,
    heads: int,
    inner: int = 0,
) -> list[int]:
    """Build BERT; ``inner`` is 4 ``hidden`` unless it is given."""
    require_positions(net, sequence, _POSITIONS)
    sizes = {"hidden": hidden, "heads": heads, "inner": inner or 4 * hidden}
    widths = Widths(**sizes, activation="Gelu", attention_bias=True)
    x = _embed(net, batch, sequence, hidden)
    for index in range(layers):
        x = attention(net, f"layer{index}.self", x, x, widths)
        x = feed_forward(net, f"layer{index}.ffn", x, widths)
    first = net.layer("Slice", "first", x, starts=(0,), ends=(1,), axes=(1,))
    pooled = net.linear("pooler", net.reshape(first, batch, hidden), hidden)
    return [x, net.layer("Tanh", "pooler.tanh", pooled)]


def _embed(net: NetworkBuilder, batch: int, length: int, hidden: int) -> int:
    """Sum of the embeddings of tokens, segments and positions; norm and dropout."""
    tokens = net.weight("embedding.tokens", (_VOCABULARY, hidden))
    segments = net.weight("embedding.segments", (_SEGMENTS, hidden))
    positions = net.weight("embedding.positions", (_POSITIONS, hidden))
    words = embed(net, "tokens", tokens, batch, length)
    x = net.layer("Add", "embedding.add1", words, embed(net, "segments", segments, batch, length))
    first = net.layer("Slice", "positions", positions, starts=(0,), ends=(length,), axes=(0,))
    x = net.layer("Add", "embedding.add2", x, first)
    return net.dropout("embedding.drop", net.layer_norm("embedding.norm", x))
