"""Reading an ONNX file: the structure only, never the weights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from spmopt.core.border import exists, is_file, is_folder, shortened
from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.topology import subgraphs
from spmopt.frontends.onnx_import.wire import MOST_KEPT, without_weights
from spmopt.graph.operators import SPECS

NODES = 200_000
"""Most nodes of a model, local functions and loops written out: they take about 2 GB."""
EXPANDED_NODES, _TIMES = 20_000, 20
"""What functions may come to, more only in a file that has so many nodes itself."""
EXPANDED_BYTES = 1 << 26
OF_LIBRARIES = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError),
    *(onnx.checker.ValidationError, onnx.shape_inference.InferenceError, DecodeError),
)
"""What onnx, numpy and protocol buffers raise of contents that nobody foresaw."""


def read_model(path: str | Path) -> onnx.ModelProto:
    """Return the model of the file at ``path``, external data unread, local functions inlined.

    Raises
    ------
    InputError
        No such file, not ONNX, cut short, without nodes, or too large.
    """
    file = Path(path)
    if not is_file(file):
        what = "is no regular file" if exists(file) and not is_folder(file) else "no such file"
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
    return without_functions(model, str(file))


def without_functions(model: onnx.ModelProto, source: str) -> onnx.ModelProto:
    """Return the model with its local functions written out, if that is not too large.

    One that a user gave a rule stays an operator. ``source`` is the name of the model in messages.
    """
    own = sum(len(each.node) for each in (model.graph, *model.functions))
    most = min(NODES, max(EXPANDED_NODES, _TIMES * own)) if model.functions else NODES
    try:
        written = _size(model.graph.node, _Functions(model))
    except RecursionError:
        raise InputError(f"{source}: a local function calls itself; the file is damaged") from None
    if written.nodes > most:
        once = " once its local functions are written out" if model.functions else ""
        raise InputError(f"{source}: over {most} nodes{once}; export a part of the model")
    if not model.functions:
        return model
    if written.bytes > EXPANDED_BYTES:
        raise InputError(
            f"{source}: over {EXPANDED_BYTES >> 20} MiB once its local functions are written out; "
            "leave out long texts and attributes"
        )
    try:
        kept = [(each.domain, each.name) for each in model.functions if _has_rule(each)]
        return inliner.inline_selected_functions(model, kept, exclude=True)
    except (*OF_LIBRARIES, MemoryError) as error:
        reason = shortened(" ".join(str(error).split()))
        raise InputError(
            f"{source}: its local functions cannot be written out ({reason})"
        ) from None


def _has_rule(function: onnx.FunctionProto) -> bool:
    return f"{function.domain}.{function.name}" in SPECS.added


class _Written(NamedTuple):
    """What nodes come to when local functions are written out.

    ``passed`` counts the attributes that they take from the caller.
    """

    nodes: int = 0
    bytes: int = 0
    passed: int = 0


class _Functions:
    """Sizes of local functions by what they are called, each worked out once."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._nodes = {
            (each.domain, each.name): each.node for each in model.functions if not _has_rule(each)
        }
        self._sizes: dict[tuple[str, str], _Written | None] = {}

    def size(self, node: onnx.NodeProto) -> _Written:
        """Return what a node stands for; RecursionError where that is without end."""
        name, own = (node.domain, node.op_type), node.ByteSize()
        passed = sum(bool(each.ref_attr_name) for each in node.attribute)
        if name not in self._nodes:
            return _Written(1, own, passed)
        if name not in self._sizes:
            self._sizes[name] = None
            self._sizes[name] = _size(self._nodes[name], self)
        found = self._sizes[name]
        if found is None:
            raise RecursionError
        return _Written(
            found.nodes, found.bytes + found.passed * own, passed * max(1, found.passed)
        )


def _size(nodes: Iterable[onnx.NodeProto], functions: _Functions) -> _Written:
    count = size = passed = 0
    for node in nodes:
        inner = (_size(graph.node, functions) for graph in subgraphs(node))
        for part in (functions.size(node), *inner):
            count, size = count + part.nodes, size + part.bytes
            passed += part.passed
    return _Written(count, size, passed)
