"""Reading an ONNX file: the structure only, never the weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.topology import subgraphs
from spmopt.frontends.onnx_import.wire import MOST_KEPT, without_weights
from spmopt.graph.operators import SPECS

NODES = 200_000
"""Most nodes of a model, local functions and loops written out: they take about 2 GB."""


def read_model(path: str | Path) -> onnx.ModelProto:
    """Return the model of the file at ``path``, external data unread, local functions inlined.

    Raises
    ------
    InputError
        No such file, not ONNX, cut short, without nodes, or too large.
    """
    file = Path(path)
    if not file.is_file():
        what = "is no regular file" if file.exists() and not file.is_dir() else "no such file"
        raise InputError(f"{file}: {what}; give an ONNX file or the name of a network")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(without_weights(file))
    except (DecodeError, ValueError):
        raise InputError(
            f"{file}: not an ONNX file, or cut short; export or copy it again"
        ) from None
    except OverflowError:
        raise InputError(
            f"{file}: over {MOST_KEPT >> 20} MiB beside its weights; that is no network that can "
            "be scheduled"
        ) from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    if not model.graph.node or not model.graph.output:
        raise InputError(f"{file}: has no nodes or no outputs; it is not ONNX, or cut short")
    if not model.opset_import:
        raise InputError(f"{file}: names no operator set; it is cut short, export it again")
    if not set(map(type, _texts(model.graph))) <= {str}:
        raise InputError(f"{file}: holds names that are not text; it is damaged, export it again")
    return _inlined(model, file)


def _inlined(model: onnx.ModelProto, file: Path) -> onnx.ModelProto:
    """Return the model without local functions, if that is not too large.

    One that a user gave a rule stays an operator.
    """
    try:
        count = _count(model.graph.node, _Functions(model))
    except RecursionError:
        raise InputError(f"{file}: a local function calls itself; the file is damaged") from None
    if count > NODES:
        raise InputError(
            f"{file}: over {NODES} nodes once its local functions are written out; "
            "export a part of the model"
        )
    if not model.functions:
        return model
    try:
        kept = [(each.domain, each.name) for each in model.functions if _has_rule(each)]
        return inliner.inline_selected_functions(model, kept, exclude=True)
    except (RuntimeError, ValueError, DecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{file}: its local functions cannot be written out ({reason})") from None


def _has_rule(function: onnx.FunctionProto) -> bool:
    return f"{function.domain}.{function.name}" in SPECS.added


class _Functions:
    """Sizes of local functions by what they are called, each worked out once."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._nodes = {
            (each.domain, each.name): each.node for each in model.functions if not _has_rule(each)
        }
        self._sizes: dict[tuple[str, str], int | None] = {}

    def size(self, node: onnx.NodeProto) -> int:
        """Return how many nodes a node stands for; RecursionError where that is without end."""
        name = (node.domain, node.op_type)
        if name not in self._nodes:
            return 1
        if name not in self._sizes:
            self._sizes[name] = None
            self._sizes[name] = _count(self._nodes[name], self)
        found = self._sizes[name]
        if found is None:
            raise RecursionError
        return found


def _count(nodes: Iterable[onnx.NodeProto], functions: _Functions) -> int:
    return sum(
        functions.size(node) + sum(_count(graph.node, functions) for graph in subgraphs(node))
        for node in nodes
    )


def _texts(graph: onnx.GraphProto) -> Iterator[str]:
    """Return all names; one that is not UTF-8 comes as bytes."""
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        if node.attribute:
            yield from (attribute.name for attribute in node.attribute)
            for inner in subgraphs(node):
                yield from _texts(inner)
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        yield value.name
