"""Element-wise operators, reductions, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf, prod

import numpy as np

from spmopt.execution.emission.reference.steps import Describing, Steps, rows, summed_to
from spmopt.execution.kernels.call import FRACTIONS, Array, Call, places_of
from spmopt.execution.kernels.forward import of_tanh
from spmopt.execution.kernels.reductions import reduced_axes
from spmopt.graph.operators.attributes import number

_Numbers = Callable[[Call], Sequence[float]]


def single(call: Call, name: str, default: float) -> float:
    """Return an attribute in fp32, as ONNX's reference gets those that are no operands."""
    return float(np.float32(number(call.attributes, name, default)))


def _given(**defaults: float) -> _Numbers:
    return lambda call: [number(call.attributes, *each) for each in defaults.items()]


def _single(**defaults: float) -> _Numbers:
    return lambda call: [single(call, *each) for each in defaults.items()]


_SIXTH = float(np.float32(1 / 6))
_UNARY: Mapping[str, tuple[str, _Numbers]] = {
    "Relu": ("relu", _given()),
    "Clip": ("clip", _given(min=-inf, max=inf)),
    "Neg": ("negative", _given()),
    "Abs": ("absolute", _given()),
    "Sign": ("sign", _given()),
    "Sqrt": ("square_root", _given()),
    "Exp": ("exponential", _given()),
    "Log": ("logarithm", _given()),
    "Erf": ("error_function", _given()),
    "Reciprocal": ("reciprocal", _given()),
    "Sin": ("sine", _given()),
    "Cos": ("cosine", _given()),
    "Tanh": ("hyperbolic_tangent", _given()),
    "Sigmoid": ("sigmoid", _given()),
    "HardSigmoid": ("hard_sigmoid", _single(alpha=0.2, beta=0.5)),
    "HardSwish": ("hard_swish", lambda call: [_SIXTH, 0.5]),
    "Swish": ("swish", _given(alpha=1.0)),
    "Mish": ("mish", _given()),
    "Elu": ("elu", _single(alpha=1.0)),
    "Selu": ("selu", _single(alpha=1.67326319217681884765625, gamma=1.05070102214813232421875)),
    "LeakyRelu": ("leaky_relu", _single(alpha=0.01)),
    "Softplus": ("softplus", _given()),
    "Softsign": ("softsign", _given()),
    "Round": ("round_whole", _given()),
    "Floor": ("round_down", _given()),
    "Ceil": ("round_up", _given()),
    "Not": ("invert", _given()),
}
_SLOPES: Mapping[str, tuple[str, _Numbers]] = {
    **{
        name: (f"{_UNARY[name][0]}_gradient", _given())
        for name in (
            *("Relu", "Abs", "Sqrt", "Exp", "Log", "Erf", "Reciprocal", "Sin", "Cos", "Tanh"),
            *("Sigmoid", "HardSwish", "Mish", "Softplus", "Softsign"),
        )
    },
    "Clip": ("clip_gradient", _given(min=-inf, max=inf)),
    "HardSigmoid": ("hard_sigmoid_gradient", _given(alpha=0.2)),
    "Swish": ("swish_gradient", _given(alpha=1.0)),
    "Elu": ("elu_gradient", _given(alpha=1.0)),
    "Selu": ("selu_gradient", _given(alpha=1.6732632423543772, gamma=1.0507009873554805)),
    "LeakyRelu": ("leaky_relu_gradient", _given(alpha=0.01)),
}
_BINARY: Mapping[str, str] = {
    "Add": "sum",
    "Sum": "sum",
    "Sub": "difference",
    "Mul": "product",
    "Div": "quotient",
    "Pow": "power",
    "Max": "greatest",
    "Min": "least",
    "Equal": "equal",
    "Greater": "is_greater",
    "GreaterOrEqual": "is_greater_or_equal",
    "Less": "is_less",
    "LessOrEqual": "is_less_or_equal",
    "And": "both",
    "Or": "either",
}


def _unary(kernel: str, numbers: _Numbers) -> Describing:
    def described(call: Call, results: Sequence[Array], do: Steps) -> None:
        if len(call.inputs) > 1 and call.operator == "Clip":
            raise NotImplementedError("its limits are not known")
        do.run(kernel, results, call.inputs, numbers=numbers(call))

    return described


def _binary(kernel: str) -> Describing:
    """Combine two operands or more, from the first on."""

    def described(call: Call, results: Sequence[Array], do: Steps) -> None:
        if kernel == "quotient" and call.inputs[0].dtype.kind != "f":
            raise NotImplementedError("quotients of integers")
        found = reduce(lambda one, other: do.made(kernel, [one, other]), call.inputs)
        do.copy(results[0], found)

    return described


def _gelu(call: Call, results: Sequence[Array], do: Steps) -> None:
    gradient = "_gradient" if call.operator.endswith("Gradient") else ""
    do.run(f"gelu{'_tanh' if of_tanh(call) else ''}{gradient}", results, call.inputs)


def _same(call: Call, results: Sequence[Array], do: Steps) -> None:
    (x, *_), to = call.inputs, call.dtypes
    if x.dtype.kind == "f" and to and to[0].kind in "iu":  # what is behind the point is left out
        x = do.made("round_to_zero", [x])
    do.copy(results[0], x.reshape(results[0].shape))


def _choice(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0], do.made("choose", call.inputs))


def _difference(call: Call, results: Sequence[Array], do: Steps) -> None:
    summed_to(do, do.made("negative", call.inputs), call.shapes[0], results[0])


def _product(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, *others = call.inputs
    for other, result in zip(others, results, strict=True):
        summed_to(do, do.made("product", [dy, other]), result.shape, result)


def _quotient(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Make dA = dY / B, and dB = -dY Y / B where Y is read."""
    dy, b, *of = call.inputs
    first = do.made("quotient", [dy, b])
    both = [first, *(do.made("product", [do.made("negative", [first]), y]) for y in of)]
    wanted = both if len(both) == len(results) else both[1:]
    for place, (each, result) in enumerate(zip(wanted, results, strict=True)):
        summed_to(do, _rounded(call, place, each, do), result.shape, result)


def _rounded(call: Call, place: int, terms: Array, do: Steps) -> Array:
    """Return terms that, of whole numbers, are whole again where they are to be summed up."""
    before, after = call.shapes[place], terms.shape
    if call.of and call.given and call.whole:
        before, after = call.given[call.of[place]], call.whole[0]
    if not call.whole_numbers or before == after:
        return terms
    return do.made("round_whole", [do.made("scale_by", [terms], [FRACTIONS])])


def _choice_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, condition = call.inputs
    wanted = call.of or tuple(place + 1 for place in places_of(call, 2))
    zeros = do.own(())
    both = {1: [dy, zeros], 2: [zeros, dy]}
    for place, result in zip(wanted, results, strict=True):
        summed_to(do, do.made("choose", [condition, *both[place]]), result.shape, result)


def _extreme(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, *operands, y = call.inputs
    for x, result in zip(operands, results, strict=True):
        summed_to(do, do.made("give_where_equal", [dy, x, y]), result.shape, result)


def _total(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Add up: along axes, forward; to the shape of a broadcast operand or a bias, backward."""
    x, result = call.inputs[0], results[0]
    axes = call.attributes.get("axes")
    of_filters = x.ndim > 2 and result.shape == x.shape[1:2] and "pads" in call.attributes
    if isinstance(axes, tuple) and axes:
        _reduced("sum_rows", call, results, do, axes)
    elif result.size == 1:
        _reduced("sum_rows", call, results, do, range(x.ndim))
    elif of_filters:
        _reduced("sum_rows", call, results, do, None)
    else:
        summed_to(do, x, result.shape, result)


def _reduced(
    kernel: str, call: Call, results: Sequence[Array], do: Steps, axes: Sequence[int] | None
) -> None:
    """Reduce along axes; None: all but that of channels."""
    x = call.inputs[0]
    turned, many, inner = rows(x, [0, *range(2, x.ndim)] if axes is None else axes)
    divisor = inner if call.operator == "GlobalAveragePool" else 1
    if call.operator == "ReduceMean" and not call.whole_numbers:  # of whole ones it is their sum
        every = call.whole[0] if call.whole else x.shape
        divisor = prod(every[axis] for axis in axes or ())
    do.run(kernel, results, [turned], [many, inner], [divisor])


def _reduction(kernel: str) -> Describing:
    def described(call: Call, results: Sequence[Array], do: Steps) -> None:
        _reduced(kernel, call, results, do, reduced_axes(call, call.inputs[0].ndim))

    return described


def _over_space(kernel: str) -> Describing:
    return lambda call, results, do: _reduced(
        kernel, call, results, do, range(2, call.inputs[0].ndim)
    )


def _spread(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Give each element that a sum or mean was made of its share of dY."""
    dy, shape = call.inputs[0], results[0].shape
    axes = call.attributes.get("axes")
    if call.operator.startswith("Global"):
        axes = tuple(range(2, len(shape)))
    of_all = tuple(range(len(shape)))
    gone = {axis % len(shape) for axis in (axes if isinstance(axes, tuple) else of_all)}
    kept = do.reshaped(dy, [1 if k in gone else size for k, size in enumerate(shape)])
    every = call.given[0] if call.given else shape
    of_mean = call.operator.startswith("ReduceMean")
    if of_mean and call.whole_numbers:
        pass  # of whole numbers a mean is their sum
    elif not call.operator.startswith("ReduceSum"):
        kept = do.made("divide_by", [kept], [prod((every if of_mean else shape)[k] for k in gone)])
    do.copy(results[0], kept)


def _rows_of(kernel: str) -> Describing:
    """Treat the elements along an axis together, softmax and the like."""

    def described(call: Call, results: Sequence[Array], do: Steps) -> None:
        turned = [rows(each, [call.axis()]) for each in (*results, *call.inputs)]
        arrays, count = [array for array, _, _ in turned], len(results)
        do.run(kernel, arrays[:count], arrays[count:], turned[0][1:])

    return described


def _greatest_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, x, y = call.inputs
    do.copy(results[0], do.made("give_where_equal", [dy, x, y]))


DESCRIBED: Mapping[str, Describing] = {
    **{name: _unary(*each) for name, each in _UNARY.items()},
    **{f"{name}Gradient": _unary(*each) for name, each in _SLOPES.items()},
    **{name: _binary(kernel) for name, kernel in _BINARY.items()},
    **dict.fromkeys(("Gelu", "GeluGradient"), _gelu),
    **dict.fromkeys(("Cast", "CastGradient"), _same),
    "Where": _choice,
    "WhereGradient": _choice_gradient,
    "SubGradient": _difference,
    "MulGradient": _product,
    "DivGradient": _quotient,
    "ExtremeGradient": _extreme,
    "ReduceSum": _total,
    "ReduceMean": _reduction("sum_rows"),
    "ReduceMax": _reduction("greatest_of_rows"),
    "ReduceMin": _reduction("least_of_rows"),
    "ReduceProd": _reduction("product_of_rows"),
    "ReduceSumSquare": _reduction("sum_squares"),
    "GlobalAveragePool": _over_space("sum_rows"),
    "GlobalMaxPool": _over_space("greatest_of_rows"),
    **dict.fromkeys(
        ("ReduceSumGradient", "ReduceMeanGradient", "GlobalAveragePoolGradient"), _spread
    ),
    "GlobalMaxPoolGradient": _greatest_gradient,
    "Softmax": _rows_of("softmax"),
    "LogSoftmax": _rows_of("log_softmax"),
    "SoftmaxGradient": _rows_of("softmax_gradient"),
    "LogSoftmaxGradient": _rows_of("log_softmax_gradient"),
}
