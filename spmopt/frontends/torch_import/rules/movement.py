"""What copies, cuts, joins, reorders, repeats or looks up data."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.frontends.torch_import.emit import Emitter, Result, Rules, result_of
from spmopt.frontends.torch_import.layout import Arranged, plain
from spmopt.frontends.torch_import.program import Call, shape_of, type_of
from spmopt.graph.operators.attributes import broadcast_shape
from spmopt.graph.operators.spec import Shape

_END = 2**63 - 1


def same(to: Emitter, call: Call) -> Arranged:
    """Return the operand: what torch copies to have it in order is so when it is read."""
    return to.arranged(call.node.args[0])


def copied(to: Emitter, call: Call) -> Arranged:
    """Return what is written over all of another tensor."""
    x = to.arranged(call["src"])
    x = to.reshaped(x, (*(1,) * (len(call.shape) - len(x.shape)), *x.shape))
    return Arranged(x.base, x.order, call.shape)


def reshape(to: Emitter, call: Call) -> Arranged:
    """Return the operand under another shape."""
    return to.reshaped(to.arranged(call.node.args[0]), call.shape)


def permute(to: Emitter, call: Call) -> Arranged:
    """Return the operand with its axes in another order."""
    x = to.arranged(call["self"])
    rank = len(x.shape)
    if call.name == "permute":
        order = [axis % rank for axis in call["dims"]]
    else:
        order = list(range(rank))
        if rank > 1:
            first, second = (call["dim0"], call["dim1"]) if call.name == "transpose" else (0, 1)
            order[first], order[second] = order[second], order[first]
    return x.permuted(order)


def expand(to: Emitter, call: Call) -> Arranged:
    """Return the operand broadcast."""
    x = to.arranged(call["self"])
    more = len(call.shape) - len(x.shape)
    x = to.reshaped(x, (*(1,) * more, *x.shape))
    return Arranged(x.base, x.order, call.shape)


def filled(to: Emitter, call: Call) -> Arranged:
    """Return a number, broadcast."""
    value = call["fill_value"] if call["fill_value"] is not None else call["s"]
    if isinstance(value, torch.fx.Node):
        raise InputError("is filled with what is computed; not supported")
    if value is None:
        value = 1 if "ones" in call.name else 0
    index = to.number(value, type_of(call.result))
    shape = call.shape
    return Arranged(to.view(index, (1,) * len(shape)), tuple(range(len(shape))), shape)


def cut(to: Emitter, call: Call) -> Arranged:
    """Return a slice, or one place along an axis without that axis."""
    x = to.unbroadcast(call["self"])
    dim = call["dim"] % len(x.shape)
    size = x.shape[dim]
    if call.name == "select":
        start = call["index"] % size
        end, step = start + 1, 1
    else:
        start, end, step = slice(call["start"], call["end"], call["step"]).indices(size)
    taken = len(range(start, end, step))
    found = x
    if taken != size:
        axis = x.order[dim]
        own = list(to.shape(x.base))
        own[axis] = taken
        index = to.add("Slice", [x.base], tuple(own), **_slice(axis, start, end, step))
        shape = (*x.shape[:dim], taken, *x.shape[dim + 1 :])
        found = Arranged(index, x.order, shape)
    return to.reshaped(found, call.shape)


def _slice(axis: int, start: int, end: int, step: int) -> dict[str, Attribute]:
    return {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": (step,)}


def cut_gradient(to: Emitter, call: Call) -> Arranged:
    """Write a gradient among zeros."""
    dy = to.value(call["grad_output"])
    shape, dim = call.shape, call["dim"] % len(call.shape)
    if call.name == "select_backward":
        start = call["index"] % shape[dim]
        end, step = start + 1, 1
        dy = to.view(dy, (*shape[:dim], 1, *shape[dim + 1 :]))
    else:
        start, end, step = slice(call["start"], call["end"], call["step"]).indices(shape[dim])
    if to.shape(dy) == shape:
        return plain(dy, shape)
    attributes = _slice(dim, start, end, step)
    (found,) = to.emit("SliceGradient", [dy], [result_of(call.result)], **attributes)
    return plain(found, shape)


def overwritten(to: Emitter, call: Call) -> Arranged:
    """Return a copy of which a part is another tensor."""
    x, part = to.value(call["self"]), to.value(call["src"])
    if to.shape(part) == call.shape:
        return plain(part, call.shape)
    (found,) = to.emit("Overwrite", [x, part], [result_of(call.result)])
    return plain(found, call.shape)


def split(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Return parts along an axis."""
    x = to.unbroadcast(call["self"])
    dim = (call["dim"] or 0) % len(x.shape)
    shapes = [shape_of(each) for each in call.node.meta["val"]]
    axis, own = x.order[dim], to.shape(x.base)
    sizes = tuple(shape[dim] for shape in shapes)
    if len(sizes) == 1:
        return (x,)
    kind = type_of(call.result)
    results = [Result((*own[:axis], size, *own[axis + 1 :]), kind) for size in sizes]
    found = to.emit("Split", [x.base], results, axis=axis, split=sizes)
    return tuple(
        Arranged(*each) for each in zip(found, [x.order] * len(found), shapes, strict=True)
    )


def join(to: Emitter, call: Call) -> Arranged:
    """Return tensors side by side; those without elements add nothing."""
    nodes = [node for node in call["tensors"] if 0 not in shape_of(node)]
    seen = [to.unbroadcast(node) for node in nodes]
    shape, dim = call.shape, call["dim"] or 0
    dim %= len(shape)
    if call.name == "stack":
        one = (*shape[:dim], 1, *shape[dim + 1 :])
        seen = [to.reshaped(each, one) for each in seen]
    if len(seen) == 1:
        return seen[0]
    order = seen[0].order
    if any(each.order != order for each in seen):
        seen = [plain(to.in_order(each), each.shape) for each in seen]
        order = seen[0].order
    own = tuple(shape[order.index(axis)] for axis in range(len(shape)))
    result = Result(own, type_of(call.result))
    (found,) = to.emit("Concat", [each.base for each in seen], [result], axis=order[dim])
    return Arranged(found, order, shape)


def pad(to: Emitter, call: Call) -> Arranged:
    """Add numbers around a tensor; a negative number of them cuts off."""
    x, given = to.value(call["self"]), call["pad"]
    rank = len(call.shape)
    axes = [rank - 1 - k for k in range(len(given) // 2)]
    begins, ends = given[::2], given[1::2]
    for axis, begin, end in zip(axes, begins, ends, strict=True):
        if begin < 0 or end < 0:
            shape = to.shape(x)
            start, stop = max(-begin, 0), shape[axis] - max(-end, 0)
            cut_shape = (*shape[:axis], stop - start, *shape[axis + 1 :])
            x = to.add("Slice", [x], cut_shape, **_slice(axis, start, stop, 1))
    more = [(axis, max(b, 0), max(e, 0)) for axis, b, e in zip(axes, begins, ends, strict=True)]
    more = [each for each in more if each[1] or each[2]]
    if more:
        added = tuple(axis for axis, _, _ in more)
        pads = (*(begin for _, begin, _ in more), *(end for _, _, end in more))
        (x,) = to.emit("Pad", [x], [result_of(call.result)], axes=added, pads=pads)
    return plain(x, call.shape)


def repeat(to: Emitter, call: Call) -> Arranged:
    """Repeat a tensor along its axes."""
    more = len(call["repeats"]) - len(to.arranged(call["self"]).shape)
    x = to.value(call["self"])
    x = to.view(x, (*(1,) * more, *to.shape(x)))
    if all(count == 1 for count in call["repeats"]):
        return plain(x, call.shape)
    repeats = tuple(call["repeats"])
    (found,) = to.emit("Tile", [x], [result_of(call.result)], repeats=repeats)
    return plain(found, call.shape)


def rolled(to: Emitter, call: Call) -> Arranged:
    """Turn a tensor along axes, or back to front."""
    x = to.unbroadcast(call["self"])
    axes = tuple(sorted({x.order[axis] for axis in call["dims"]}))
    found = to.add("Roll", [x.base], to.shape(x.base), axes=axes)
    return Arranged(found, x.order, x.shape)


def look_up(to: Emitter, call: Call) -> Arranged:
    """Return rows of a table, one for each index."""
    table, indices = ("weight", "indices") if call.name == "embedding" else ("self", "index")
    axis = 0 if call.name == "embedding" else call["dim"] % len(shape_of(call["self"]))
    inputs = [to.value(call[table]), to.value(call[indices])]
    (found,) = to.emit("Gather", inputs, [result_of(call.result)], axis=axis)
    return plain(found, call.shape)


def look_up_gradient(to: Emitter, call: Call) -> Arranged:
    """Add rows up in a table of zeros."""
    inputs = [to.value(call["grad_output"]), to.value(call["indices"])]
    (found,) = to.emit("GatherGradient", inputs, [result_of(call.result)], axis=0)
    return plain(found, call.shape)


def bags(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Look rows up, and add up those of each bag."""
    indices, offsets = to.value(call["indices"]), to.value(call["offsets"])
    table = to.value(call["weight"])
    rows = (to.shape(indices)[0], to.shape(table)[1])
    gathered = to.add("Gather", [table, indices], rows, axis=0)
    results = call.node.meta["val"]
    (found,) = to.emit("BagSum", [gathered, offsets], [result_of(results[0])])
    return (plain(found, call.shape), *[None] * (len(results) - 1))


def bags_gradient(to: Emitter, call: Call) -> Arranged:
    """Repeat the gradient of each bag for its rows, then add them up in a table of zeros."""
    dy, indices = to.value(call["grad"]), to.value(call["indices"])
    rows = (to.shape(indices)[0], to.shape(dy)[1])
    each = to.add("BagRepeat", [dy, to.value(call["offsets"])], rows)
    (found,) = to.emit("GatherGradient", [each, indices], [result_of(call.result)], axis=0)
    return plain(found, call.shape)


def indexed(to: Emitter, call: Call) -> Arranged:
    """Return elements at indices along one axis, or along several that stand side by side."""
    x, axis, indices = _index(to, call)
    (found,) = to.emit("Gather", [x, indices], [result_of(call.result)], axis=axis)
    return plain(found, call.shape)


def _index(to: Emitter, call: Call) -> tuple[int, int, int]:
    """Return the table, the axis and one tensor of indices; several axes become one."""
    x = to.value(call["self"])
    shape = to.shape(x)
    given = [(axis, node) for axis, node in enumerate(call["indices"]) if node is not None]
    return _table(to, x, shape, given)


def _table(to: Emitter, x: int, shape: Shape, given: list[tuple[int, Any]]) -> tuple[int, int, int]:
    axes = [axis for axis, _ in given]
    first, last = axes[0], axes[-1]
    if axes != list(range(first, last + 1)):
        raise InputError("indices of axes that are not side by side are not supported")
    kinds = {type_of(node) for _, node in given}
    if "bool" in kinds:
        raise InputError("a mask as an index makes a shape that depends on data; not supported")
    position: Arranged | None = None
    for axis, node in given:
        if position is None:
            position = to.arranged(node)
            continue
        size = to.number(shape[axis], type_of(node))
        kind, other = type_of(node), to.arranged(node)
        result = Result(position.shape, kind)
        position = to.broadcast("Mul", [position, plain(size, ())], result)
        result = Result(broadcast_shape(position.shape, other.shape), kind)
        position = to.broadcast("Add", [position, other], result)
    assert position is not None
    count = prod(shape[axis] for axis in axes)
    table = to.view(x, (*shape[:first], count, *shape[last + 1 :]))
    return table, first, to.in_order(position)


def put(to: Emitter, call: Call) -> Arranged:
    """Add elements to zeros at indices, the gradient of taking them; or write them into a copy."""
    given = [(axis, node) for axis, node in enumerate(call["indices"]) if node is not None]
    seen = to.arranged(call["self"])
    values = to.in_order(to.arranged(call["values"]))
    zeros = not [size for size in to.shape(seen.base) if size != 1]
    if call["accumulate"] and zeros:
        shape = call.shape
        axes = [axis for axis, _ in given]
        count = prod(shape[axis] for axis in axes)
        merged = (*shape[: axes[0]], count, *shape[axes[-1] + 1 :])
        like = to.builder.state(f"{call.node.name}.table", shape, element_type=type_of(call.result))
        _, axis, indices = _table(to, like, shape, given)
        result = Result(merged, type_of(call.result))
        (found,) = to.emit("GatherGradient", [values, indices], [result], axis=axis)
        return plain(to.view(found, shape), shape)
    inputs = [to.in_order(seen), values, *(to.value(node) for _, node in given)]
    (found,) = to.emit("Overwrite", inputs, [result_of(call.result)])
    return plain(found, call.shape)


def take(to: Emitter, call: Call) -> Arranged:
    """Return one element for each index, along an axis."""
    inputs = [to.value(call["self"]), to.value(call["index"])]
    axis = call["dim"] % len(call.shape)
    (found,) = to.emit("GatherElements", inputs, [result_of(call.result)], axis=axis)
    return plain(found, call.shape)


def scatter(to: Emitter, call: Call) -> Arranged:
    """Write or add one element for each index, along an axis of a copy."""
    source = call["src"] if call["src"] is not None else call["value"]
    index = to.value(call["index"])
    inputs = [to.value(call["self"]), index]
    inputs.append(
        to.value(source)
        if isinstance(source, torch.fx.Node)
        else to.number(source, type_of(call.result))
    )
    axis = call["dim"] % len(call.shape)
    (found,) = to.emit("Overwrite", inputs, [result_of(call.result)], axis=axis)
    return plain(found, call.shape)


def highest(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Return the largest elements along an axis, and where they were."""
    x, axis = to.value(call["self"]), call["dim"] % len(call.shape)
    results = [result_of(each) for each in call.node.meta["val"]]
    found = to.emit("TopK", [x], results, axis=axis, k=call.shape[axis])
    return tuple(plain(each, to.shape(each)) for each in found)


def position_of_highest(to: Emitter, call: Call) -> Arranged:
    """Return where the largest or smallest element is."""
    x, dim = to.value(call["self"]), call["dim"]
    if dim is None:
        x, dim = to.view(x, (prod(to.shape(x)),)), 0
    found = _argmax(to, x, dim, call["keepdim"] and call["dim"] is not None, call.result)
    return plain(to.view(found, call.shape), call.shape)


def _argmax(to: Emitter, x: int, dim: int, keep: bool, result: Any) -> int:
    axis, shape = dim % len(to.shape(x)), to.shape(x)
    made = (*shape[:axis], *(1,) * keep, *shape[axis + 1 :])
    attributes = {"axis": axis, "keepdims": int(keep)}
    (found,) = to.emit("ArgMax", [x], [Result(made, type_of(result))], **attributes)
    return found


def extreme(to: Emitter, call: Call) -> tuple[Arranged | None, ...]:
    """Return the largest or smallest elements along an axis and, if they are read, their places."""
    x, dim, keep = to.value(call["self"]), call["dim"], call["keepdim"]
    axis = dim % len(to.shape(x))
    operator = "ReduceMax" if call.name == "max" else "ReduceMin"
    values, places = call.results
    attributes: dict[str, Attribute] = {"axes": (axis,), "keepdims": int(keep)}
    found: list[Arranged | None] = [None, None]
    if values is not None:
        (index,) = to.emit(operator, [x], [result_of(values)], **attributes)
        found[0] = plain(index, call.shape)
    if places is not None:
        found[1] = plain(_argmax(to, x, dim, keep, places), call.shape)
    return tuple(found)


def running(to: Emitter, call: Call) -> Arranged:
    """Add up along an axis, and keep all sums."""
    x = to.unbroadcast(call["self"])
    shape = to.shape(x.base)
    axis = x.order[call["dim"]] if x.order else 0
    (found,) = to.emit("CumSum", [x.base], [Result(shape, type_of(call.result))], axis=axis)
    return Arranged(found, x.order, x.shape)


def nothing(to: Emitter, call: Call) -> None:
    """Leave out what only checks."""


RULES: Rules = {
    **dict.fromkeys(("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "_conj"), same),
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten", "view_as"), reshape
    ),
    **dict.fromkeys(("permute", "t", "transpose"), permute),
    "expand": expand,
    "copy": copied,
    **dict.fromkeys(
        (
            *("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "new_zeros"),
            *("scalar_tensor", "empty", "empty_like", "new_full", "new_ones", "new_empty"),
            "new_empty_strided",
            "empty_strided",
        ),
        filled,
    ),
    **dict.fromkeys(("slice", "select"), cut),
    **dict.fromkeys(("slice_backward", "select_backward"), cut_gradient),
    **dict.fromkeys(("slice_scatter", "select_scatter"), overwritten),
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split"), split),
    **dict.fromkeys(("cat", "stack"), join),
    "constant_pad_nd": pad,
    "repeat": repeat,
    "roll": rolled,
    "flip": rolled,
    **dict.fromkeys(("embedding", "index_select"), look_up),
    "embedding_dense_backward": look_up_gradient,
    "_embedding_bag": bags,
    "_embedding_bag_forward_only": bags,
    "_embedding_bag_backward": bags_gradient,
    "_embedding_bag_dense_backward": bags_gradient,
    **dict.fromkeys(("index", "_unsafe_index"), indexed),
    **dict.fromkeys(("index_put", "_unsafe_index_put"), put),
    "gather": take,
    **dict.fromkeys(("scatter", "scatter_add"), scatter),
    "topk": highest,
    "sort": highest,
    **dict.fromkeys(("argmax", "argmin"), position_of_highest),
    **dict.fromkeys(("max", "min"), extreme),
    "cumsum": running,
    **dict.fromkeys(
        ("_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range"),
        nothing,
    ),
}
"""Rules by the name in torch."""
VIEWS = frozenset(name for name, rule in RULES.items() if rule in (same, reshape, permute, expand))
"""Operators whose results are their operands, seen otherwise."""
FILLED = frozenset(name for name, rule in RULES.items() if rule is filled)
"""Operators whose results are one number, broadcast."""
