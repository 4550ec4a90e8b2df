"""GPT-2, a decoder: norms before the sublayers, learned positions, GELU.

Queries, keys and values are projections of their own, where the published code has them side by
side in one. Embedding and output projection share a table. Dropout follows the embedding, the
attention weights and each sublayer.
"""

from __future__ import annotations

from spmopt.frontends.zoo.attention import (
    Widths,
    add_dropped,
    attend,
    embed,
    perceptron,
    require_positions,
    word_probabilities,
)
from spmopt.frontends.zoo.layers import NetworkBuilder

_POSITIONS = 1024


def gpt2(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    sequence: int,
    hidden: int,
    heads: int,
    vocabulary: int,
) -> list[int]:
    """Build GPT-2; the inner layers are four times as wide."""
    require_positions(net, sequence, _POSITIONS)
    sizes = {"hidden": hidden, "heads": heads, "inner": 4 * hidden}
    widths = Widths(**sizes, activation="Gelu", attention_bias=True)
    table = net.weight("embedding.tokens", (vocabulary, hidden))
    x = _embed(net, table, batch, sequence)
    for index in range(layers):
        normed = net.layer_norm(f"layer{index}.self.norm", x)
        y = attend(net, f"layer{index}.self", normed, normed, widths, causal=True)
        x = add_dropped(net, f"layer{index}.self", x, y)
        normed = net.layer_norm(f"layer{index}.ffn.norm", x)
        y = perceptron(net, f"layer{index}.ffn", normed, widths)
        x = add_dropped(net, f"layer{index}.ffn", x, y)
    return [word_probabilities(net, net.layer_norm("norm", x), table)]


def _embed(net: NetworkBuilder, table: int, batch: int, length: int) -> int:
    """Return the sum of the embeddings of tokens and positions, after dropout."""
    rows = embed(net, "tokens", table, batch, length)
    positions = net.weight("embedding.positions", (_POSITIONS, net.shape(table)[1]))
    first = net.layer("Slice", "positions", positions, starts=(0,), ends=(length,), axes=(0,))
    return net.dropout("embedding.drop", net.layer("Add", "embedding.add", rows, first))
