"""LLaMA 2 and 3, decoders: norms before the sublayers, rotary positions, grouped queries, gates.

``groups`` is the number of key and value heads: ``heads / groups`` query heads have a key and a
value in common, so that their queries are the rows of one product. With as many groups as heads it
is multi-head attention, as the models of 7 and 13 billion parameters have it. Nothing has a bias,
and there is no dropout. Embedding and output projection have a table each.

Three ways to run it. In training, and to score a text, all tokens are there at once. ``cache=1`` is
the first pass over a prompt ("prefill"): keys and values of its tokens are results. ``past=N``
adds tokens to N whose keys and values are network inputs; those of the new tokens are results, for
the caller to put behind the others. The cache itself is read where it is: scores and means
of old and new tokens are products of their own, of which only the scores are joined. With a cache
the rows of the embedding are looked up, while training, with its dense gradient, reads the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.attention import embed, gate, project, word_probabilities
from spmopt.frontends.zoo.layers import NetworkBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """Heads and positions, common to the attention of all layers.

    ``angles``: cosines and sines of the positions of the new tokens. ``past``: tokens in the cache.
    """

    groups: int
    width: int
    angles: tuple[int, ...]
    past: int


def llama(
    net: NetworkBuilder,
    batch: int,
    *,
    layers: int,
    sequence: int,
    past: int,
    cache: int,
    vocabulary: int,
    inner: int,
    **sizes: int,
) -> list[int]:
    """Build LLaMA; ``inner`` is the width of the gated layer, ``sizes`` are of the attention."""
    hidden, heads = sizes["hidden"], _heads(net, sequence, past, **sizes)
    if past or cache:
        rows = net.look_up("tokens", batch * sequence, hidden, vocabulary)
        x = net.reshape(rows, batch, sequence, hidden)
    else:
        table = net.weight("embedding.weight", (vocabulary, hidden))
        x = embed(net, "tokens", table, batch, sequence)
    kept = list[int]()
    for index in range(layers):
        x, key_and_value = _attention(net, f"layer{index}.self", x, heads)
        x = _feed_forward(net, f"layer{index}.ffn", x, inner)
        kept += key_and_value if past or cache else ()
    x = net.root_mean_square_norm("norm", x)
    projection = net.weight("projection.weight", (vocabulary, hidden))
    return [word_probabilities(net, x, projection), *kept]


def _heads(
    net: NetworkBuilder, sequence: int, past: int, *, hidden: int, heads: int, groups: int
) -> _Heads:
    if hidden % (2 * heads) or heads % groups:
        raise InputError(
            f"network {net.name}: heads must be of an even width and as many in each group, "
            f"is hidden {hidden}, heads {heads}, groups {groups}"
        )
    width = hidden // heads
    tables = [net.state(f"angles.{what}", (sequence, width // 2)) for what in ("cos", "sin")]
    return _Heads(groups=groups, width=width, angles=tuple(tables), past=past)


def _attention(
    net: NetworkBuilder, name: str, x: int, heads: _Heads
) -> tuple[int, tuple[int, int]]:
    """Add a sublayer of grouped queries; return keys and values of its tokens, too."""
    batch, length, hidden = net.shape(x)
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    shared = heads.groups * heads.width
    query = project(net, f"{name}.query", normed, hidden, bias=False)
    key = project(net, f"{name}.key", normed, shared, bias=False)
    value = project(net, f"{name}.value", normed, shared, bias=False)
    query = net.layer("RotaryEmbedding", f"{name}.query.turned", query, *heads.angles)
    key = net.layer("RotaryEmbedding", f"{name}.key.turned", key, *heads.angles)
    # Queries of a group, of all tokens, are the rows of one product.
    groups, width = heads.groups, heads.width
    each = hidden // (groups * width)
    split, rows = (batch, length, groups, each, width), (batch, groups, length * each, width)
    query = net.stride(f"{name}.query.groups", query, split, (0, 2, 1, 3, 4), rows)
    context = _attend(net, name, query, (key, value), heads)
    split = (batch, groups, length, each, width)
    joined = net.stride(f"{name}.joined", context, split, (0, 2, 1, 3, 4), (batch, length, hidden))
    y = project(net, f"{name}.output", joined, hidden, bias=False)
    return net.layer("Add", f"{name}.add", x, y), (key, value)


def _attend(net: NetworkBuilder, name: str, query: int, new: tuple[int, int], heads: _Heads) -> int:
    """Return the means of values, of the cache and of new tokens."""
    batch, groups, _, width = net.shape(query)
    length = net.shape(new[0])[1]
    split = (batch, length, groups, width)
    key = net.stride(f"{name}.key.groups", new[0], split, (0, 2, 3, 1))
    value = net.stride(f"{name}.value.groups", new[1], split, (0, 2, 1, 3))
    scores = net.layer("MatMul", f"{name}.scores", query, key)
    # No token sees those after itself.
    causal = {"axis": -1, "causal": net.shape(query)[2] // length}
    if not heads.past:
        weights = net.layer("Softmax", f"{name}.softmax", scores, **causal)
        return net.layer("MatMul", f"{name}.context", weights, value)
    cached = net.input(f"{name}.cache.key", (batch, groups, width, heads.past))
    before = net.layer("MatMul", f"{name}.cache.scores", query, cached)
    scores = net.layer("Concat", f"{name}.scores.joined", before, scores, axis=-1)
    weights = net.layer("Softmax", f"{name}.softmax", scores, **causal)
    parts = net.add_many(
        "Split", [weights], name=f"{name}.weights", axis=-1, split=(heads.past, length)
    )
    cached = net.input(f"{name}.cache.value", (batch, groups, heads.past, width))
    before = net.layer("MatMul", f"{name}.cache.context", parts[0], cached)
    context = net.layer("MatMul", f"{name}.context", parts[1], value)
    return net.layer("Add", f"{name}.context.sum", before, context)


def _feed_forward(net: NetworkBuilder, name: str, x: int, inner: int) -> int:
    """Add a sublayer of one layer times the Swish of another, and a third."""
    normed = net.root_mean_square_norm(f"{name}.norm", x)
    y = gate(net, name, normed, inner, "Swish", bias=False)
    y = project(net, f"{name}.down", y, net.shape(x)[-1], bias=False)
    return net.layer("Add", f"{name}.add", x, y)
