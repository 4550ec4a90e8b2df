"""Type and shape of every name, by ONNX's own inference, one node at a time.

Going node by node with concrete sizes lets the batch change: whatever the file states about
intermediate shapes is not used, except for operators that ONNX does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.batch import repeated_constants, rescaled_shape_input
from spmopt.frontends.onnx_import.evaluate import constant_node, evaluate, shape_value
from spmopt.frontends.onnx_import.facts import Fact, Shape, array_fact, node_attributes
from spmopt.frontends.onnx_import.network import Network
from spmopt.frontends.onnx_import.topology import describe

Facts = dict[str, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Facts at the batch size of the file, and that size and the new one."""

    facts: Mapping[str, Fact]
    batches: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opsets:
    versions: Mapping[str, int]
    imports: list[onnx.OperatorSetIdProto]


def deduce(network: Network, shapes: Mapping[str, Shape], written: Written | None = None) -> Facts:
    """Facts of all names when the inputs have ``shapes``.

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
    opsets = _Opsets(
        versions=network.opsets,
        imports=[helper.make_opsetid(*entry) for entry in network.opsets.items()],
    )
    for node in network.nodes:
        unknown = [name for name in node.input if name and name not in facts]
        if unknown:
            raise InputError(_open_shape(node, unknown[0]))
        inputs = [facts[name] if name else None for name in node.input]
        if written is not None:
            inputs = _rescaled(node, inputs, written)
        for name, fact in _results(node, inputs, opsets, network).items():
            facts[name] = fact
    return facts


def _rescaled(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], written: Written
) -> list[Fact | None]:
    """Inputs with the constant that bakes the file's batch size replaced."""
    before = [written.facts.get(name) for name in node.input]
    outcome = written.facts[node.output[0]].shape
    if node.op_type == "Concat":
        return repeated_constants(node, inputs, written.batches)
    result = list(inputs)
    found = rescaled_shape_input(node, inputs, before, outcome, written.batches)
    if found is not None:
        position, target = found
        result[position] = array_fact(np.array(target, np.int64))
    return result


def _results(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], opsets: _Opsets, network: Network
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
        for name, (kind, shape) in _inferred(node, inputs, opsets, network).items()
    }
    if all(fact.data is not None for fact in present) and present:
        arrays = [None if fact is None else fact.data for fact in inputs]
        try:
            data = evaluate(node, arrays, attributes)
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise InputError(f"{describe(node)}: cannot be worked out ({error})") from None
        if data is not None:
            facts[node.output[0]] = array_fact(data)
    return facts


def _inferred(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], opsets: _Opsets, network: Network
) -> dict[str, tuple[int, Shape]]:
    """Element type and shape of every result that is named."""
    names = [name for name in node.output if name]
    version = opsets.versions.get(node.domain, opsets.versions.get("ai.onnx", 1))
    try:
        schema = defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError:
        schema = None
    found: dict[str, onnx.TypeProto] = {}
    if schema is not None:
        types, data = _typed(node, inputs)
        try:
            found = shape_inference.infer_node_outputs(
                schema, node, types, data, opset_imports=opsets.imports
            )
        except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).replace("[ShapeInferenceError]", "").split())
            raise InputError(f"{describe(node)}: {reason}; shapes: {_shown(inputs)}") from None
    known = {name: _known(node, name, found.get(name), inputs, network) for name in names}
    if known[names[0]] is None:
        raise InputError(_open_shape(node, names[0]))
    return {name: entry for name, entry in known.items() if entry is not None}


def _typed(
    node: onnx.NodeProto, inputs: Sequence[Fact | None]
) -> tuple[dict[str, onnx.TypeProto], dict[str, onnx.TensorProto]]:
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name, fact in zip(node.input, inputs, strict=True):
        if fact is not None:
            types[name] = helper.make_tensor_type_proto(fact.element_type, fact.shape)
            if fact.data is not None:
                data[name] = numpy_helper.from_array(np.array(fact.data, order="C"))
    return types, data


def _known(
    node: onnx.NodeProto,
    name: str,
    found: onnx.TypeProto | None,
    inputs: Sequence[Fact | None],
    network: Network,
) -> tuple[int, Shape] | None:
    """What inference found, else what the file states, else the shape of the operands."""
    element_type = next((fact.element_type for fact in inputs if fact), onnx.TensorProto.FLOAT)
    if found is not None and found.WhichOneof("value"):
        tensor = found.tensor_type
        if not found.HasField("tensor_type"):
            raise InputError(f"{describe(node)}: {name} is not a dense tensor; not supported")
        element_type = tensor.elem_type or element_type
        if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
            return element_type, tuple(entry.dim_value for entry in tensor.shape.dim)
    declared = network.declared.get(name)
    live = next((fact.shape for fact in inputs if fact is not None and fact.live), None)
    if declared is not None:
        filled = _filled(declared.dimensions, live)
        if filled is not None:
            return declared.element_type, filled
    if found is None and live is not None:
        return element_type, live
    return None


def _open_shape(node: onnx.NodeProto, name: str) -> str:
    return (
        f"{describe(node)}: the shape of {name} depends on data, or is not known to ONNX; a "
        "schedule needs fixed shapes, so state it in the file (value_info) or export without it"
    )


def _filled(dimensions: Sequence[int | str | None], live: Shape | None) -> Shape | None:
    """A stated shape with the batch of the node's input put first, if it is complete."""
    batch = live[0] if live else None
    rest = tuple(size for size in dimensions[1:] if isinstance(size, int))
    if batch is None or len(rest) != len(dimensions) - 1:
        return None
    return (batch, *rest)


def _shown(inputs: Sequence[Fact | None]) -> str:
    return ", ".join(str(list(fact.shape)) for fact in inputs if fact is not None)
