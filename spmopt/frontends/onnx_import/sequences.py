"""Sequences of tensors: known for the tensors that they hold, they need no place of their own."""

from __future__ import annotations

import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.deduce import Control, Deduction
from spmopt.frontends.onnx_import.facts import node_attributes
from spmopt.frontends.onnx_import.slices import (
    bind,
    constant,
    cut,
    join,
    look_up,
    sources_of,
    stack,
    with_lists,
)
from spmopt.frontends.onnx_import.topology import describe, first_result


def _construct(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Hold the inputs; none for an empty sequence."""
    _hold(step, node, names, prefix, tuple(sources_of(node, names)))


def _insert(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    sources = sources_of(node, names)
    held = _hold_values(step, node, sources[0])
    step.fact(sources[1], node)
    place = _place(step, node, sources[2], len(held), len(held))
    _hold(step, node, names, prefix, (*held[:place], sources[1], *held[place:]))


def _at(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    sources = sources_of(node, names)
    held = _hold_values(step, node, sources[0])
    bind(node, names, [held[_place(step, node, sources[1], len(held))]])


def _length(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    held = _hold_values(step, node, sources_of(node, names)[0])
    bind(node, names, [constant(step, f"{prefix}{first_result(node)}", len(held))])


def _split(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Cut a tensor into slices without the axis, or into parts of given sizes."""
    sources, attributes = sources_of(node, names), node_attributes(node)
    shape, own = step.fact(sources[0], node).shape, f"{prefix}{first_result(node)}"
    axis = attributes.get("axis", 0) % max(len(shape), 1)
    if len(sources) < 2 or not sources[1]:
        if not attributes.get("keepdims", 1):
            _hold(step, node, names, prefix, tuple(cut(step, node, sources[0], axis, own)))
            return
        sizes = [1] * shape[axis]
    else:
        data = step.fact(sources[1], node).data
        if data is None:
            raise InputError(f"{describe(node)}: its sizes depend on data; export with them fixed")
        # A scalar is the size of each part; the last may be smaller.
        sizes = data.tolist() if data.ndim else _equal(shape[axis], max(int(data), 1))
    parts = [f"{own}.{k}" for k in range(len(sizes))]
    if len(parts) == 1:
        parts = [sources[0]]
    else:
        step.walk([with_lists(step, "Split", sources[0], parts, split=sizes, axis=axis)], {})
    _hold(step, node, names, prefix, tuple(parts))


def _equal(whole: int, size: int) -> list[int]:
    """Return parts of one size, and the rest."""
    rest = whole % size
    return [size] * (whole // size) + ([rest] if rest else [])


def _concatenate(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    held = _hold_values(step, node, sources_of(node, names)[0])
    attributes, own = node_attributes(node), f"{prefix}{first_result(node)}"
    if not held:
        raise InputError(f"{describe(node)}: joins an empty sequence; export without it")
    joined = stack if attributes.get("new_axis", 0) else join
    bind(node, names, [joined(step, node, held, int(attributes.get("axis", 0)), own)])


SEQUENCES: dict[str, Control] = {
    "SequenceEmpty": _construct,
    "SequenceConstruct": _construct,
    "SequenceInsert": _insert,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concatenate,
}
"""What replaces each operator on sequences."""


def _hold(
    step: Deduction,
    node: onnx.NodeProto,
    names: dict[str, str],
    prefix: str,
    held: tuple[str, ...],
) -> None:
    """Let the result of a node be the sequence of these tensors."""
    result = f"{prefix}{first_result(node)}"
    step.sequences[result] = held
    bind(node, names, [result])


def _hold_values(step: Deduction, node: onnx.NodeProto, name: str) -> tuple[str, ...]:
    if name not in step.sequences:
        raise InputError(f"{describe(node)}: {name} is no sequence that is known beforehand")
    return step.sequences[name]


def _place(
    step: Deduction, node: onnx.NodeProto, name: str, length: int, default: int | None = None
) -> int:
    """Return a position in a sequence; negative ones count from its end.

    ``default``: where none is given; the end is then a position too, if that is the default.
    """
    found = default if not name and default is not None else None
    if found is None:
        found = look_up(step, node, name, "the position")
        # ONNX counts negative positions from the end.
        found += length if found < 0 else 0
    if not 0 <= found < length + (default == length):
        raise InputError(f"{describe(node)}: position {found} is not in the sequence")
    return found
