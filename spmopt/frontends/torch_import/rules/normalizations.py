"""Normalizations, softmax, reductions and losses, and their gradients."""

from __future__ import annotations

from spmopt.core.graph import Attribute
from spmopt.frontends.torch_import.emit import Emitter, Result, Rules, result_of
from spmopt.frontends.torch_import.layout import Arranged, plain
from spmopt.frontends.torch_import.program import Call, shape_of, type_of

Found = tuple[Arranged | None, ...]


def batch_norm(to: Emitter, call: Call) -> Found:
    """Normalize channels, with statistics of the batch or with running ones."""
    trains = call["training"] is True or call["train"] is True
    names = ("input", "weight", "bias")
    x, *affine = (to.value(call[name]) for name in names if call[name] is not None)
    channels = to.shape(x)[1:2]
    while len(affine) < 2:
        affine.append(to.filled(1 if not affine else 0, channels, type_of(call.result)))
    results = [result_of(call.result)]
    if trains:
        results += [Result(channels, "fp32")] * 2
        found = to.emit("BatchNormalizationTraining", [x, *affine], results)
    else:
        running = [to.value(call[name]) for name in ("running_mean", "running_var")]
        found = to.emit("BatchNormalization", [x, *affine, *running], results)
    return (*(plain(each, to.shape(each)) for each in found), *[None] * 3)


def batch_norm_gradient(to: Emitter, call: Call) -> Found:
    """Return the gradients of input, scale and shift; of frozen statistics, too."""
    trains = call["train"] is True
    mean, deviation = ("save_mean", "save_invstd") if trains else ("running_mean", "running_var")
    return _norm_gradient(to, call, "NormalizationGradient", "grad_out", (mean, deviation))


def layer_norm(to: Emitter, call: Call) -> Found:
    """Normalize rows, and keep their statistics where these are read."""
    names = ("input", "weight", "bias")
    inputs = [to.value(call[name]) for name in names if call[name] is not None]
    normalized = tuple(call["normalized_shape"])
    if len(inputs) == 1:
        inputs.append(to.filled(1, normalized, type_of(call.result)))
    return _rows(to, call, "LayerNormalization", inputs)


def rms_norm(to: Emitter, call: Call) -> Found:
    """Divide rows by their root mean square, and keep that where it is read."""
    inputs = [to.value(call[name]) for name in ("input", "weight") if call[name] is not None]
    normalized = tuple(call["normalized_shape"])
    if len(inputs) == 1:
        inputs.append(to.filled(1, normalized, type_of(call.result)))
    return _rows(to, call, "RMSNormalization", inputs)


def _rows(to: Emitter, call: Call, operator: str, inputs: list[int]) -> Found:
    count, axis = len(call.results), len(call.shape) - len(call["normalized_shape"])
    kept = any(each is not None for each in call.results[1:])
    results = [result_of(each) for each in call.node.meta["val"]][: count if kept else 1]
    found = to.emit(f"{operator}Training" if kept else operator, inputs, results, axis=axis)
    shown = [plain(each, to.shape(each)) for each in found]
    return (*shown, *[None] * (count - len(shown)))


def layer_norm_gradient(to: Emitter, call: Call) -> Found:
    """Return the gradients of input, scale and shift."""
    return _norm_gradient(to, call, "NormalizationGradient", "grad_out", ("mean", "rstd"))


def rms_norm_gradient(to: Emitter, call: Call) -> Found:
    """Return the gradients of input and scale."""
    return _norm_gradient(to, call, "RMSNormalizationGradient", "grad_out", ("rstd",))


def _norm_gradient(
    to: Emitter, call: Call, operator: str, dy: str, statistics: tuple[str, ...]
) -> Found:
    x = call["input"]
    scale = call["weight"]
    inputs = [to.value(call[dy]), to.value(x)]
    if scale is None:
        rest = shape_of(x)[1:2] if "batch_norm" in call.name else tuple(call["normalized_shape"])
        inputs.append(to.filled(1, rest, type_of(x)))
    else:
        inputs.append(to.value(scale))
    inputs += [to.value(call[name]) for name in statistics]
    mask = call["output_mask"] or [True] * 3
    places = [k for k, each in enumerate(call.results) if each is not None and mask[k]]
    results = [result_of(call.node.meta["val"][k]) for k in places]
    written = dict(zip(places, to.emit(operator, inputs, results), strict=True))
    return tuple(
        plain(written[k], to.shape(written[k])) if k in written else None
        for k in range(len(call.results))
    )


def group_norm(to: Emitter, call: Call) -> Found:
    """Normalize groups of channels, and keep their statistics."""
    x = to.value(call["input"])
    affine = [
        to.value(call[name])
        if call[name] is not None
        else to.filled(number, (call["C"],), type_of(call.result))
        for name, number in (("weight", 1), ("bias", 0))
    ]
    results = [result_of(each) for each in call.node.meta["val"]]
    kept = any(each is not None for each in call.results[1:])
    operator = "GroupNormalizationTraining" if kept else "GroupNormalization"
    results = results if kept else results[:1]
    found = to.emit(operator, [x, *affine], results, num_groups=call["group"])
    return (*(plain(each, to.shape(each)) for each in found), *[None] * (3 - len(found)))


def group_norm_gradient(to: Emitter, call: Call) -> Found:
    """Return the gradients of input, scale and shift."""
    inputs = [to.value(call[name]) for name in ("grad_out", "input", "weight", "mean", "rstd")]
    places = [k for k, each in enumerate(call.results) if each is not None]
    results = [result_of(call.node.meta["val"][k]) for k in places]
    found = to.emit("GroupNormalizationGradient", inputs, results, num_groups=call["group"])
    written = dict(zip(places, found, strict=True))
    return tuple(
        plain(written[k], to.shape(written[k])) if k in written else None for k in range(3)
    )


def softmax(to: Emitter, call: Call) -> Arranged:
    """Divide exponentials by their sum along an axis."""
    operator = "LogSoftmax" if "log" in call.name else "Softmax"
    x = to.unbroadcast(call["self"])
    axis = x.order[call["dim"]]
    shape = to.shape(x.base)
    (found,) = to.emit(operator, [x.base], [Result(shape, type_of(call.result))], axis=axis)
    return Arranged(found, x.order, x.shape)


def softmax_gradient(to: Emitter, call: Call) -> Arranged:
    """Return the gradient, from the result."""
    operator = "LogSoftmaxGradient" if "log" in call.name else "SoftmaxGradient"
    y = to.unbroadcast(call["output"])
    dy = to.beside(call["grad_output"], y)
    result = Result(to.shape(y.base), type_of(call.result))
    (found,) = to.emit(operator, [dy, y.base], [result], axis=y.order[call["dim"]])
    return Arranged(found, y.order, y.shape)


_REDUCTIONS = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "prod": "ReduceProd",
    "any": "ReduceMax",
    "all": "ReduceMin",
    "var": "ReduceVariance",
}


def reduction(to: Emitter, call: Call) -> Arranged:
    """Combine along axes."""
    return _reduced(to, call, _REDUCTIONS[call.name], Result(call.shape, type_of(call.result)))


def _reduced(to: Emitter, call: Call, operator: str, result: Result) -> Arranged:
    x = to.unbroadcast(call["self"])
    rank, dim = len(x.shape), call["dim"]
    dims = [dim] if isinstance(dim, int) else list(dim or range(rank))
    gone = {axis % rank for axis in dims} if rank else set()
    axes = tuple(sorted(x.order[axis] for axis in gone))
    own = tuple(1 if k in axes else size for k, size in enumerate(to.shape(x.base)))
    if not axes:
        return x
    attributes: dict[str, Attribute] = {"axes": axes, "keepdims": 1}
    (found,) = to.emit(operator, [x.base], [Result(own, result.element_type)], **attributes)
    kept = tuple(1 if k in gone else size for k, size in enumerate(x.shape))
    return to.reshaped(Arranged(found, x.order, kept), result.shape)


def variance_and_mean(to: Emitter, call: Call) -> Found:
    """Return both, in two operations."""
    results = [Result(call.shape, type_of(call.result))] * 2
    names = ("ReduceVariance", "ReduceMean")
    return tuple(_reduced(to, call, *each) for each in zip(names, results, strict=True))


def loss(to: Emitter, call: Call) -> Found:
    """Pick a logarithm of a probability in each row, and take the mean."""
    inputs = [to.value(call["self"]), to.value(call["target"])]
    if call["weight"] is not None:
        inputs.append(to.value(call["weight"]))
    results = [result_of(each) for each in call.node.meta["val"]]
    found = to.emit("NllLoss", inputs, results)
    return tuple(plain(each, to.shape(each)) for each in found)


def loss_gradient(to: Emitter, call: Call) -> Arranged:
    """Write a number in each row, and zeros."""
    inputs = [to.value(call[name]) for name in ("grad_output", "target", "total_weight")]
    (found,) = to.emit("NllLossGradient", inputs, [result_of(call.result)])
    return plain(found, call.shape)


RULES: Rules = {
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_functional": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "native_batch_norm_backward": batch_norm_gradient,
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_gradient,
    "_fused_rms_norm": rms_norm,
    "_fused_rms_norm_backward": rms_norm_gradient,
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_gradient,
    "_softmax": softmax,
    "_safe_softmax": softmax,
    "_log_softmax": softmax,
    "_softmax_backward_data": softmax_gradient,
    "_log_softmax_backward_data": softmax_gradient,
    **dict.fromkeys(_REDUCTIONS, reduction),
    "var_mean": variance_and_mean,
    "nll_loss_forward": loss,
    "nll_loss2d_forward": loss,
    "nll_loss_backward": loss_gradient,
    "nll_loss2d_backward": loss_gradient,
}
"""Rules by the name in torch."""
