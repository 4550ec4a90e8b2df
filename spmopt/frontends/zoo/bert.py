"""BERT encoders with the pooler, as published (vocabulary 30,522, 512 positions).

TinyBERT of 4 layers is a BERT of other widths; the projections that its distillation adds in
training are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.attention import Widths, attention, embed, feed_forward
from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph

_VOCABULARY = 30522
_POSITIONS = 512
_SEGMENTS = 2


def bert(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build BERT."""
    hidden, length = parameters["hidden"], parameters["sequence"]
    if length > _POSITIONS:
        raise InputError(f"network {name}: sequence must be at most {_POSITIONS}, is {length}")
    widths = Widths(
        hidden=hidden,
        heads=parameters["heads"],
        inner=parameters.get("inner", 4 * hidden),
        activation="Gelu",
        attention_bias=True,
    )
    net = Layers(name)
    x = _embedded(net, batch, length, hidden)
    for index in range(parameters["layers"]):
        x = attention(net, f"layer{index}.self", x, x, widths)
        x = feed_forward(net, f"layer{index}.ffn", x, widths)
    first = net.builder.add("Slice", [x], name="first", starts=(0,), ends=(1,), axes=(1,))
    pooled = net.linear("pooler", net.reshape(first, batch, hidden), hidden)
    return net.finish(x, net.pointwise("Tanh", "pooler.tanh", pooled))


def _embedded(net: Layers, batch: int, length: int, hidden: int) -> int:
    """Sum of the embeddings of tokens, segments and positions; norm and dropout."""
    tables = {
        what: net.builder.weight(f"embedding.{what}", (rows, hidden))
        for what, rows in (
            ("tokens", _VOCABULARY),
            ("segments", _SEGMENTS),
            ("positions", _POSITIONS),
        )
    }
    x = net.pointwise(
        "Add",
        "embedding.add1",
        embed(net, "tokens", tables["tokens"], batch, length),
        embed(net, "segments", tables["segments"], batch, length),
    )
    positions = net.builder.add(
        "Slice", [tables["positions"]], name="positions", starts=(0,), ends=(length,), axes=(0,)
    )
    x = net.pointwise("Add", "embedding.add2", x, positions)
    return net.pointwise("Dropout", "embedding.drop", net.layer_norm("embedding.norm", x))
