"""Nodes that take tensors to slices and join them again, for loops and sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.bags import bags
from spmopt.frontends.onnx_import.deduce import Deduction
from spmopt.frontends.onnx_import.facts import Fact, array_fact
from spmopt.frontends.onnx_import.sizes import is_count
from spmopt.frontends.onnx_import.topology import describe

MOST_SLICES = 100_000
"""Of one tensor, and iterations of one loop, whatever little each does."""
_OPERANDS = {"If": 1, "Loop": 2, "SequenceInsert": 3}
"""How many inputs an operator has, those that are left out counted."""
_AXES_ARE_INPUTS = 13
"""Operator set from which axes of Squeeze and Unsqueeze, and sizes of Split, are inputs."""


def bind(node: onnx.NodeProto, names: dict[str, str], results: Sequence[str]) -> None:
    """Let the names of a node's results stand for results of its subgraphs."""
    if len(node.output) > len(results):
        raise InputError(
            f"{describe(node)}: has {len(node.output)} results, its subgraph {len(results)}"
        )
    names.update((name, made) for name, made in zip(node.output, results, strict=False) if name)


def stack(step: Deduction, node: onnx.NodeProto, parts: Sequence[str], axis: int, name: str) -> str:
    """Join one result of each iteration along a new axis."""
    if not parts:
        return f"{name} of no iteration"  # nothing is known of it: whatever reads it says so
    rank = len(step.fact(parts[0], node).shape) + 1
    axis = axis % rank
    # Bags first: many small operations become one lookup and one sum.
    if axis == 0 and bags(step, parts, name, kept=False):
        return name
    grown = [f"{part}/{name}" for part in parts]
    for part, result in zip(parts, grown, strict=True):
        step.walk([with_lists(step, "Unsqueeze", part, [result], axes=[axis])], {})
    if len(grown) > 1:
        step.walk([helper.make_node("Concat", grown, [name], axis=axis)], {})
    return name if len(grown) > 1 else grown[0]


def join(step: Deduction, node: onnx.NodeProto, parts: Sequence[str], axis: int, name: str) -> str:
    """Join tensors along an axis that they have."""
    if len(parts) == 1:
        return parts[0]
    rank = max(len(step.fact(parts[0], node).shape), 1)
    if axis % rank or not bags(step, parts, name, kept=True):
        step.walk([helper.make_node("Concat", parts, [name], axis=axis % rank)], {})
    return name


def cut(step: Deduction, node: onnx.NodeProto, name: str, axis: int, own: str) -> list[str]:
    """Cut a tensor into its slices along an axis."""
    shape = step.fact(name, node).shape
    axis = axis % max(len(shape), 1)
    count = shape[axis] if shape else 0
    # Checked before any node is made: a damaged size could be 2^48.
    if not 0 < count <= MOST_SLICES:
        raise InputError(f"{describe(node)}: cannot scan {name} of shape {list(shape)}")
    parts = [f"{own}.{k}" for k in range(count)]
    split = with_lists(step, "Split", name, parts, split=[1] * count, axis=axis)
    step.walk([split] if count > 1 else [], {})
    for part in parts:
        source = part if count > 1 else name
        step.walk([with_lists(step, "Squeeze", source, [f"{part}/flat"], axes=[axis])], {})
    return [f"{part}/flat" for part in parts]


def with_lists(
    step: Deduction, kind: str, source: str, results: Sequence[str], **attributes: Any
) -> onnx.NodeProto:
    """Return a node whose list of integers is an input or an attribute, by the operator set."""
    if step.opsets.get("", 1) < _AXES_ARE_INPUTS:
        return helper.make_node(kind, [source], results, **attributes)
    lists = {key: value for key, value in attributes.items() if isinstance(value, list)}
    inputs = [source]
    for key, value in lists.items():
        inputs.append(constant(step, f"{results[0]}/{key}", value))
    plain = {key: value for key, value in attributes.items() if key not in lists}
    return helper.make_node(kind, inputs, results, **plain)


def constant(step: Deduction, name: str, value: int | bool | list[int]) -> str:
    """Add a small constant; return its name."""
    step.facts[name] = array_fact(np.array(value, bool if isinstance(value, bool) else np.int64))
    return name


def look_up(step: Deduction, node: onnx.NodeProto, name: str, what: str) -> int:
    """Return the only element of a tensor whose contents are known."""
    fact: Fact = step.fact(name, node)
    if fact.data is None or fact.data.size != 1:
        counts = _count_inputs(step, name)
        option = " ".join(f"--param {each}=VALUE" for each in counts)
        hint = f", or give the value that it follows from ({option})" if counts else ""
        raise InputError(
            f"{describe(node)}: {what} ({name}) depends on data; a schedule needs one fixed "
            f"sequence, so export with it fixed{hint}"
        )
    return int(fact.data.reshape(()))


def _count_inputs(step: Deduction, name: str) -> list[str]:
    """Return the inputs that an option can fix, of those that a value follows from."""
    found, waiting, seen = list[str](), [name], set[str]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        fact = step.facts.get(each)
        if each in step.made:
            waiting += step.made[each].input
        elif fact is not None and fact.data is None and is_count(fact.element_type, fact.shape):
            found.append(each)
    return sorted(found)


def sources_of(node: onnx.NodeProto, names: dict[str, str]) -> list[str]:
    """Return the inputs of a node by the names that the whole model knows."""
    found = [names.get(name, name) for name in node.input]
    wanted = _OPERANDS.get(node.op_type, 0)
    # Trailing inputs may be left out of the list, not only be empty.
    return found + [""] * (wanted - len(found))
