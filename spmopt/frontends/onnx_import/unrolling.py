"""Control flow whose course is known beforehand: loops unrolled, one branch taken.

A schedule needs one fixed sequence. The trip count of a ``Loop`` must be a constant, or follow
from shapes, as the condition of an ``If``; that of a ``Scan`` is the size of an axis. Names of a
subgraph get a prefix, a new one in each iteration; names from outside are seen as they are.
Constants of a body are one tensor for all iterations: weights are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.deduce import Control, Deduction
from spmopt.frontends.onnx_import.evaluate import constant_node
from spmopt.frontends.onnx_import.facts import Fact, array_fact, node_attributes
from spmopt.frontends.onnx_import.network import initializers
from spmopt.frontends.onnx_import.topology import describe, first_result

_ITERATIONS = 100_000
"""Of one loop, whatever little each does."""
_AXES_ARE_INPUTS = 13
"""Operator set from which axes of Squeeze and Unsqueeze, and sizes of Split, are inputs."""


def _if(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Take the branch of a condition that is known."""
    chosen = _known(step, node, _sources(node, names)[0], "the condition")
    branch = _graph(node, "then_branch" if chosen else "else_branch")
    here = f"{prefix}{first_result(node)}/"
    results = _run(step, branch, {**names, **_constants(step, branch, here)}, here, [])
    _bind(node, names, results)


def _loop(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Run the body so often, or until its condition is false."""
    sources = _sources(node, names)
    body = _graph(node, "body")
    states, own = sources[2:], f"{prefix}{first_result(node)}"
    trips = int(_known(step, node, sources[0], "the trip count")) if sources[0] else None
    goes_on = bool(_known(step, node, sources[1], "the condition")) if sources[1] else True
    stacked: list[list[str]] = [[] for _ in body.output[1 + len(states) :]]
    shared = _constants(step, body, f"{own}/")
    count = 0
    while goes_on and (trips is None or count < trips):
        if count >= _ITERATIONS:
            raise InputError(
                f"{describe(node)}: more than {_ITERATIONS} iterations; a schedule of them all is "
                "too long, so import a model with fewer"
            )
        here = f"{own}.{count}/"
        inside = [_constant(step, f"{here}count", count), _constant(step, f"{here}goes_on", True)]
        results = _run(step, body, {**names, **shared}, here, [*inside, *states])
        if sources[1]:
            goes_on = bool(_known(step, node, results[0], "the condition of its body"))
        states = results[1 : 1 + len(states)]
        for each, name in zip(stacked, results[1 + len(states) :], strict=True):
            each.append(name)
        count += 1
    joined = [_stack(step, node, parts, 0, f"{own}/{k}") for k, parts in enumerate(stacked)]
    _bind(node, names, [*states, *joined])


def _scan(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Run the body on one slice after another."""
    if step.opsets.get("", 1) < 9:
        raise InputError(f"{describe(node)}: Scan of operator set 8; export with 9 or later")
    attributes, body = node_attributes(node), _graph(node, "body")
    sources = _sources(node, names)
    several = int(attributes.get("num_scan_inputs", 0))
    if not 0 < several <= len(sources):
        raise InputError(f"{describe(node)}: scans {several} of {len(sources)} inputs; damaged")
    states, own = sources[:-several], f"{prefix}{first_result(node)}"
    axes = attributes.get("scan_input_axes", [0] * several)
    back = attributes.get("scan_input_directions", [0] * several)
    pieces = [
        _pieces(step, node, name, axis, f"{own}/in{k}")[:: -1 if turned else 1]
        for k, (name, axis, turned) in enumerate(zip(sources[-several:], axes, back, strict=True))
    ]
    shared = _constants(step, body, f"{own}/")
    stacked: list[list[str]] = [[] for _ in body.output[len(states) :]]
    for count, slices in enumerate(zip(*pieces, strict=True)):
        inside = [*states, *slices]
        results = _run(step, body, {**names, **shared}, f"{own}.{count}/", inside)
        states = results[: len(states)]
        for each, name in zip(stacked, results[len(states) :], strict=True):
            each.append(name)
    out_axes = attributes.get("scan_output_axes", [0] * len(stacked))
    turns = attributes.get("scan_output_directions", [0] * len(stacked))
    joined = [
        _stack(step, node, parts[:: -1 if turned else 1], axis, f"{own}/out{k}")
        for k, (parts, axis, turned) in enumerate(zip(stacked, out_axes, turns, strict=True))
    ]
    _bind(node, names, [*states, *joined])


CONTROL: dict[str, Control] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
}
"""What replaces each operator of control flow."""


def _run(
    step: Deduction,
    graph: onnx.GraphProto,
    names: dict[str, str],
    prefix: str,
    inputs: Sequence[str],
) -> list[str]:
    """Walk a subgraph; return what its outputs are called."""
    if len(graph.input) != len(inputs):
        raise InputError(
            f"subgraph {graph.name}: takes {len(graph.input)} inputs, is given {len(inputs)}"
        )
    inside = dict(names)
    inside.update(zip((value.name for value in graph.input), inputs, strict=True))
    shared = {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    step.walk((node for node in graph.node if shared.isdisjoint(node.output)), inside, prefix)
    results = [inside.get(value.name, value.name) for value in graph.output]
    for name in results:
        if name not in step.facts:
            raise InputError(
                f"subgraph {graph.name}: its output {name} has no shape known beforehand"
            )
    return results


def _constants(step: Deduction, graph: onnx.GraphProto, prefix: str) -> dict[str, str]:
    """Add the constants of a subgraph; return what they are called."""
    found = initializers(graph, None)
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            found[node.output[0]] = constant_node(node, node_attributes(node))
    step.facts.update((prefix + name, fact) for name, fact in found.items())
    return {name: prefix + name for name in found}


def _bind(node: onnx.NodeProto, names: dict[str, str], results: Sequence[str]) -> None:
    """Let the names of a node's results stand for what its subgraphs made."""
    if len(node.output) > len(results):
        raise InputError(
            f"{describe(node)}: has {len(node.output)} results, its subgraph {len(results)}"
        )
    names.update((name, made) for name, made in zip(node.output, results, strict=False) if name)


def _stack(
    step: Deduction, node: onnx.NodeProto, parts: Sequence[str], axis: int, name: str
) -> str:
    """Join one result of each iteration along a new axis."""
    if not parts:
        return f"{name} of no iteration"  # nothing is known of it: whatever reads it says so
    rank = len(step.facts[parts[0]].shape) + 1
    axis = axis % rank
    grown = [f"{part}/{name}" for part in parts]
    for part, result in zip(parts, grown, strict=True):
        step.walk([_node(step, "Unsqueeze", part, [result], axes=[axis])], {})
    if len(grown) > 1:
        step.walk([helper.make_node("Concat", grown, [name], axis=axis)], {})
    return name if len(grown) > 1 else grown[0]


def _pieces(step: Deduction, node: onnx.NodeProto, name: str, axis: int, own: str) -> list[str]:
    """Cut a tensor into its slices along an axis."""
    shape = step.fact(name, node).shape
    axis = axis % max(len(shape), 1)
    count = shape[axis] if shape else 0
    if not 0 < count <= _ITERATIONS:
        raise InputError(f"{describe(node)}: cannot scan {name} of shape {list(shape)}")
    parts = [f"{own}.{k}" for k in range(count)]
    cut = _node(step, "Split", name, parts, split=[1] * count, axis=axis)
    step.walk([cut] if count > 1 else [], {})
    for part in parts:
        source = part if count > 1 else name
        step.walk([_node(step, "Squeeze", source, [f"{part}/flat"], axes=[axis])], {})
    return [f"{part}/flat" for part in parts]


def _node(
    step: Deduction, kind: str, source: str, results: Sequence[str], **attributes: Any
) -> onnx.NodeProto:
    """Return a node whose list of integers is an input or an attribute, by the operator set."""
    if step.opsets.get("", 1) < _AXES_ARE_INPUTS:
        return helper.make_node(kind, [source], results, **attributes)
    lists = {key: value for key, value in attributes.items() if isinstance(value, list)}
    inputs = [source]
    for key, value in lists.items():
        inputs.append(_constant(step, f"{results[0]}/{key}", value))
    plain = {key: value for key, value in attributes.items() if key not in lists}
    return helper.make_node(kind, inputs, results, **plain)


def _constant(step: Deduction, name: str, value: int | bool | list[int]) -> str:
    """Add a small constant; return its name."""
    step.facts[name] = array_fact(np.array(value, bool if isinstance(value, bool) else np.int64))
    return name


def _known(step: Deduction, node: onnx.NodeProto, name: str, what: str) -> int:
    """Return the only element of a tensor whose contents are known."""
    fact: Fact = step.fact(name, node)
    if fact.data is None or fact.data.size != 1:
        raise InputError(
            f"{describe(node)}: {what} ({name}) depends on data; a schedule needs one fixed "
            "sequence, so export with it fixed, or give an input that it is (--param "
            f"{name}=8)"
        )
    return int(fact.data.reshape(()))


def _sources(node: onnx.NodeProto, names: dict[str, str]) -> list[str]:
    """Return the inputs of a node by the names that the whole model knows."""
    found = [names.get(name, name) for name in node.input]
    wanted = {"If": 1, "Loop": 2}.get(node.op_type, 0)
    return found + [""] * (wanted - len(found))


def _graph(node: onnx.NodeProto, name: str) -> onnx.GraphProto:
    for attribute in node.attribute:
        if attribute.name == name and attribute.HasField("g"):
            found: onnx.GraphProto = attribute.g
            return found
    raise InputError(f"{describe(node)}: has no {name}; the file is damaged, export it again")
