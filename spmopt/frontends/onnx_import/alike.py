"""Nodes that are alike: what is worked out for one of them holds for all."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from spmopt.frontends.onnx_import.facts import Fact, Shape

Likeness = tuple[
    str,
    str,
    tuple[bytes, ...],
    tuple[tuple[int, Shape, bool] | None, ...],
    tuple[bool, ...],
]
"""Operator, domain, attributes, what each operand is (None where one is left out), and which
results have names."""


def likeness(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], results: Sequence[str]
) -> Likeness | None:
    """Return what the results of a node follow from; None where it is more than shapes and types.

    That is where contents of an operand are known, and where there is no operand.
    """
    operands: list[tuple[int, Shape, bool] | None] = []
    for fact in inputs:
        if fact is None:
            operands.append(None)
        elif fact.data is None:
            operands.append((fact.element_type, fact.shape, fact.live))
        else:
            return None
    if not operands:
        return None
    attributes = [each.SerializeToString(deterministic=True) for each in node.attribute[:]]
    named = tuple(map(bool, results))
    return node.op_type, node.domain, tuple(attributes), tuple(operands), named
