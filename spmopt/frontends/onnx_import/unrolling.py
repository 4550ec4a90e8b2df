"""Control flow whose course is known beforehand: loops unrolled, one branch taken.

A schedule needs one fixed sequence. The trip count of a ``Loop`` must be a constant, or follow
from shapes, as the condition of an ``If``; that of a ``Scan`` is the size of an axis. Names of a
subgraph get a prefix, a new one in each iteration; names from outside are seen as they are.
Constants of a body are one tensor for all iterations: weights are shared.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.deduce import Control, Deduction
from spmopt.frontends.onnx_import.evaluate import constant_node
from spmopt.frontends.onnx_import.facts import node_attributes
from spmopt.frontends.onnx_import.network import initializers
from spmopt.frontends.onnx_import.slices import (
    MOST_SLICES,
    bind,
    constant,
    cut,
    look_up,
    sources_of,
    stack,
)
from spmopt.frontends.onnx_import.topology import describe, first_result


def _if(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Take the branch of a condition that is known."""
    chosen = look_up(step, node, sources_of(node, names)[0], "the condition")
    branch = subgraph(node, "then_branch" if chosen else "else_branch")
    here = f"{prefix}{first_result(node)}/"
    results = run(step, branch, {**names, **_constants(step, branch, here)}, here, [])
    bind(node, names, results)


def _loop(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Run the body so often, or until its condition is false."""
    sources = sources_of(node, names)
    body = subgraph(node, "body")
    # Inputs of Loop are the trip count, the condition, then the carried states.
    states, own = sources[2:], f"{prefix}{first_result(node)}"
    trips = int(look_up(step, node, sources[0], "the trip count")) if sources[0] else None
    goes_on = bool(look_up(step, node, sources[1], "the condition")) if sources[1] else True
    # The body returns the condition, the states, then values that are stacked.
    stacked: list[list[str]] = [[] for _ in body.output[1 + len(states) :]]
    shared = _constants(step, body, f"{own}/")
    count = 0
    # Without a condition it is known at once, not after the first hundred thousand.
    too_many = not sources[1] and (trips is None or trips > MOST_SLICES)
    while goes_on and (trips is None or count < trips):
        if count >= MOST_SLICES or too_many:
            raise InputError(
                f"{describe(node)}: more than {MOST_SLICES} iterations; a schedule of them all is "
                "too long, so import a model with fewer"
            )
        here = f"{own}.{count}/"
        inside = [constant(step, f"{here}count", count), constant(step, f"{here}goes_on", True)]
        results = run(step, body, {**names, **shared}, here, [*inside, *states])
        if sources[1]:
            goes_on = bool(look_up(step, node, results[0], "the condition of its body"))
        states = results[1 : 1 + len(states)]
        for each, name in zip(stacked, results[1 + len(states) :], strict=True):
            each.append(name)
        count += 1
    joined = [stack(step, node, parts, 0, f"{own}/{k}") for k, parts in enumerate(stacked)]
    bind(node, names, [*states, *joined])


def _scan(step: Deduction, node: onnx.NodeProto, names: dict[str, str], prefix: str) -> None:
    """Run the body on one slice after another."""
    if step.opsets.get("", 1) < 9:
        raise InputError(f"{describe(node)}: Scan of operator set 8; export with 9 or later")
    attributes, body = node_attributes(node), subgraph(node, "body")
    sources = sources_of(node, names)
    several = int(attributes.get("num_scan_inputs", 0))
    if not 0 < several <= len(sources):
        raise InputError(f"{describe(node)}: scans {several} of {len(sources)} inputs; damaged")
    states, own = sources[:-several], f"{prefix}{first_result(node)}"
    axes = attributes.get("scan_input_axes", [0] * several)
    back = attributes.get("scan_input_directions", [0] * several)
    pieces = [
        cut(step, node, name, axis, f"{own}/in{k}")[:: -1 if turned else 1]
        for k, (name, axis, turned) in enumerate(zip(sources[-several:], axes, back, strict=True))
    ]
    shared = _constants(step, body, f"{own}/")
    stacked: list[list[str]] = [[] for _ in body.output[len(states) :]]
    for count, slices in enumerate(zip(*pieces, strict=True)):
        inside = [*states, *slices]
        results = run(step, body, {**names, **shared}, f"{own}.{count}/", inside)
        states = results[: len(states)]
        for each, name in zip(stacked, results[len(states) :], strict=True):
            each.append(name)
    out_axes = attributes.get("scan_output_axes", [0] * len(stacked))
    turns = attributes.get("scan_output_directions", [0] * len(stacked))
    joined = [
        stack(step, node, parts[:: -1 if turned else 1], axis, f"{own}/out{k}")
        for k, (parts, axis, turned) in enumerate(zip(stacked, out_axes, turns, strict=True))
    ]
    bind(node, names, [*states, *joined])


CONTROL: dict[str, Control] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
}
"""What replaces each operator of control flow."""


def run(
    step: Deduction,
    graph: onnx.GraphProto,
    names: dict[str, str],
    prefix: str,
    inputs: Sequence[str],
) -> list[str]:
    """Walk a subgraph; return the names of its outputs."""
    if len(graph.input) != len(inputs):
        raise InputError(
            f"subgraph {graph.name}: takes {len(graph.input)} inputs, is given {len(inputs)}"
        )
    inside = dict(names)
    inside.update(zip((value.name for value in graph.input), inputs, strict=True))
    # Constants were added once for all iterations, by `_constants`.
    shared = {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    step.walk((node for node in graph.node if shared.isdisjoint(node.output)), inside, prefix)
    results = [inside.get(value.name, value.name) for value in graph.output]
    for name in results:
        if name not in step.facts and name not in step.sequences:
            raise InputError(
                f"subgraph {graph.name}: its output {name} has no shape known beforehand"
            )
    return results


def _constants(step: Deduction, graph: onnx.GraphProto, prefix: str) -> dict[str, str]:
    """Add the constants of a subgraph; return their names."""
    found = initializers(graph, None)
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            found[node.output[0]] = constant_node(node, node_attributes(node))
    step.facts.update((prefix + name, fact) for name, fact in found.items())
    return {name: prefix + name for name in found}


def subgraph(node: onnx.NodeProto, name: str) -> onnx.GraphProto:
    """Return the graph that an attribute holds."""
    for attribute in node.attribute:
        if attribute.name == name and attribute.HasField("g"):
            found: onnx.GraphProto = attribute.g
            return found
    raise InputError(f"{describe(node)}: has no {name}; the file is damaged, export it again")
