"""Matrix products and convolutions, and their gradients."""

from __future__ import annotations

from typing import Any

import torch

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.frontends.torch_import.emit import Emitter, Rules, result_of
from spmopt.frontends.torch_import.layout import Arranged, plain
from spmopt.frontends.torch_import.program import Call
from spmopt.frontends.torch_import.rules.windows import per_axis


def matrix_product(to: Emitter, call: Call) -> Arranged:
    """Multiply matrices, either perhaps transposed; add a bias."""
    first = "self" if call["mat1"] is None else "mat1"
    (a, trans_a), (b, trans_b) = _factor(to, call[first]), _factor(to, call["mat2"])
    inputs = [a, b]
    if call["mat1"] is not None:
        inputs.append(to.small(call["self"]))
    flags = {"transA": trans_a, "transB": trans_b}
    (found,) = to.emit("Gemm", inputs, [result_of(call.result)], **_set(flags))
    return plain(found, call.shape)


def batched_product(to: Emitter, call: Call) -> Arranged:
    """Multiply batches of matrices, either perhaps transposed; add what broadcasts."""
    first, second = ("self", "mat2") if call["batch1"] is None else ("batch1", "batch2")
    (a, trans_a), (b, trans_b) = _factor(to, call[first]), _factor(to, call[second])
    flags = {"transA": trans_a, "transB": trans_b}
    (found,) = to.emit("MatMul", [a, b], [result_of(call.result)], **_set(flags))
    if call["batch1"] is not None:
        bias = to.small(call["self"])
        (found,) = to.emit("Add", [found, bias], [result_of(call.result)])
    return plain(found, call.shape)


def _factor(to: Emitter, node: torch.fx.Node) -> tuple[int, int]:
    """Return an operand in order, and whether it is transposed: products read it either way."""
    found = to.unbroadcast(node)
    rank = len(found.order)
    if found.order == (*range(rank - 2), rank - 1, rank - 2):
        return found.base, 1
    return to.in_order(found), 0


def _set(flags: dict[str, int]) -> dict[str, Attribute]:
    return {name: 1 for name, flag in flags.items() if flag}


def convolution(to: Emitter, call: Call) -> Arranged:
    """Convolve, or do what a convolution's gradient does."""
    operator, attributes = _window(to, call, call["input"], call["weight"])
    inputs = [
        to.value(call[name]) for name in ("input", "weight", "bias") if call[name] is not None
    ]
    (found,) = to.emit(operator, inputs, [result_of(call.result)], **attributes)
    return plain(found, call.shape)


def convolution_gradients(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Return the gradients of input, weight and bias that are wanted; that of the weight first."""
    operator, attributes = _window(to, call, call["input"], call["weight"])
    dy, x, w = (to.value(call[name]) for name in ("grad_output", "input", "weight"))
    wanted = [each and found for each, found in zip(call["output_mask"], call.results, strict=True)]
    found: list[Arranged | None] = [None, None, None]
    of_weight = [k for k in (1, 2) if wanted[k] is not None and wanted[k] is not False]
    if 1 in of_weight:
        results = [result_of(wanted[k]) for k in of_weight]
        written = to.emit(f"{operator}WeightGradient", [dy, x], results, **attributes)
        for k, index in zip(of_weight, written, strict=True):
            found[k] = plain(index, to.shape(index))
    elif of_weight:
        (index,) = to.emit("ReduceSum", [dy], [result_of(wanted[2])], **_beside_channels(to, dy))
        found[2] = plain(index, to.shape(index))
    if wanted[0] is not None and wanted[0] is not False:
        name = f"{operator}InputGradient"
        (index,) = to.emit(name, [dy, w], [result_of(wanted[0])], **attributes)
        found[0] = plain(index, to.shape(index))
    return tuple(found)


def _beside_channels(to: Emitter, index: int) -> dict[str, Attribute]:
    rank = len(to.shape(index))
    return {"axes": (0, *range(2, rank)), "keepdims": 0}


def _window(to: Emitter, call: Call, x: Any, w: Any) -> tuple[str, dict[str, Attribute]]:
    kernel = to.arranged(w).shape[2:]
    if len(to.arranged(x).shape) < 3:
        raise InputError("an input without batch; give one of size 1")
    count = len(kernel)
    pads = per_axis(call["padding"], count)
    attributes: dict[str, Attribute] = {
        "strides": per_axis(call["stride"], count),
        "dilations": per_axis(call["dilation"], count),
        "pads": pads + pads,
        "group": call["groups"],
        "kernel_shape": kernel,
    }
    if not call["transposed"]:
        return "Conv", attributes
    return "ConvTranspose", attributes | {"output_padding": per_axis(call["output_padding"], count)}


RULES: Rules = {
    "mm": matrix_product,
    "addmm": matrix_product,
    "bmm": batched_product,
    "baddbmm": batched_product,
    "convolution": convolution,
    "convolution_backward": convolution_gradients,
}
"""Rules by the name in torch."""
