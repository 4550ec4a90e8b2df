"""Operators whose operands broadcast, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.frontends.torch_import.emit import Emitter, Result, Rules
from spmopt.frontends.torch_import.layout import Arranged
from spmopt.frontends.torch_import.program import Call, type_of

_ONE, _TWO = ("self",), ("self", "other")
_BACK = ("grad_output", "self")
POINTWISE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **{
        name: (operator, _ONE)
        for name, operator in {
            "abs": "Abs",
            "bitwise_not": "Not",
            "ceil": "Ceil",
            "clamp": "Clip",
            "clamp_max": "Clip",
            "clamp_min": "Clip",
            "cos": "Cos",
            "elu": "Elu",
            "erf": "Erf",
            "exp": "Exp",
            "floor": "Floor",
            "gelu": "Gelu",
            "hardsigmoid": "HardSigmoid",
            "hardswish": "HardSwish",
            "hardtanh": "Clip",
            "leaky_relu": "LeakyRelu",
            "log": "Log",
            "logical_not": "Not",
            "mish": "Mish",
            "neg": "Neg",
            "reciprocal": "Reciprocal",
            "relu": "Relu",
            "round": "Round",
            "rsqrt": "Rsqrt",
            "sigmoid": "Sigmoid",
            "sign": "Sign",
            "silu": "Swish",
            "sin": "Sin",
            "softplus": "Softplus",
            "sqrt": "Sqrt",
            "tanh": "Tanh",
            "trunc": "Floor",
            "isnan": "IsNaN",
            "isinf": "IsInf",
            "log1p": "Log",
            "log2": "Log",
            "expm1": "Exp",
            "exp2": "Exp",
        }.items()
    },
    **{
        name: (operator, _TWO)
        for name, operator in {
            "add": "Add",
            "bitwise_and": "And",
            "bitwise_or": "Or",
            "bitwise_xor": "Xor",
            "div": "Div",
            "eq": "Equal",
            "floor_divide": "Div",
            "fmod": "Mod",
            "ge": "GreaterOrEqual",
            "gt": "Greater",
            "le": "LessOrEqual",
            "logical_and": "And",
            "logical_or": "Or",
            "logical_xor": "Xor",
            "lt": "Less",
            "maximum": "Max",
            "minimum": "Min",
            "mul": "Mul",
            "remainder": "Mod",
            "sub": "Sub",
        }.items()
    },
    "ne": ("Equal", _TWO),
    "pow": ("Pow", ("self", "exponent")),
    "rsub": ("Sub", ("other", "self")),
    "where": ("Where", ("condition", "self", "other")),
    "masked_fill": ("Where", ("mask", "value", "self")),
    "prelu": ("PRelu", ("self", "weight")),
    "_prelu_kernel": ("PRelu", ("self", "weight")),
    "elu_backward": ("EluGradient", ("grad_output", "self_or_result")),
    "gelu_backward": ("GeluGradient", _BACK),
    "hardsigmoid_backward": ("HardSigmoidGradient", _BACK),
    "hardswish_backward": ("HardSwishGradient", _BACK),
    "hardtanh_backward": ("ClipGradient", _BACK),
    "leaky_relu_backward": ("LeakyReluGradient", _BACK),
    "mish_backward": ("MishGradient", _BACK),
    "native_dropout_backward": ("DropoutGradient", ("grad_output", "mask")),
    "sigmoid_backward": ("SigmoidGradient", ("grad_output", "output")),
    "silu_backward": ("SwishGradient", _BACK),
    "softplus_backward": ("SoftplusGradient", _BACK),
    "tanh_backward": ("TanhGradient", ("grad_output", "output")),
    "threshold_backward": ("ReluGradient", _BACK),
}
"""Operator of the graph, and the arguments that are its operands, by the name in torch."""


def pointwise(to: Emitter, call: Call) -> Arranged:
    """Add an operator of :data:`POINTWISE`."""
    operator, names = POINTWISE[call.name]
    operands = [call[name] for name in names if call[name] is not None]
    return to.pointwise(operator, operands, call.result)


def cast(to: Emitter, call: Call) -> Arranged:
    """Convert elements; where their type stays there is nothing to do."""
    operand = call.node.args[0]
    wanted = type_of(call.result)
    if type_of(operand) == wanted:
        return to.arranged(operand)
    return to.pointwise("Cast", [operand], call.result, to=wanted)


def dropout(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Drop elements, and keep which."""
    x = to.unbroadcast(call["input"])
    if call["train"] is False:
        return x, None
    results = [Result(to.shape(x.base), type_of(each)) for each in call.node.meta["val"]]
    found = to.emit("DropoutTraining", [x.base], results)
    return tuple(Arranged(each, x.order, x.shape) for each in found)


def like_operand(to: Emitter, call: Call) -> Arranged:
    """Draw random numbers, one for each element."""
    return to.pointwise("RandomNormalLike", [call.node.args[0]], call.result)


RULES: Rules = {
    **dict.fromkeys(POINTWISE, pointwise),
    "_to_copy": cast,
    "prims.convert_element_type.default": cast,
    "native_dropout": dropout,
    "bernoulli": like_operand,
    "rand_like": like_operand,
    "randn_like": like_operand,
}
"""Rules by the name in torch."""
