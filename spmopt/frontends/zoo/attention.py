"""Multi-head attention and feed-forward layers of the Transformer family.

Attention is one node an operation. The heads are strided views of the projections, as
batched matrix products take them: splitting and joining heads, and transposing the keys,
moves no data. The scale 1 / sqrt(d) is the factor of the product, the mask a part of the softmax.
Residuals follow the sublayer and normalization follows them ("post-norm", as published). Dropout
stands where the published implementations have it: on the attention weights and after each
sublayer.
"""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.layers import NetworkBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Widths that all layers of a model share.

    ``attention_bias``: the four projections have biases (BERT has them, the Transformer not).
    """

    hidden: int
    heads: int
    inner: int
    activation: str
    attention_bias: bool

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise InputError(
                f"hidden size {self.hidden} is not a multiple of {self.heads} heads; change one"
            )


def project(net: NetworkBuilder, name: str, x: int, features: int, *, bias: bool) -> int:
    """Add a fully connected layer on (batch, length, inputs)."""
    batch, length, inputs = net.shape(x)
    rows = net.reshape(x, batch * length, inputs)
    return net.reshape(net.linear(name, rows, features, bias=bias), batch, length, features)


def attention(
    net: NetworkBuilder, name: str, x: int, memory: int, widths: Widths, *, causal: bool = False
) -> int:
    """Add a sublayer: queries from ``x``, keys and values from ``memory``; residual and norm."""
    return _residual(net, name, x, attend(net, name, x, memory, widths, causal=causal))


def attend(
    net: NetworkBuilder,
    name: str,
    x: int,
    memory: int,
    widths: Widths,
    *,
    positions: int | None = None,
    output_bias: bool | None = None,
    causal: bool = False,
) -> int:
    """Attend; ``positions`` (heads, length, span) is added to the scores.

    ``causal``: no token sees those after itself.
    ``output_bias``: whether the last projection has a bias; by default it is as the others.
    """
    batch, length, hidden = net.shape(x)
    span = net.shape(memory)[1]
    heads, width = widths.heads, hidden // widths.heads
    bias = widths.attention_bias
    query = project(net, f"{name}.query", x, hidden, bias=bias)
    key = project(net, f"{name}.key", memory, hidden, bias=bias)
    value = project(net, f"{name}.value", memory, hidden, bias=bias)
    query = net.stride(f"{name}.query.heads", query, (batch, length, heads, width), (0, 2, 1, 3))
    key = net.stride(f"{name}.key.heads", key, (batch, span, heads, width), (0, 2, 3, 1))
    scores = net.layer("MatMul", f"{name}.scores", query, key)
    if positions is not None:
        scores = net.layer("Add", f"{name}.positions", scores, positions)
    more = {"causal": 1} if causal else {}
    weights = net.layer("Softmax", f"{name}.softmax", scores, axis=-1, **more)
    weights = net.dropout(f"{name}.softmax.drop", weights)
    value = net.stride(f"{name}.value.heads", value, (batch, span, heads, width), (0, 2, 1, 3))
    context = net.layer("MatMul", f"{name}.context", weights, value)
    split, whole = (batch, heads, length, width), (batch, length, hidden)
    joined = net.stride(f"{name}.joined", context, split, (0, 2, 1, 3), whole)
    last = bias if output_bias is None else output_bias
    return project(net, f"{name}.output", joined, hidden, bias=last)


def feed_forward(net: NetworkBuilder, name: str, x: int, widths: Widths) -> int:
    """Add a sublayer of two fully connected layers; residual and norm."""
    return _residual(net, name, x, perceptron(net, name, x, widths))


def perceptron(net: NetworkBuilder, name: str, x: int, widths: Widths) -> int:
    """Add two fully connected layers."""
    y = project(net, f"{name}.1", x, widths.inner, bias=True)
    y = net.layer(widths.activation, f"{name}.activation", y)
    return project(net, f"{name}.2", y, widths.hidden, bias=True)


def gate(net: NetworkBuilder, name: str, x: int, inner: int, activation: str, *, bias: bool) -> int:
    """Add one fully connected layer times the activation of another."""
    gate, up = (project(net, f"{name}.{what}", x, inner, bias=bias) for what in ("gate", "up"))
    gate = net.layer(activation, f"{name}.{activation.lower()}", gate)
    return net.layer("Mul", f"{name}.product", gate, up)


def _residual(net: NetworkBuilder, name: str, x: int, y: int) -> int:
    return net.layer_norm(f"{name}.norm", add_dropped(net, name, x, y))


def add_dropped(net: NetworkBuilder, name: str, x: int, y: int) -> int:
    """Add a sublayer's result, after dropout, to its operand."""
    return net.layer("Add", f"{name}.add", x, net.dropout(f"{name}.drop", y))


def require_positions(net: NetworkBuilder, sequence: int, most: int) -> None:
    """Raise :class:`InputError` for more tokens than there are learned positions."""
    if sequence > most:
        raise InputError(f"network {net.name}: sequence must be at most {most}, is {sequence}")


def embed(net: NetworkBuilder, name: str, table: int, batch: int, length: int) -> int:
    """Return rows of ``table`` for (batch, length) tokens; token numbers are a network input."""
    tokens = net.input(name, (batch, length))
    return net.layer("Gather", f"{name}.embedding", table, tokens, axis=0)


def word_probabilities(net: NetworkBuilder, x: int, table: int) -> int:
    """Return the softmax of the products of each token with the rows of the embedding ``table``."""
    batch, length, hidden = net.shape(x)
    rows = net.reshape(x, batch * length, hidden)
    scores = net.layer("Gemm", "projection", rows, table, transB=1)
    return net.layer("Softmax", "softmax", scores, axis=-1)
