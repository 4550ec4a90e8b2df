"""Nodes that say something in a dialect, in the words of the standard.

Each rule takes a node and what is known of its operands; it returns the nodes that stand for it,
or None where it is fine as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import Fact, array_fact, node_attributes
from spmopt.frontends.onnx_import.topology import describe

Facts = dict[str, Fact]
Rule = Callable[[onnx.NodeProto, Facts], list[onnx.NodeProto] | None]


def rewritten(node: onnx.NodeProto, facts: Facts) -> list[onnx.NodeProto] | None:
    """Return what stands for a node, or None; constants that this needs are added to ``facts``."""
    rule = _RULES.get(node.op_type if not node.domain else "")
    return None if rule is None else rule(node, facts)


def _gemm(node: onnx.NodeProto, facts: Facts) -> list[onnx.NodeProto] | None:
    """Make matrices of the operands of a ``Gemm`` of other ranks, as fused operators have them.

    Leading axes of A are rows, as in ``MatMul``; of B, and of operands that are given transposed,
    they must be 1.
    """
    shapes = [facts[name].shape if name in facts else None for name in node.input[:3]]
    if len(shapes) < 2 or any(shape is None for shape in shapes[:2]):
        return None
    a, b = (shape or () for shape in shapes[:2])
    bias = shapes[2] if len(shapes) > 2 else None
    if len(a) == len(b) == 2 and (bias is None or len(bias) <= 2):
        return None
    attributes = node_attributes(node)
    turned = bool(attributes.get("transA", 0))
    if min(len(a), len(b)) < 2 or prod(b[:-2]) != 1 or (turned and prod(a[:-2]) != 1):
        raise InputError(
            f"{describe(node)}: operands {list(a)} and {list(b)} are no matrices; "
            "export it as MatMul"
        )
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


def _reshape(
    node: onnx.NodeProto, facts: Facts, source: str, shape: Sequence[int], result: str = ""
) -> onnx.NodeProto:
    result = result or f"{node.output[0]}/{source}"
    facts[f"{result}/shape"] = array_fact(np.array(shape, np.int64))
    return helper.make_node("Reshape", [source, f"{result}/shape"], [result])


_RULES: dict[str, Rule] = {"Gemm": _gemm}
