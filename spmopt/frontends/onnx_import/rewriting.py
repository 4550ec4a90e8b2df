"""Nodes that say something in a dialect, in the words of the standard.

Each rule takes a node and what is known of its operands; it returns the nodes that stand for it,
or None where it is fine as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spmopt.frontends.onnx_import.facts import Fact, array_fact, node_attributes
from spmopt.frontends.onnx_import.network import Declared

Facts = dict[str, Fact]
Rule = Callable[
    [onnx.NodeProto, Facts, Mapping[str, Declared]],
    list[onnx.NodeProto] | None,
]


def rewritten(
    node: onnx.NodeProto, facts: Facts, declared: Mapping[str, Declared]
) -> list[onnx.NodeProto] | None:
    """Return what stands for a node, or None; constants that this needs are added to ``facts``."""
    rule = _RULES.get(node.op_type)
    return None if rule is None or node.domain else rule(node, facts, declared)


def _gemm(
    node: onnx.NodeProto, facts: Facts, declared: Mapping[str, Declared]
) -> list[onnx.NodeProto] | None:
    """Make matrices of the operands of a ``Gemm`` of other ranks, as fused operators have them.

    Leading axes of A are rows, as in ``MatMul``. Where B has some too, or A is given transposed, it
    is a product of each of them.
    """
    shapes = [facts[name].shape if name in facts else None for name in node.input[:3]]
    if len(shapes) < 2 or any(shape is None for shape in shapes[:2]):
        return None
    a, b = (shape or () for shape in shapes[:2])
    bias = shapes[2] if len(shapes) > 2 else None
    if min(len(a), len(b)) < 2 or (len(a) == len(b) == 2 and (bias is None or len(bias) <= 2)):
        return None
    attributes = node_attributes(node)
    turned = bool(attributes.get("transA", 0))
    if prod(b[:-2]) != 1 or (turned and prod(a[:-2]) != 1):
        return _products(node, attributes)
    rows = (*a[:-2], a[-1] if turned else a[-2])
    columns = b[-2] if attributes.get("transB", 0) else b[-1]
    matrix = a[-2:] if turned else (prod(rows), a[-1])
    found = [
        _reshape(node, facts, node.input[0], matrix),
        _reshape(node, facts, node.input[1], b[-2:]),
    ]
    operands = [part.output[0] for part in found]
    if bias is not None:
        own = (prod(bias[:-1]), *bias[-1:])
        found.append(_reshape(node, facts, node.input[2], own if len(bias) > 1 else bias))
        operands.append(found[-1].output[0])
    product = onnx.NodeProto()
    product.CopyFrom(node)
    product.input[:] = operands
    product.output[:] = [f"{node.output[0]}/matrix"]
    result = _reshape(node, facts, product.output[0], (*rows, columns), node.output[0])
    return [*found, product, result]


def _products(node: onnx.NodeProto, attributes: Mapping[str, Any]) -> list[onnx.NodeProto]:
    """Return a product of stacks of matrices, and the sum with what is added to it."""
    bias = [name for name in node.input[2:3] if name]
    result = f"{node.output[0]}/product" if bias else node.output[0]
    turned = {key: attributes.get(key, 0) for key in ("transA", "transB")}
    product = helper.make_node(
        "FusedMatMul", node.input[:2], [result], node.name, domain="com.microsoft", **turned
    )
    more = [helper.make_node("Add", [result, *bias], node.output[:1])] if bias else []
    return [product, *more]


def _cross_entropy(
    node: onnx.NodeProto, facts: Facts, declared: Mapping[str, Declared]
) -> list[onnx.NodeProto] | None:
    """Return what a loss is whose only result has the axes of the scores, as the file states.

    It gives logarithms of probabilities, with which the gradient begins; the loss is left out.
    """
    stated = declared.get(node.output[0]) if len(node.output) == 1 and node.input else None
    scores = facts.get(node.input[0]) if node.input else None
    if stated is None or scores is None or len(stated.dimensions) != len(scores.shape):
        return None
    return [helper.make_node("LogSoftmax", node.input[:1], node.output, node.name, axis=1)]


def _reshape(
    node: onnx.NodeProto, facts: Facts, source: str, shape: Sequence[int], result: str = ""
) -> onnx.NodeProto:
    result = result or f"{node.output[0]}/{source}"
    facts[f"{result}/shape"] = array_fact(np.array(shape, np.int64))
    return helper.make_node("Reshape", [source, f"{result}/shape"], [result])


_RULES: dict[str, Rule] = {"Gemm": _gemm, "SoftmaxCrossEntropyLoss": _cross_entropy}
