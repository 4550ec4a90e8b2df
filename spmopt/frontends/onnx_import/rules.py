"""How attributes of ONNX, over its operator sets, become attributes of our operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from spmopt.core.graph import Attribute
from spmopt.frontends.onnx_import.facts import Fact, Shape, node_attributes, type_name

# Their result shape is known, whatever form the argument that asks for it takes.
RESIZED = frozenset(("Resize", "Upsample"))
SHAPED = frozenset(("Reshape", "Expand")) | RESIZED
FLATTENED = frozenset(("Softmax", "LogSoftmax", "Hardmax"))


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
    """Return ``attributes`` with defaults of the operator set written out.

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
    # Before operator set 13 the default was axis 1, over all axes from it on.
    elif node.op_type in FLATTENED and opset < 13:
        settled.setdefault("axis", 1)
    elif isinstance(to := settled.get("to"), int):
        settled["to"] = type_name(to)
    elif node.op_type == "Split" and "split" not in settled:
        settled["num_outputs"] = len(node.output)
    return settled


def resampling(
    node: onnx.NodeProto, opset: int, inputs: Sequence[Fact | None], result: Shape
) -> dict[str, Attribute]:
    """Return how a resized image lies on its source, which shapes do not say.

    Scales that are not those of the shapes, because a result size was rounded down or aspects are
    kept, or that are not known, are an unknown transformation.
    """
    raw, source = node_attributes(node), inputs[0]
    found: dict[str, Attribute] = {}
    # Resize had no coordinate transformation before operator set 11.
    if node.op_type == "Upsample" or opset < 11:
        found = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    sizes = inputs[3] if len(inputs) > 3 else None
    if sizes is not None and sizes.elements:
        known = raw.get("keep_aspect_ratio_policy", "stretch") in ("stretch", b"stretch")
    else:
        # Inputs are X, scales before operator set 11 and X, roi, scales since.
        position = 2 if len(inputs) > 2 else 1
        given = inputs[position] if len(inputs) > position else None
        scales = raw.get("scales", None if given is None else given.data)
        known = source is not None and scales is not None
        if source is not None and scales is not None:
            axes = raw.get("axes", range(len(result)))
            known = len(axes) == len(scales) and all(
                # Files hold scales in single precision: compare as such.
                np.float32(scale) == np.float32(result[axis] / source.shape[axis])
                for axis, scale in zip(axes, scales, strict=True)
            )
    return found if known else {"coordinate_transformation_mode": "unknown"}
