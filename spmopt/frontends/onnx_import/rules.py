"""How attributes of ONNX, over its operator sets, become attributes of our operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from spmopt.core.graph import Attribute
from spmopt.frontends.onnx_import.facts import Shape, type_name

# Their result shape is known, whatever form the argument that asks for it takes.
SHAPED = frozenset(("Reshape", "Expand", "Resize", "Upsample"))


def plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Attribute]:
    """Return those attributes that are numbers, text or integers in a row; the rest is left out."""
    found: dict[str, Attribute] = {}
    for name, value in attributes.items():
        plain = _plain(value)
        if plain is not None:
            found[name] = plain
    return found


def _plain(value: Any) -> Attribute | None:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, int) for item in value):
        return tuple(value)
    return None


def settle(
    node: onnx.NodeProto, attributes: dict[str, Attribute], opset: int, result: Shape
) -> dict[str, Attribute]:
    """Return ``attributes`` with what the operator set implies written out.

    Parameters
    ----------
    node
        The node that they belong to.
    attributes
        As the file gives them, constant inputs included.
    opset
        Version of the operator set.
    result
        Shape of the first result.
    """
    settled = dict(attributes)
    if node.op_type in SHAPED:
        settled["shape"] = result
    elif node.op_type in ("Softmax", "LogSoftmax") and opset < 13:
        settled.setdefault("axis", 1)
    elif isinstance(to := settled.get("to"), int):
        settled["to"] = type_name(to)
    elif node.op_type == "Split" and "split" not in settled:
        settled["num_outputs"] = len(node.output)
    return settled
