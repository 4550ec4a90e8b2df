"""Rules of matrix products, and the products behind their gradients.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from string import ascii_letters

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import broadcast_shape, first_two, integer, text
from spmopt.graph.operators.spec import Attributes, Gemm, GemmRule, Shape, Shapes
from spmopt.graph.operators.statements import align, complete

_MATRIX = str.maketrans("ab", "mn")


def gemm_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply A (m, k) by B (k, n), either perhaps transposed; a bias broadcasts."""
    if len(inputs[0]) != 2 or len(inputs[1]) != 2:
        raise InputError(f"shapes {inputs[0]} and {inputs[1]} must both have 2 dimensions")
    m, k = turn(inputs[0], attributes, "transA")
    inner, n = turn(inputs[1], attributes, "transB")
    if inner != k:
        raise InputError(f"inner dimensions {k} and {inner} differ")
    if len(inputs) == 3 and broadcast_shape(inputs[2], (m, n)) != (m, n):
        raise InputError(f"bias {inputs[2]} does not broadcast to {(m, n)}")
    return ((m, n),)


def gemm_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply matrices, either perhaps transposed; a bias broadcasts."""
    a = "k, m" if integer(attributes, "transA", 0) else "m, k"
    b = "n, k" if integer(attributes, "transB", 0) else "k, n"
    return f"y0[m, n] += x0[{a}] * x1[{b}]" + (
        f"; y0[m, n] += {align('x2', inputs[2], outputs[0]).translate(_MATRIX)}"
        if inputs[2:]
        else ""
    )


def gemm_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the product of A (m, k), perhaps given transposed, and B (k, n)."""
    m, k = turn(inputs[0], attributes, "transA")
    return Gemm(m=m, k=k, n=outputs[0][1])


def gemm_of_two_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply the first two inputs, either perhaps transposed."""
    return gemm_shapes(first_two(inputs), attributes)


def matmul_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply matrices of the last two axes, the others broadcast; vectors as numpy takes them."""
    if not inputs[0] or not inputs[1]:
        raise InputError("a scalar has no matrix product; use Mul")
    a, b = matrices(inputs[0], inputs[1], attributes)
    if a[-1] != b[-2]:
        raise InputError(f"inner dimensions of {inputs[0]} and {inputs[1]} differ")
    rows = a[-2:-1] if len(inputs[0]) > 1 else ()
    columns = b[-1:] if len(inputs[1]) > 1 else ()
    return ((*broadcast_shape(a[:-2], b[:-2]), *rows, *columns),)


def matmul_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply matrices of the last two axes, the others broadcast; vectors as numpy takes them."""
    rows = ", m" if len(inputs[0]) > 1 else ""
    columns = ", n" if len(inputs[1]) > 1 else ""
    a = f"x0[...{rows}, k]" if rows else "x0[k]"
    b = f"x1[..., k{columns}]" if columns else "x1[k]"
    if integer(attributes, "transA", 0) and rows:
        a = "x0[..., k, m]"
    if integer(attributes, "transB", 0) and columns:
        b = "x1[..., n, k]"
    return f"y0[...{rows}{columns}] += {a} * {b}"


def rounded_matmul_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply matrices, then scale and round complete sums."""
    return complete(matmul_computes(inputs, outputs, attributes))


def rounded_gemm_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply two matrices, then scale and round complete sums."""
    return complete(gemm_computes(inputs, outputs, attributes))


def matmul_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return a batch of products, each with slices of its own of both operands.

    Products that share a slice of B, as those of grouped queries, are one of more rows; those that
    share one of A are one of more columns.
    """
    a, b = matrices(inputs[0], inputs[1], attributes)
    m, k, n = a[-2], a[-1], b[-1]
    rank, batch = max(len(a), len(b)) - 2, 1
    of_a, of_b = ((1,) * (rank + 2 - len(each)) + each[:-2] for each in (a, b))
    for own_a, own_b in zip(of_a, of_b, strict=True):
        if own_b == 1:
            m *= own_a
        elif own_a == 1:
            n *= own_b
        else:
            batch *= own_a
    return Gemm(batch=batch, m=m, k=k, n=n, slices=(batch,) * 3)


def matmul_of_two_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply the first two inputs as matrices."""
    return matmul_shapes(first_two(inputs), attributes)


def einsum_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the product of two operands by ``equation``, ``"bij,bjk->bik"``."""
    first, second, result = equation(attributes)
    if len(first) != len(inputs[0]) or len(second) != len(inputs[1]):
        raise InputError(f"equation {attributes['equation']} does not suit shapes {inputs}")
    sizes = dict(zip(first, inputs[0], strict=True))
    for label, size in zip(second, inputs[1], strict=True):
        if sizes.setdefault(label, size) != size:
            raise InputError(f"equation {attributes['equation']}: {label} differs in {inputs}")
    return (tuple(sizes[label] for label in result),)


def einsum_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply as the equation says."""
    first, second, result = (", ".join(labels) or "()" for labels in equation(attributes))
    return f"y0[{result}] += x0[{first}] * x1[{second}]"


def einsum_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return a batch for axes of both operands and the result, k for axes of both operands."""
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


def equation(attributes: Attributes) -> tuple[str, str, str]:
    """Return the labels of two operands and of the result.

    Raises
    ------
    InputError
        It is no equation of two operands whose labels are in two places each, or more.
    """
    given = text(attributes, "equation", "")
    operands, arrow, result = given.partition("->")
    first, comma, second = operands.partition(",")
    parts = (first, second, result)
    labels = "".join(parts)
    once = all(len(set(part)) == len(part) for part in parts)
    if not arrow or not comma or not once or not all(c.isascii() and c.isalpha() for c in labels):
        raise InputError(f"equation {given!r} must be such as 'bij,bjk->bik', each label once")
    if any(labels.count(label) < 2 for label in labels):
        raise InputError(f"equation {given!r} sums a label of one operand; use ReduceSum before")
    return parts


def matmul_nbits_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply A (..., K) by packed weights (K, N)."""
    if inputs[0][-1:] != (integer(attributes, "K"),):
        raise InputError(f"A {inputs[0]} must have {integer(attributes, 'K')} columns (K)")
    return ((*inputs[0][:-1], integer(attributes, "N")),)


def matmul_nbits_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply rows by all weights, which are packed."""
    rows = ", ".join(ascii_letters[: len(inputs[0]) - 1])
    return f"y0[{rows}, :] = x0[{rows}, :] * x1[{', '.join(':' * len(inputs[1]))}]"


def matmul_nbits_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply A (..., K) by packed weights (K, N)."""
    a = inputs[0]
    return Gemm(m=prod(a[:-1]), k=a[-1], n=outputs[0][-1])


def input_gradient(forward: GemmRule) -> GemmRule:
    """Return the product dX (m, k) = dY (m, n) W^T of X (m, k) W (k, n); inputs dY, W."""

    def backward(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        of = forward((outputs[0], inputs[1]), (inputs[0],), attributes)
        (x, w, y), (m, k, n) = of.slices, of.taps
        return replace(of, k=of.n, n=of.k, slices=(y, w, x), taps=(m, n, k))

    return backward


def weight_gradient(forward: GemmRule) -> GemmRule:
    """Return the product dW (k, n) = X^T dY of X (m, k) W (k, n); inputs dY, X."""

    def backward(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        of = forward((inputs[1], outputs[0]), (inputs[0],), attributes)
        (x, w, y), (m, k, n) = of.slices, of.taps
        turned = replace(of, m=of.k, k=of.m, a=(1,), b=(0,))
        return replace(turned, slices=(x, y, w), taps=(k, m, n))

    return backward


def turn(shape: Shape, attributes: Attributes, name: str) -> Shape:
    """Return a matrix as the product takes it: transposed where attribute ``name`` says so."""
    return shape[::-1] if integer(attributes, name, 0) else shape


def matrices(a: Shape, b: Shape, attributes: Attributes) -> tuple[Shape, Shape]:
    """Return the operands of ``MatMul`` as the product takes them.

    Vectors are made matrices, as numpy does; matrices may be given transposed (``transA``).
    """
    a, b = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    return (
        (*a[:-2], *turn(a[-2:], attributes, "transA")),
        (*b[:-2], *turn(b[-2:], attributes, "transB")),
    )
