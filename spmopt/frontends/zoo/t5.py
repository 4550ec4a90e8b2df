"""T5, encoder and decoder, of version 1.0 (ReLU, one table for both embeddings and the output).

Norms come before the sublayers and have a scale only; nothing has a bias. The scores of
self-attention get an addend that depends on the distance of the two tokens: 32 learned ones a
head and stack, gathered once and added in each layer of the stack. ``sequence`` and ``target`` are
the tokens of source and target; the defaults are those of pre-training: 512, and 114 for targets
that hold the 15 % which are masked.
"""

from __future__ import annotations

from spmopt.frontends.zoo.attention import (
    Widths,
    add_dropped,
    attend,
    embed,
    project,
    word_probabilities,
)
from spmopt.frontends.zoo.layers import NetworkBuilder

_BUCKETS = 32


def t5(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    sequence: int,
    target: int,
    vocabulary: int,
    **sizes: int,
) -> list[int]:
    """Build T5; ``sizes`` are ``hidden``, ``heads`` and ``inner``."""
    widths = Widths(**sizes, activation="Relu", attention_bias=False)
    table = net.weight("embedding.weight", (vocabulary, widths.hidden))
    x = net.dropout("source.drop", embed(net, "source", table, batch, sequence))
    positions = _positions(net, "encoder", widths.heads, sequence)
    for index in range(layers):
        x = _attention(net, f"encoder{index}.self", x, None, widths, positions=positions)
        x = _feed_forward(net, f"encoder{index}.ffn", x, widths)
    x = _finish(net, "encoder", x)
    y = net.dropout("target.drop", embed(net, "target", table, batch, target))
    positions = _positions(net, "decoder", widths.heads, target)
    for index in range(layers):
        name = f"decoder{index}.self"
        y = _attention(net, name, y, None, widths, positions=positions, causal=True)
        y = _attention(net, f"decoder{index}.cross", y, x, widths)
        y = _feed_forward(net, f"decoder{index}.ffn", y, widths)
    return [word_probabilities(net, _finish(net, "decoder", y), table)]


def _positions(net: NetworkBuilder, name: str, heads: int, length: int) -> int:
    """Return the bias of each head and each pair of tokens: (heads, length, length)."""
    table = net.weight(f"{name}.positions.weight", (_BUCKETS, heads))
    buckets = net.state(f"{name}.buckets", (length, length))
    # Gathered once a stack: all of its layers share the table, as published.
    pairs = net.layer("Gather", f"{name}.positions", table, buckets, axis=0)
    return net.layer("Transpose", f"{name}.positions.heads", pairs, perm=(2, 0, 1))


def _attention(
    net: NetworkBuilder,
    name: str,
    x: int,
    memory: int | None,
    widths: Widths,
    *,
    positions: int | None = None,
    causal: bool = False,
) -> int:
    """Add a sublayer that attends to ``memory``, or to ``x`` itself."""
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    memory = normed if memory is None else memory
    y = attend(net, name, normed, memory, widths, positions=positions, causal=causal)
    return add_dropped(net, name, x, y)


def _feed_forward(net: NetworkBuilder, name: str, x: int, widths: Widths) -> int:
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    y = project(net, f"{name}.1", normed, widths.inner, bias=False)
    y = net.layer(widths.activation, f"{name}.activation", y)
    y = net.dropout(f"{name}.activation.drop", y)
    return add_dropped(net, name, x, project(net, f"{name}.2", y, widths.hidden, bias=False))


def _finish(net: NetworkBuilder, name: str, x: int) -> int:
    """Add the norm and dropout after the last layer of a stack."""
    return net.dropout(f"{name}.drop", net.root_mean_square_norm(f"{name}.norm", x))
