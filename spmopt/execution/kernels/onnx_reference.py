"""Forward operators as the reference implementation of ONNX computes them, one node at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from spmopt.core.errors import require_extra
from spmopt.core.graph import Attribute, Node
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.graph import operators

_OPSET = 22
_Frozen = tuple[tuple[str, Attribute], ...]


def onnx_kernel(node: Node) -> NodeKernel | None:
    """Return ONNX's reference of a node; None where ONNX has no such operator or attribute."""
    require_extra("onnx", "onnx", "kernels reference")
    from onnx import defs

    if "." in node.operator or not defs.has(node.operator):
        return None
    known = defs.get_schema(node.operator, _newest(node.operator)).attributes
    constants = set((operators.lookup(node.operator).constants or {}).values())
    if set(node.attributes) - set(known) - constants:
        return None
    return _evaluated


def _newest(operator: str) -> int:
    from onnx import defs

    return int(defs.get_schema(operator).since_version)


def _evaluated(call: Call) -> Sequence[Array]:
    types = tuple((each.dtype.str, each.shape) for each in call.inputs)
    session, names = _session(
        call.operator, tuple(call.attributes.items()), types, len(call.shapes)
    )
    with np.errstate(all="ignore"):
        found: list[Any] = session.run(None, dict(zip(names, call.inputs, strict=True)))
    return [np.asarray(each) for each in found]


@cache
def _session(
    operator: str, attributes: _Frozen, types: tuple[tuple[str, tuple[int, ...]], ...], results: int
) -> tuple[Any, list[str]]:
    """Return a model of one node, and the names of its operands."""
    from onnx import defs, helper
    from onnx.reference import ReferenceEvaluator

    constants = operators.lookup(operator).constants or {}
    given: dict[str, Any] = dict(attributes)
    own = {key: value for key, value in given.items() if key not in constants.values()}
    names = [f"x{place}" for place in range(len(types))]
    left, inputs, made = list(names), list[str](), []
    for place in range(len(types) + len(constants)):
        key = constants.get(place)
        if key is None:
            inputs.append(left.pop(0) if left else "")
        elif key in given:
            made.append(_constant(key, given[key], np.dtype(types[0][0])))
            inputs.append(key)
        else:
            inputs.append("")
    while inputs and not inputs[-1]:
        inputs.pop()
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for kind, _ in types]
    outputs = [f"y{place}" for place in range(results)]
    node = helper.make_node(operator, inputs, outputs, **own)
    graph = helper.make_graph(
        [node],
        operator,
        [
            helper.make_tensor_value_info(name, kind, shape)
            for name, kind, (_, shape) in zip(names, kinds, types, strict=True)
        ],
        [helper.make_tensor_value_info(name, kinds[0], None) for name in outputs],
        initializer=made,
    )
    opset = max(defs.get_schema(operator).since_version, _OPSET)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model), names


def _constant(name: str, value: Attribute, dtype: np.dtype[Any]) -> Any:
    """Return an attribute as the input that it is in ONNX."""
    from onnx import numpy_helper

    whole = all(isinstance(each, int) for each in (value if isinstance(value, tuple) else (value,)))
    array = np.array(value, np.int64 if whole and isinstance(value, tuple) else dtype)
    return numpy_helper.from_array(array, name)
