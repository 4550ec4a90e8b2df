"""Types and shapes of one node's results, from concrete operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import checker, defs, helper, numpy_helper, shape_inference

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.by_rule import results_by_rule
from spmopt.frontends.onnx_import.facts import Fact, Shape
from spmopt.frontends.onnx_import.network import Declared
from spmopt.frontends.onnx_import.topology import describe, first_result

Typed = tuple[int, Shape]
_BY_DATA = frozenset(("Compress", "NonMaxSuppression", "NonZero", "Unique"))
"""Their results are as long as data says: an open first dimension is no batch."""
_REFUSALS = (shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError)


def inferred(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    declared: Mapping[str, Declared],
) -> dict[str, Typed]:
    """Return the element type and shape of the named results.

    By the inference of ONNX; where it says nothing, as the file declares; for an operator
    that ONNX does not know, by our own rule, or else the shape of its first operand. A result
    beyond the first whose shape stays open is left out: often nothing reads it.

    Raises
    ------
    InputError
        Operands that do not fit, a first result of open shape, or one that is no tensor.
    """
    found = _by_onnx(node, inputs, opsets)
    own = results_by_rule(node, inputs, opsets) if found is None else None
    results: dict[str, Typed] = {}
    for place, name in enumerate(node.output):
        typed = _dense(node, name, found) if found is not None else None
        if own is not None and place < len(own):
            typed = own[place]
        operands = [] if node.op_type in _BY_DATA else inputs
        typed = typed or _as_declared(declared.get(name), operands)
        if typed is None and found is None and own is None:
            typed = _as_operand(inputs)
        if name and typed is not None:
            results[name] = typed
    if first_result(node) not in results:
        raise open_shape(node, first_result(node))
    return results


def open_shape(node: onnx.NodeProto, name: str) -> InputError:
    """Return the error for a tensor whose shape is not known beforehand."""
    return InputError(
        f"{describe(node)}: the shape of {name} depends on data, or is not known to ONNX; a "
        "schedule needs fixed shapes, so state it in the file (value_info) or export without it"
    )


def _by_onnx(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], opsets: Mapping[str, int]
) -> dict[str, onnx.TypeProto] | None:
    """Return what ONNX infers, or None for an operator that it does not know."""
    try:
        schema = defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        return None
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name, fact in zip(node.input, inputs, strict=True):
        if fact is not None:
            types[name] = helper.make_tensor_type_proto(fact.element_type, fact.shape)
            if fact.data is not None:
                data[name] = numpy_helper.from_array(np.array(fact.data, order="C"))
    if node.op_type == "STFT" and not any(each.name == "onesided" for each in node.attribute):
        # The default of the operator, which the inference takes for 0.
        node.attribute.append(helper.make_attribute("onesided", 1))
    imports = [helper.make_opsetid(*entry) for entry in opsets.items()]
    try:
        found: dict[str, onnx.TypeProto] = shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=imports
        )
    except _REFUSALS as error:
        reason = " ".join(str(error).replace("[ShapeInferenceError]", "").split())
        shapes = ", ".join(str(list(fact.shape)) for fact in inputs if fact is not None)
        raise InputError(f"{describe(node)}: {reason}; operands: {shapes}") from None
    return found


def _dense(node: onnx.NodeProto, name: str, found: Mapping[str, onnx.TypeProto]) -> Typed | None:
    entry = found.get(name)
    if entry is None or entry.WhichOneof("value") is None:
        return None
    if not entry.HasField("tensor_type"):
        raise InputError(f"{describe(node)}: {name} is not a dense tensor; not supported")
    tensor = entry.tensor_type
    sizes = [size.dim_value for size in tensor.shape.dim if size.HasField("dim_value")]
    if not tensor.HasField("shape") or len(sizes) < len(tensor.shape.dim):
        return None
    return tensor.elem_type, tuple(sizes)


def _as_declared(entry: Declared | None, inputs: Sequence[Fact | None]) -> Typed | None:
    """Return the file's own words; an open first dimension is the batch of the first operand."""
    if entry is None:
        return None
    sizes = list(entry.dimensions)
    operand = _as_operand(inputs)
    if sizes and not isinstance(sizes[0], int) and operand is not None and operand[1]:
        sizes[0] = operand[1][0]
    known = tuple(size for size in sizes if isinstance(size, int))
    return (entry.element_type, known) if len(known) == len(sizes) else None


def _as_operand(inputs: Sequence[Fact | None]) -> Typed | None:
    """Return the type of the first operand that depends on a network input."""
    live = (fact for fact in inputs if fact is not None and fact.live)
    return next(((fact.element_type, fact.shape) for fact in live), None)
