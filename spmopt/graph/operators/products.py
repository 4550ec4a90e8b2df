"""Matrix products behind operators, and those behind their gradients.

``operators.toml`` calls the rules by their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from spmopt.graph.operators.attributes import broadcast_shape, integer, text
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes

GemmRule = Callable[[Shapes, Shapes, Attributes], Gemm]


def convolution(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """By im2col: result positions (N OH OW) by taps (C / group kh kw) by filters of a group."""
    w, y, group = inputs[1], outputs[0], integer(attributes, "group", 1)
    return Gemm(batch=group, m=y[0] * prod(y[2:]), k=prod(w[1:]), n=w[0] // group)


def transposed_convolution(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the input gradient of a convolution, run forward.

    X by rows of positions times W gives columns (M / group kh kw), added up where windows overlap.
    """
    x, w, group = inputs[0], inputs[1], integer(attributes, "group", 1)
    return Gemm(batch=group, m=x[0] * prod(x[2:]), k=x[1] // group, n=prod(w[1:]))


def gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the product of A (m, k), perhaps given transposed, and B (k, n)."""
    m, k = turned(inputs[0], attributes, "transA")
    return Gemm(m=m, k=k, n=outputs[0][1])


def matmul(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return a batch of products; an operand shared by all of them makes it one large product."""
    a, b = matrices(inputs[0], inputs[1], attributes)
    m, k, n = a[-2], a[-1], b[-1]
    batch = prod(broadcast_shape(a[:-2], b[:-2]))
    own_a, own_b = prod(a[:-2]), prod(b[:-2])
    if own_b == 1:
        return Gemm(m=batch * m, k=k, n=n)
    if own_a == 1:
        return Gemm(m=m, k=k, n=batch * n)
    return Gemm(batch=batch, m=m, k=k, n=n, slices=(own_a, own_b, batch))


def gate(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply [x, h] (N, I + H) by W (I + H, H)."""
    x, _, w = inputs
    return Gemm(m=x[0], k=w[0], n=w[1], a=(0, 1), b=(2,))


def gate_input(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DX, dh (N, I + H) = dY (N, H) W^T; only the columns that are needed."""
    dy = inputs[0]
    columns = sum(shape[1] for shape in outputs)
    return Gemm(m=dy[0], k=dy[1], n=columns, c=tuple(range(len(outputs))))


def gate_weight(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DW (I + H, H) = [x, h]^T dY; inputs dY, x, h."""
    w = outputs[0]
    return Gemm(m=w[0], k=inputs[0][0], n=w[1], a=(1, 2), b=(0,))


def einsum(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return a batch for what both operands and the result have, k for what both operands have."""
    operands, _, result = text(attributes, "equation", "").partition("->")
    first, _, second = operands.partition(",")
    sizes = dict(zip(first + second, inputs[0] + inputs[1], strict=True))
    both = set(first) & set(second)

    def of(labels: set[str]) -> int:
        return prod(sizes[label] for label in labels)

    batch = of(both & set(result))
    return Gemm(
        batch=batch,
        m=of(set(first) - both),
        k=of(both - set(result)),
        n=of(set(second) - both),
        slices=(batch, batch, batch),
    )


def recurrent(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply X (N, I) by one direction of W (D, G H, I), transposed."""
    x, w = inputs[:2]
    return Gemm(m=x[0], k=x[1], n=w[1])


def linear_attention(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the products of each token with the state: of keys, of queries, of the delta rule."""
    (b, tokens, _), (_, heads, keys, values) = inputs[0], outputs[1]
    delta = "delta" in text(attributes, "update_rule", "gated_delta")
    times = integer(attributes, "q_num_heads") + heads * (2 if delta else 1)
    return Gemm(batch=b, m=tokens * times, k=keys, n=values, a=(0, 1), b=(2,))


def blocked(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply A (..., K) by packed weights (K, N)."""
    a = inputs[0]
    return Gemm(m=prod(a[:-1]), k=a[-1], n=outputs[0][-1])


_RULES = (
    *(convolution, transposed_convolution, gemm, matmul, gate, gate_input, gate_weight),
    *(einsum, recurrent, linear_attention, blocked),
)
PRODUCTS: dict[str, GemmRule] = {rule.__name__: rule for rule in _RULES}
"""The rules by name."""


def input_gradient(forward: GemmRule) -> GemmRule:
    """Return the product dX (m, k) = dY (m, n) W^T of X (m, k) W (k, n); inputs dY, W."""

    def backward(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        of = forward((outputs[0], inputs[1]), (inputs[0],), attributes)
        x, w, y = of.slices
        return replace(of, k=of.n, n=of.k, slices=(y, w, x))

    return backward


def weight_gradient(forward: GemmRule) -> GemmRule:
    """Return the product dW (k, n) = X^T dY of X (m, k) W (k, n); inputs dY, X."""

    def backward(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        of = forward((inputs[1], outputs[0]), (inputs[0],), attributes)
        x, w, y = of.slices
        return replace(of, m=of.k, k=of.m, a=(1,), b=(0,), slices=(x, y, w))

    return backward


def turned(shape: Shape, attributes: Attributes, name: str) -> Shape:
    """Return a matrix as the product takes it: transposed where attribute ``name`` says so."""
    return shape[::-1] if integer(attributes, name, 0) else shape


def matrices(a: Shape, b: Shape, attributes: Attributes) -> tuple[Shape, Shape]:
    """Return the operands of ``MatMul`` as the product takes them.

    Vectors are made matrices, as numpy does; matrices may be given transposed (``transA``).
    """
    a, b = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    return (
        (*a[:-2], *turned(a[-2:], attributes, "transA")),
        (*b[:-2], *turned(b[-2:], attributes, "transB")),
    )
