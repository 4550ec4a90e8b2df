"""LLaMA 2, a decoder: norms before the sublayers, rotary positions, grouped queries, gates.

``groups`` is the number of key and value heads: ``heads / groups`` query heads have a key and a
value in common, so that their queries are the rows of one product. With as many groups as heads it
is multi-head attention, as the models of 7 and 13 billion parameters have it. Nothing has a bias,
and there is no dropout. Embedding and output projection have a table each.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.attention import embed, project, word_probabilities
from spmopt.frontends.zoo.layers import NetworkBuilder


def llama(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    sequence: int,
    hidden: int,
    heads: int,
    groups: int,
    inner: int,
    vocabulary: int,
) -> list[int]:
    """Build LLaMA; ``inner`` is the width of the gated layer."""
    if hidden % (2 * heads) or heads % groups:
        raise InputError(
            f"network {net.name}: heads must be of an even width and as many in each group, "
            f"is hidden {hidden}, heads {heads}, groups {groups}"
        )
    width = hidden // heads
    angles = [net.state(f"angles.{what}", (sequence, width // 2)) for what in ("cos", "sin")]
    table = net.weight("embedding.weight", (vocabulary, hidden))
    x = embed(net, "tokens", table, batch, sequence)
    for index in range(layers):
        x = _attention(net, f"layer{index}.self", x, (groups, width), angles)
        x = _feed_forward(net, f"layer{index}.ffn", x, inner)
    x = net.root_mean_square_norm("norm", x)
    return [word_probabilities(net, x, net.weight("projection.weight", (vocabulary, hidden)))]


def _attention(
    net: NetworkBuilder, name: str, x: int, sizes: tuple[int, int], angles: list[int]
) -> int:
    """Add a sublayer of grouped queries; ``sizes`` are groups and the width of a head."""
    (batch, length, hidden), (groups, width) = net.shape(x), sizes
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    query, key, value = (
        project(net, f"{name}.{what}", normed, features, bias=False)
        for what, features in (
            ("query", hidden),
            ("key", groups * width),
            ("value", groups * width),
        )
    )
    query = net.layer("RotaryEmbedding", f"{name}.query.turned", query, *angles)
    key = net.layer("RotaryEmbedding", f"{name}.key.turned", key, *angles)
    query = net.reshape(query, batch, groups, hidden // (groups * width) * length, width)
    key = net.reshape(key, batch, groups, width, length)
    scores = net.layer("MatMul", f"{name}.scores", query, key)
    weights = net.layer("Softmax", f"{name}.softmax", scores, axis=-1)
    value = net.reshape(value, batch, groups, length, width)
    context = net.layer("MatMul", f"{name}.context", weights, value)
    joined = net.reshape(context, batch, length, hidden)
    y = project(net, f"{name}.output", joined, hidden, bias=False)
    return net.layer("Add", f"{name}.add", x, y)


def _feed_forward(net: NetworkBuilder, name: str, x: int, inner: int) -> int:
    """Add a sublayer of one layer times the Swish of another, and a third."""
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    gate, up = (
        project(net, f"{name}.{what}", normed, inner, bias=False) for what in ("gate", "up")
    )
    gate = net.layer("Swish", f"{name}.swish", gate)
    y = net.layer("Mul", f"{name}.product", gate, up)
    y = project(net, f"{name}.down", y, net.shape(x)[-1], bias=False)
    return net.layer("Add", f"{name}.add", x, y)
