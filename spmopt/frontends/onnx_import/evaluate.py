"""Working out the short integer constants that shapes are made of.

Exporters compute shapes with chains such as Shape - Gather - Mul - Concat - Reshape. The reference
implementation of ONNX evaluates them; operators that it lacks leave their results unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import (
    Array,
    Fact,
    array_fact,
    constant_fact,
)

_ANY = onnx.TypeProto()
_RANDOM = frozenset(("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"))


def shape_value(node: onnx.NodeProto, source: Fact, attributes: Mapping[str, Any]) -> Array:
    """Return the result of ``Shape`` or ``Size``, which need no contents."""
    if node.op_type == "Size":
        return np.array(source.elements, np.int64)
    begin, end = attributes.get("start", 0), attributes.get("end")
    return np.array(source.shape[begin:end], np.int64)


def constant_node(node: onnx.NodeProto, attributes: Mapping[str, Any]) -> Fact:
    """Return the fact of a ``Constant`` node, whatever form its value takes."""
    for name, value in attributes.items():
        if name == "value":
            return constant_fact(value)
        if name in ("value_int", "value_ints"):
            return array_fact(np.array(value, np.int64))
        if name in ("value_float", "value_floats"):
            return array_fact(np.array(value, np.float32))
    raise InputError(f"node {node.name} (Constant): has no dense numeric value")


def evaluate(
    node: onnx.NodeProto, inputs: Sequence[Array | None], opsets: Mapping[str, int]
) -> Array | None:
    """Return the contents of the only result of ``node``, or None if ONNX has no evaluation of it.

    Raises
    ------
    ValueError
        The inputs do not suit the operator.
    """
    # Random results differ from run to run, so no shape may depend on them.
    if len(node.output) != 1 or node.op_type in _RANDOM:
        return None
    feeds = {name: data for name, data in zip(node.input, inputs, strict=True) if data is not None}
    graph = helper.make_graph(
        [node],
        node.op_type,
        [helper.make_value_info(name, _ANY) for name in feeds],
        [helper.make_value_info(node.output[0], _ANY)],
    )
    try:
        evaluator = _reference()(graph, opsets=dict(opsets))
    except Exception:  # there is none of this operator, or of this version of it
        return None
    try:
        (result,) = evaluator.run(None, feeds)
    except Exception as error:  # of numpy, or of whatever evaluates the operator
        raise ValueError(error) from None
    return np.asarray(result)


@cache
def _reference() -> Any:
    """Return the evaluator of ONNX, imported where the first constant is worked out."""
    return import_module("onnx.reference").ReferenceEvaluator
