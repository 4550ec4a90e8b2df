"""Types and shapes of one node's results, from concrete operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import onnx
from onnx import checker, defs, helper, numpy_helper, shape_inference

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.by_rule import results_by_rule, rule_name, rule_of
from spmopt.frontends.onnx_import.doubts import Doubts
from spmopt.frontends.onnx_import.facts import Fact, Shape
from spmopt.frontends.onnx_import.network import Declared
from spmopt.frontends.onnx_import.topology import describe, first_result
from spmopt.graph.operators.classes import SAME_SHAPE

Typed = tuple[int, Shape]


_ERRORS = (
    shape_inference.InferenceError,
    checker.ValidationError,
    *(RuntimeError, ValueError, TypeError, OverflowError),
)
_Found = dict[str, Typed | None]
"""Results by name; None where ONNX leaves the value open."""
_FLOAT, _BFLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16
_BY_DATA = frozenset(("Compress", "NonMaxSuppression", "NonZero", "Unique"))
"""Their results are as long as data says: an open first dimension is no batch."""


def infer(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    declared: Mapping[str, Declared],
    doubts: Doubts,
) -> dict[str, Typed]:
    """Return the element type and shape of the named results.

    By the inference of ONNX; where it says nothing, as the file declares; for an operator that
    ONNX does not know, or of which it refuses this node, as our rule says; for one that nobody
    knows, the shape of its first operand. A result beyond the first whose shape stays open is left
    out: often nothing reads it.

    Raises
    ------
    InputError
        Operands that do not fit, a first result of open shape, or one that is no tensor.
    """
    found: _Found | None = None
    own: list[Typed | None] | None = None
    refusal: InputError | None = None
    try:
        # ONNX first: it knows its operators better than our rules do.
        found = _by_onnx(node, inputs, opsets, doubts)
    except InputError as error:
        # At another batch size a refusal means that the size does not suit the file.
        if not doubts.may_refuse(first_result(node)):
            raise
        refusal = error
    if found is None:
        own = _by_rule(node, inputs, opsets, refusal)
    results: dict[str, Typed] = {}
    for place, name in enumerate(node.output):
        typed = found.get(name) if found is not None else None
        if own is not None and place < len(own) and refusal is None:
            typed = own[place]
        if typed is None:
            # Without operands an open first dimension of the declared shape stays open.
            operands = [] if node.op_type in _BY_DATA else inputs
            typed = _as_declared(declared.get(name), operands)
        if typed is None and own is not None and place < len(own):
            typed = own[place]
        if typed is None and found is None and own is None and _keeps_shape(node, refusal):
            typed = _as_operand(inputs)
        if name and typed is not None:
            results[name] = typed
    if first_result(node) not in results:
        raise refusal or _refuse(node) or open_shape(node, first_result(node))
    if refusal is not None:
        doubts.refuse(first_result(node), describe(node))
    return results


def _refuse(node: onnx.NodeProto) -> InputError | None:
    """Return the reason why an operator has no rule, where there is one."""
    spec = rule_of(node)
    if spec is None or not spec.refused:
        return None
    return InputError(f"{describe(node)}: operator {rule_name(node)}: {spec.refused}")


def open_shape(node: onnx.NodeProto, name: str) -> InputError:
    """Return the error for a tensor whose shape is not known beforehand."""
    return InputError(
        f"{describe(node)}: the shape of {name} depends on data, or is not known to ONNX; a "
        "schedule needs fixed shapes, so state it in the file (value_info) or export without it"
    )


def _by_onnx(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    doubts: Doubts,
) -> _Found | None:
    """Return the results by ONNX's inference, or None for an operator that it does not know."""
    schema = _schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    if schema is None:
        return None
    names = frozenset(each.name for each in node.attribute)
    if not names <= schema.attributes.keys():
        # Exporters write attributes of older versions under a newer operator set.
        schema = _schema_with(schema, names)
        extra = names - schema.attributes.keys()
        if extra:
            doubts.note("have attributes that ONNX does not know, left out", describe(node))
            node = _without(node, extra)
    try:
        return _infer(schema, node, inputs, opsets)
    except _NotDenseError:
        raise InputError(f"{describe(node)}: its result is not a dense tensor") from None
    except _ERRORS as error:
        # Schemas of older operator sets leave bf16 out, and mean nothing by it.
        if any(fact is not None and fact.element_type == _BFLOAT16 for fact in inputs):
            try:
                return _infer(schema, node, inputs, opsets, instead=True)
            except _ERRORS:
                pass
        reason = " ".join(str(error).replace("[ShapeInferenceError]", "").split())
        shapes = ", ".join(str(list(fact.shape)) for fact in inputs if fact is not None)
        raise InputError(f"{describe(node)}: {reason}; operands: {shapes}") from None


def _infer(
    schema: defs.OpSchema,
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    *,
    instead: bool = False,
) -> _Found:
    """Ask ONNX; ``instead``: with fp32 in place of bf16."""
    if node.op_type == "STFT" and not any(each.name == "onesided" for each in node.attribute):
        # The default of the operator, which the inference takes for 0.
        node.attribute.append(helper.make_attribute("onesided", 1))
    given = {name: fact for name, fact in zip(node.input, inputs, strict=True) if fact is not None}
    kinds: dict[int, int] = {_BFLOAT16: _FLOAT} if instead else {}
    types = {
        name: helper.make_tensor_type_proto(
            kinds.get(fact.element_type, fact.element_type), fact.shape
        )
        for name, fact in given.items()
    }
    data = {
        name: numpy_helper.from_array(np.array(fact.data, order="C"))
        for name, fact in given.items()
        if fact.data is not None
    }
    imports = [helper.make_opsetid(*entry) for entry in opsets.items()]
    result = shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    found = {name: _typed(entry) for name, entry in result.items()}
    return {name: _in_bf16(each) for name, each in found.items()} if instead else found


class _NotDenseError(Exception):
    """A result is a sequence, a map or a sparse tensor."""


def _typed(entry: onnx.TypeProto) -> Typed | None:
    kind = entry.WhichOneof("value")
    if kind not in (None, "tensor_type"):
        raise _NotDenseError
    tensor = entry.tensor_type
    sizes = [size.dim_value for size in tensor.shape.dim if size.HasField("dim_value")]
    # An open dimension leaves the whole shape open: a schedule needs all sizes.
    if not tensor.HasField("shape") or len(sizes) < len(tensor.shape.dim):
        return None
    return tensor.elem_type, tuple(sizes)


def _in_bf16(typed: Typed | None) -> Typed | None:
    """Return the type with bf16 in place of fp32."""
    return (_BFLOAT16, typed[1]) if typed is not None and typed[0] == _FLOAT else typed


@cache
def _schema(operator: str, version: int, domain: str) -> defs.OpSchema | None:
    try:
        found: defs.OpSchema = defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return None
    return found


def _schema_with(schema: defs.OpSchema, names: frozenset[str]) -> defs.OpSchema:
    """Return the newest version, of this or an earlier operator set, that has the attributes.

    Inputs that were attributes before (``axes``, ``pads``) are so in many a newer file. Those that
    no version has do not count.
    """
    versions = [schema]
    # The version before is that of the operator set just before this one began.
    while versions[-1].since_version > 1:
        older = _schema(schema.name, versions[-1].since_version - 1, schema.domain)
        if older is None:
            break
        versions.append(older)
    known = {name for each in versions for name in each.attributes} & names
    return next((each for each in versions if known <= each.attributes.keys()), schema)


def _without(node: onnx.NodeProto, names: frozenset[str]) -> onnx.NodeProto:
    bare = onnx.NodeProto()
    bare.CopyFrom(node)
    kept = [each for each in bare.attribute if each.name not in names]
    del bare.attribute[:]
    bare.attribute.extend(kept)
    return bare


def _as_declared(entry: Declared | None, inputs: Sequence[Fact | None]) -> Typed | None:
    """Return the file's own words; an open first dimension is the batch of the first operand."""
    if entry is None:
        return None
    sizes = list(entry.dimensions)
    operand = _as_operand(inputs)
    # By convention the first dimension is the batch, open or named.
    if sizes and not isinstance(sizes[0], int) and operand is not None and operand[1]:
        sizes[0] = operand[1][0]
    known = tuple(size for size in sizes if isinstance(size, int))
    return (entry.element_type, known) if len(known) == len(sizes) else None


def _by_rule(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    refusal: InputError | None,
) -> list[Typed | None] | None:
    """Return the results by our rule of the operator, if there is one.

    Where ONNX refuses the node, ours may do so as well.
    """
    try:
        return results_by_rule(node, inputs, opsets)
    except InputError:
        if refusal is None:
            raise
        return None


def _keeps_shape(node: onnx.NodeProto, refusal: InputError | None) -> bool:
    """Whether a node of an operator unknown to ONNX may be taken to keep its operand's shape."""
    spec = rule_of(node)
    unknown = spec is None or spec.refused != "" or spec.assumed in SAME_SHAPE
    return refusal is None and unknown


def _as_operand(inputs: Sequence[Fact | None]) -> Typed | None:
    """Return the type of the first operand that depends on a network input."""
    live = (fact for fact in inputs if fact is not None and fact.live)
    return next(((fact.element_type, fact.shape) for fact in live), None)
