"""Matrix products: ``Gemm`` and the batched, broadcasting ``MatMul``, with their gradients."""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import broadcast, expect_inputs, integer
from spmopt.graph.operators.products import product_spec
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes


def _gemm_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2, 3)
    if len(inputs[0]) != 2 or len(inputs[1]) != 2:
        raise InputError(f"shapes {inputs[0]} and {inputs[1]} must both have 2 dimensions")
    m, k = _transposed(inputs[0], attributes, "transA")
    inner, n = _transposed(inputs[1], attributes, "transB")
    if inner != k:
        raise InputError(f"inner dimensions {k} and {inner} differ")
    if len(inputs) == 3 and broadcast(inputs[2], (m, n)) != (m, n):
        raise InputError(f"bias {inputs[2]} does not broadcast to {(m, n)}")
    return ((m, n),)


def _transposed(shape: Shape, attributes: Attributes, name: str) -> Shape:
    return shape[::-1] if integer(attributes, name, 0) else shape


def _gemm_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    m, k = _transposed(inputs[0], attributes, "transA")
    return Gemm(m=m, k=k, n=outputs[0][1])


def _gemm_input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    m, k = _transposed(outputs[0], attributes, "transA")
    return Gemm(m=m, k=inputs[0][1], n=k)


def _gemm_weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    k, n = _transposed(outputs[0], attributes, "transB")
    return Gemm(m=k, k=inputs[0][0], n=n, a=(1,), b=(0,))


def _matmul_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2)
    if not inputs[0] or not inputs[1]:
        raise InputError("a scalar has no matrix product; use Mul")
    a, b = matrices(inputs[0], inputs[1])
    if a[-1] != b[-2]:
        raise InputError(f"inner dimensions of {inputs[0]} and {inputs[1]} differ")
    rows = a[-2:-1] if len(inputs[0]) > 1 else ()
    columns = b[-1:] if len(inputs[1]) > 1 else ()
    return ((*broadcast(a[:-2], b[:-2]), *rows, *columns),)


def matrices(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Operands of ``MatMul`` with vectors made matrices, as numpy does."""
    return (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))


def _product(a: Shape, b: Shape) -> Gemm:
    """The forward product; an operand shared by the whole batch makes it one large product."""
    a, b = matrices(a, b)
    m, k, n = a[-2], a[-1], b[-1]
    batch = prod(broadcast(a[:-2], b[:-2]))
    own_a, own_b = prod(a[:-2]), prod(b[:-2])
    if own_b == 1:
        return Gemm(m=batch * m, k=k, n=n)
    if own_a == 1:
        return Gemm(m=m, k=k, n=batch * n)
    return Gemm(batch=batch, m=m, k=k, n=n, slices=(own_a, own_b, batch))


def _matmul_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    return _product(inputs[0], inputs[1])


def _matmul_input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DA (m, k) = dY (m, n) B^T; inputs dY, B."""
    forward = _product(outputs[0], inputs[1])
    a, b, y = forward.slices
    return Gemm(batch=forward.batch, m=forward.m, k=forward.n, n=forward.k, slices=(y, b, a))


def _matmul_weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DB (k, n) = A^T dY; inputs dY, A."""
    forward = _product(inputs[1], outputs[0])
    a, b, y = forward.slices
    return Gemm(
        batch=forward.batch,
        m=forward.k,
        k=forward.m,
        n=forward.n,
        a=(1,),
        b=(0,),
        slices=(a, y, b),
    )


SPECS = (
    product_spec("Gemm", _gemm_gemm, _gemm_shapes),
    product_spec("GemmInputGradient", _gemm_input_gemm),
    product_spec("GemmWeightGradient", _gemm_weight_gemm),
    product_spec("MatMul", _matmul_gemm, _matmul_shapes),
    product_spec("MatMulInputGradient", _matmul_input_gemm),
    product_spec("MatMulWeightGradient", _matmul_weight_gemm),
)
