"""Bags of embeddings, which exporters write as loops over slices, as one lookup and reduction.

Each iteration cuts the next rows off, or looks up the next indices, and sums them up. Where all
bags are of one size, that is one lookup of as many rows, of which it reads no others, and one sum
along an axis. Bags of different sizes stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from spmopt.frontends.onnx_import.deduce import Deduction
from spmopt.frontends.onnx_import.facts import array_fact, node_attributes

_SUMS = frozenset(f"Reduce{kind}" for kind in ("Sum", "Mean", "Max", "Min", "Prod"))


def bags(step: Deduction, parts: Sequence[str], name: str, *, kept: bool) -> bool:
    """Define ``name`` as the join of tensors along axis 0, if they are bags of one size.

    Parameters
    ----------
    step
        The walk; nodes of the iterations stay, and are left out where nothing else reads them.
    parts
        The tensors.
    kept
        They have that axis, with size 1.
    """
    sums = [step.made.get(part) for part in parts]
    first = sums[0]
    # A single bag is no loop: one lookup and one sum already.
    if len(parts) < 2 or first is None or not _along_rows(step, first, kept):
        return False
    sources = [_rows(step, each, first) for each in sums]
    # All bags must come from the same rows and the same table.
    if None in sources or len({each[:2] for each in sources if each}) > 1:
        return False
    rows, table, _, size = sources[0] or ("", "", 0, 0)
    places = [each[2:] for each in sources if each]
    whole = step.facts[rows].shape
    # Bags must adjoin in order, else a reshape would mix their rows.
    if places != [(size * k, size * (k + 1)) for k in range(len(parts))]:
        return False
    if size < 1 or whole[0] != size * len(parts):
        return False
    step.facts[f"{name}/shape"] = array_fact(np.array([len(parts), size, *whole[1:]], np.int64))
    nodes = [helper.make_node("Reshape", [rows, f"{name}/shape"], [f"{name}/bags"])]
    # Rows are indices then, to be looked up once for all bags.
    if table:
        nodes.append(helper.make_node("Gather", [table, f"{name}/bags"], [f"{name}/rows"], axis=0))
    step.walk([*nodes, _sum(step, first, nodes[-1].output[0], name)], {})
    return True


def _along_rows(step: Deduction, node: onnx.NodeProto, kept: bool) -> bool:
    """Whether a node reduces axis 0 alone."""
    attributes = node_attributes(node)
    if node.domain or node.op_type not in _SUMS or attributes.get("keepdims", 1) != kept:
        return False
    axes = attributes.get("axes")
    if len(node.input) > 1 and node.input[1]:
        data = step.facts[node.input[1]].data
        # Operator set 13 (ReduceSum) and 18 (others) made the axes an input.
        axes = None if data is None else data.tolist()
    return axes in ([0], [-len(step.facts[node.input[0]].shape)])


def _rows(
    step: Deduction, node: onnx.NodeProto | None, like: onnx.NodeProto
) -> tuple[str, str, int, int] | None:
    """Return the tensor of a bag's rows, the table that they index, the first row and the end.

    A sum of the kind of ``like``.
    """
    if node is None or node.op_type != like.op_type or node.attribute != like.attribute:
        return None
    if list(node.input[1:]) != list(like.input[1:]):
        return None
    table, source = "", step.made.get(node.input[0])
    if source is not None and not source.domain and source.op_type == "Gather":
        # Only a lookup of whole rows, by a plain list of indices, gives the layout of a bag.
        if node_attributes(source).get("axis", 0) or len(step.facts[source.input[1]].shape) != 1:
            return None
        table, source = source.input[0], step.made.get(source.input[1])
    if source is None or source.domain or source.op_type != "Slice" or len(source.input) < 3:
        return None
    begin, end, axis, stride = (_number(step, source, place) for place in range(1, 5))
    # A step of 0 means that it is left out; others than 1 skip rows.
    if begin is None or end is None or axis != 0 or stride not in (0, 1):
        return None
    return source.input[0], table, begin, end


def _number(step: Deduction, node: onnx.NodeProto, place: int) -> int | None:
    """Return the only number of an input, 0 where that is left out; None if it is not known."""
    if place >= len(node.input) or not node.input[place]:
        return 0
    data = step.facts[node.input[place]].data
    return None if data is None or data.size != 1 else int(data.reshape(()))


def _sum(step: Deduction, like: onnx.NodeProto, source: str, name: str) -> onnx.NodeProto:
    """Return the reduction of all bags at once, along axis 1."""
    node = onnx.NodeProto(op_type=like.op_type)
    node.input.append(source)
    node.output.append(name)
    node.attribute.append(helper.make_attribute("keepdims", 0))
    if len(like.input) > 1:
        step.facts[f"{name}/axes"] = array_fact(np.array([1], np.int64))
        node.input.append(f"{name}/axes")
    else:
        node.attribute.append(helper.make_attribute("axes", [1]))
    return node
