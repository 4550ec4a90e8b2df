"""Forward operators as the reference implementation of ONNX computes them, one node at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from spmopt.core.errors import require_package
from spmopt.core.graph import Attribute, Node
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.graph import operators
from spmopt.graph.operators.spec import OperatorSpec

_OPSET = 22
_OF_ELEMENTS = ("min", "max", "constant_value")
"""Constants of the type of the first operand."""
_Frozen = tuple[tuple[str, Attribute], ...]


def onnx_kernel(node: Node) -> NodeKernel | None:
    """Return ONNX's reference of a node; None where ONNX has no such operator or attribute."""
    require_package("onnx", "kernels reference")
    from onnx import defs

    # A dot stands for another domain, which this reference lacks.
    if "." in node.operator or not defs.has(node.operator):
        return None
    known = defs.get_schema(node.operator).attributes
    constants = set((operators.lookup(node.operator).constants or {}).values())
    # An attribute of ours that ONNX would not heed.
    if set(node.attributes) - set(known) - constants:
        return None
    return _evaluate


@cache
def takes_bytes(operator: str) -> bool:
    """Return whether an operator takes integers of 8 bits; those of other domains do."""
    from onnx import defs

    if "." in operator or not defs.has(operator):
        return "." in operator
    schema = defs.get_schema(operator)
    kinds = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    return any("tensor(int8)" in kinds.get(each.type_str, ()) for each in schema.inputs[:1])


def _evaluate(call: Call) -> Sequence[Array]:
    inputs = _in_place(call.operator, call.attributes, call.inputs)
    constants = (operators.lookup(call.operator).constants or {}).values()
    own = {key: value for key, value in call.attributes.items() if key not in constants}
    return reference(call.operator, own, inputs, len(call.shapes))


def _in_place(
    operator: str, attributes: Mapping[str, Attribute], given: Sequence[Array]
) -> list[Array | None]:
    """Return operands in the order of ONNX; known constants come from attributes."""
    spec, left = operators.lookup(operator), list(given)
    constants = spec.constants or {}
    last = max([*constants, len(given) - 1])
    found: list[Array | None] = []
    # Constants of unknown contents are operands behind the others.
    loose = [k for k in spec.loose if constants[k] not in attributes]
    behind = left[len(left) - _behind(spec, len(given), len(loose)) :]
    left = left[: len(left) - len(behind)]
    for place in range(last + 1):
        key = constants.get(place)
        if key is None:
            found.append(left.pop(0) if left else None)
        elif key in attributes:
            found.append(_constant(key, attributes[key], given[0].dtype))
        else:
            found.append(behind.pop(0) if place in loose and behind else None)
    return [*found, *left]


def _behind(spec: OperatorSpec, given: int, most: int) -> int:
    """Return the number of operands that are constants of unknown contents."""
    first = min((k for k in spec.constants or {}), default=given)
    return min(max(given - first, 0), most)


def reference(
    operator: str,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Array | None],
    results: int = 1,
) -> list[Array]:
    """Return the results of ONNX's reference.

    Parameters
    ----------
    inputs
        Operands in the order of ONNX; None for those left out.
    results
        Number of results.
    """
    # Sessions are cached by types and shapes: making one takes longer than running it.
    types = tuple(None if each is None else (each.dtype, each.shape) for each in inputs)
    session = _session(operator, tuple(attributes.items()), types, results)
    given = {f"x{place}": each for place, each in enumerate(inputs) if each is not None}
    with np.errstate(all="ignore"):
        found: list[Any] = session.run(None, given)
    return [np.asarray(each) for each in found]


@cache
def _session(
    operator: str,
    attributes: _Frozen,
    types: tuple[tuple[np.dtype[Any], tuple[int, ...]] | None, ...],
    results: int,
) -> Any:
    """Return a model of one node."""
    from onnx import defs, helper
    from onnx.reference import ReferenceEvaluator

    given: dict[str, Any] = dict(attributes)
    names = ["" if kind is None else f"x{place}" for place, kind in enumerate(types)]
    kinds: list[Any] = [
        None if each is None else helper.np_dtype_to_tensor_dtype(each[0]) for each in types
    ]
    shown = list(names)
    # Trailing operands that are left out are not named at all.
    while shown and not shown[-1]:
        shown.pop()
    outputs = [f"y{place}" for place in range(results)]
    graph = helper.make_graph(
        [helper.make_node(operator, shown, outputs, **given)],
        operator,
        [
            helper.make_tensor_value_info(name, kind, each[1])
            for name, kind, each in zip(names, kinds, types, strict=True)
            if each is not None
        ],
        [helper.make_tensor_value_info(name, kinds[0], None) for name in outputs],
    )
    # Operators newer than the pinned opset exist from their own on.
    opset = max(defs.get_schema(operator).since_version, _OPSET)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model)


def _constant(key: str, value: Attribute, dtype: np.dtype[Any]) -> Array:
    """Return an attribute as the operand that it is in ONNX: of its type, or whole numbers."""
    return np.array(value, dtype if key in _OF_ELEMENTS else None)
