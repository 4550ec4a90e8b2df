"""Facts of every name, one node at a time.

Going node by node with concrete sizes lets the batch change: whatever the file states about
intermediate shapes is not used, except for operators that ONNX does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.batch import repeated_constants, rescaled_shape_input
from spmopt.frontends.onnx_import.evaluate import constant_node, evaluate, shape_value
from spmopt.frontends.onnx_import.facts import Fact, Shape, array_fact, node_attributes
from spmopt.frontends.onnx_import.infer import inferred, open_shape
from spmopt.frontends.onnx_import.network import Declared, ModelParts
from spmopt.frontends.onnx_import.topology import describe, first_result

Facts = dict[str, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Facts at the batch size of the file, and that size and the new one."""

    facts: Mapping[str, Fact]
    batches: tuple[int, int]


def deduce(
    network: ModelParts, shapes: Mapping[str, Shape], written: Written | None = None
) -> Facts:
    """Return the facts of all names when the inputs have ``shapes``.

    ``written`` is given when ``shapes`` has another batch size than the file: it tells which
    constants have the file's baked in.

    Raises
    ------
    InputError
        Shapes that do not fit together, or a result that is not a dense tensor.
    """
    facts: Facts = dict(network.constants)
    for name, shape in shapes.items():
        element_type = network.inputs[name].element_type
        facts[name] = Fact(element_type=element_type, shape=shape, live=True)
    declared = _declared(network, written)
    for node in network.nodes:
        unknown = [name for name in node.input if name and name not in facts]
        if unknown:
            raise open_shape(node, unknown[0])
        inputs = [facts[name] if name else None for name in node.input]
        if written is not None:
            inputs = _rescaled(node, inputs, written)
        facts |= _results(node, inputs, network.opsets, declared)
    return facts


def _declared(network: ModelParts, written: Written | None) -> Mapping[str, Declared]:
    """Return shapes that the file states, a leading batch of its own replaced by the new one."""
    if written is None:
        return network.declared
    old, new = written.batches
    return {
        name: replace(entry, dimensions=(new, *entry.dimensions[1:]))
        if entry.dimensions and entry.dimensions[0] == old
        else entry
        for name, entry in network.declared.items()
    }


def _rescaled(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], written: Written
) -> list[Fact | None]:
    """Return the inputs with the constant that bakes the file's batch size replaced."""
    before = [written.facts.get(name) for name in node.input]
    if node.op_type == "Concat":
        return repeated_constants(node, inputs, before, written.batches)
    outcome = written.facts[first_result(node)].shape
    result = list(inputs)
    found = rescaled_shape_input(node, inputs, before, outcome, written.batches)
    if found is not None:
        position, target = found
        result[position] = array_fact(np.array(target, np.int64))
    return result


def _results(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    declared: Mapping[str, Declared],
) -> Facts:
    attributes = node_attributes(node)
    present = [fact for fact in inputs if fact is not None]
    if node.op_type == "Constant":
        return {node.output[0]: constant_node(node, attributes)}
    if node.op_type in ("Shape", "Size"):
        return {node.output[0]: array_fact(shape_value(node, present[0], attributes))}
    live = any(fact.live for fact in present)
    facts = {
        name: Fact(element_type=kind, shape=shape, live=live)
        for name, (kind, shape) in inferred(node, inputs, opsets, declared).items()
    }
    result = facts[first_result(node)]
    if result.worth_reading and present and all(fact.data is not None for fact in present):
        arrays = [None if fact is None else fact.data for fact in inputs]
        try:
            data = evaluate(node, arrays, opsets)
        except ValueError as error:
            raise InputError(f"{describe(node)}: cannot be worked out ({error})") from None
        if data is not None:
            facts[first_result(node)] = array_fact(data)
    return facts
