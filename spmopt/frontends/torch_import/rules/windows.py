"""Pooling and resampling, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.frontends.torch_import.emit import Emitter, Rules, result_of
from spmopt.frontends.torch_import.layout import Arranged, plain
from spmopt.frontends.torch_import.program import Call, shape_of


def per_axis(given: Sequence[int], count: int) -> tuple[int, ...]:
    """Return a number for each spatial axis, of one for all of them or of that many."""
    return tuple(given) * count if len(given) == 1 else tuple(given)


def _pooling(call: Call) -> dict[str, Attribute]:
    kernel = tuple(call["kernel_size"])
    count = len(shape_of(call["self"])) - 2
    kernel = per_axis(kernel, count)
    pads = per_axis(call["padding"], count)
    return {
        "kernel_shape": kernel,
        "strides": per_axis(call["stride"] or kernel, count),
        "dilations": per_axis(call["dilation"] or (1,), count),
        "pads": pads + pads,
        "ceil_mode": int(call["ceil_mode"]),
    }


def max_pool(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Take maxima; where they were is kept if that is read."""
    _require_batch(call)
    attributes, x = _pooling(call), to.value(call["self"])
    operator = "MaxPool" if call.results[1] is None else "MaxPoolIndices"
    results = [result_of(each) for each in call.node.meta["val"]]
    found = to.emit(operator, [x], results[: 1 if operator == "MaxPool" else 2], **attributes)
    return (*(plain(each, to.shape(each)) for each in found), None)


def max_pool_gradient(to: Emitter, call: Call) -> Arranged:
    """Add up gradients at the maxima."""
    inputs = [to.value(call["grad_output"]), to.value(call["indices"])]
    (found,) = to.emit("MaxPoolIndicesGradient", inputs, [result_of(call.result)], **_pooling(call))
    return plain(found, call.shape)


def average_pool(to: Emitter, call: Call) -> Arranged:
    """Take means."""
    _require_batch(call)
    x = to.value(call["self"])
    (found,) = to.emit("AveragePool", [x], [result_of(call.result)], **_pooling(call))
    return plain(found, call.shape)


def average_pool_gradient(to: Emitter, call: Call) -> Arranged:
    """Spread gradients over windows."""
    dy = to.value(call["grad_output"])
    (found,) = to.emit("AveragePoolGradient", [dy], [result_of(call.result)], **_pooling(call))
    return plain(found, call.shape)


def _adaptive(large: tuple[int, ...], small: tuple[int, ...]) -> dict[str, Attribute]:
    if any(size % wanted for size, wanted in zip(large[2:], small[2:], strict=True)):
        raise InputError(
            f"pools {list(large[2:])} to {list(small[2:])} in windows of several sizes, which has "
            "no rule; take sizes that divide"
        )
    kernel = tuple(size // wanted for size, wanted in zip(large[2:], small[2:], strict=True))
    return {"kernel_shape": kernel, "strides": kernel}


def adaptive_pool(to: Emitter, call: Call) -> Arranged:
    """Take means of windows that make a result of the size that is asked for."""
    _require_batch(call)
    x = to.value(call["self"])
    attributes = _adaptive(to.shape(x), call.shape)
    (found,) = to.emit("AveragePool", [x], [result_of(call.result)], **attributes)
    return plain(found, call.shape)


def adaptive_pool_gradient(to: Emitter, call: Call) -> Arranged:
    """Spread gradients over windows."""
    dy = to.value(call["grad_output"])
    attributes = _adaptive(call.shape, to.shape(dy))
    (found,) = to.emit("AveragePoolGradient", [dy], [result_of(call.result)], **attributes)
    return plain(found, call.shape)


def resize(to: Emitter, call: Call) -> Arranged:
    """Make images of another size."""
    x = to.value(call.node.args[0])
    (found,) = to.emit("Resize", [x], [result_of(call.result)], **_resizing(call, call.shape))
    return plain(found, call.shape)


def resize_gradient(to: Emitter, call: Call) -> Arranged:
    """Add up gradients of what an element was taken for."""
    dy = to.value(call["grad_output"])
    attributes = _resizing(call, to.shape(dy))
    (found,) = to.emit("ResizeGradient", [dy], [result_of(call.result)], **attributes)
    return plain(found, call.shape)


def _resizing(call: Call, shape: tuple[int, ...]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {"shape": shape}
    if "nearest" in call.name:
        exact = "exact" in call.name
        mode = "half_pixel" if exact else "asymmetric"
        found["nearest_mode"] = "floor" if not exact else "round_prefer_ceil"
    else:
        found["mode"] = "cubic" if "bicubic" in call.name else "linear"
        mode = "align_corners" if call["align_corners"] else "half_pixel"
    return found | {"coordinate_transformation_mode": mode}


def _require_batch(call: Call) -> None:
    if len(shape_of(call["self"])) < 4 and "2d" in call.name:
        raise InputError("an input without batch; give one of size 1")


_RESIZED = (
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    *("upsample_bilinear2d", "upsample_linear1d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
)
RULES: Rules = {
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), max_pool),
    "max_pool2d_with_indices_backward": max_pool_gradient,
    "max_pool3d_with_indices_backward": max_pool_gradient,
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), average_pool),
    "avg_pool2d_backward": average_pool_gradient,
    "avg_pool3d_backward": average_pool_gradient,
    "_adaptive_avg_pool2d": adaptive_pool,
    "_adaptive_avg_pool3d": adaptive_pool,
    "_adaptive_avg_pool2d_backward": adaptive_pool_gradient,
    "_adaptive_avg_pool3d_backward": adaptive_pool_gradient,
    **dict.fromkeys(_RESIZED, resize),
    **{f"{name}_backward": resize_gradient for name in _RESIZED},
}
"""Rules by the name in torch."""
