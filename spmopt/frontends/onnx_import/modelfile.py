"""Reading an ONNX file: the structure only, never the weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from spmopt.core.errors import InputError
from spmopt.core.validation import exists, is_file, is_folder, shorten
from spmopt.frontends.onnx_import.topology import subgraphs
from spmopt.frontends.onnx_import.wire import MOST_KEPT, without_weights
from spmopt.graph.operators import SPECS

NODES = 200_000
"""Most nodes of a model, local functions and loops written out: they take about 2 GB."""
EXPANDED_NODES, _TIMES = 20_000, 20
"""What functions may come to, more only in a file that has so many nodes itself."""
EXPANDED_BYTES = 1 << 26
"""Most bytes of attributes that calls hand on, as if each node of a function took the largest."""
_Name = tuple[str, str]
"""Domain and name of a function."""
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
    functions = {(f.domain, f.name): f.node for f in model.functions if not _has_rule(f)}
    own = len(model.graph.node) + sum(len(each.node) for each in model.functions)
    # Functions may call functions, so that a small file can grow exponentially.
    most = min(NODES, max(EXPANDED_NODES, _TIMES * own)) if functions else NODES
    try:
        count = _count(model.graph.node, functions, {}) if functions else own
    except RecursionError:
        raise InputError(f"{source}: a local function calls itself; the file is damaged") from None
    if count > most:
        once = " once its local functions are written out" if functions else ""
        raise InputError(f"{source}: over {most} nodes{once}; export a part of the model")
    if not model.functions:
        return model
    bodies = (model.graph.node, *functions.values())
    # Each call copies its attributes into the nodes of the function: bound memory before.
    if count * max(_largest_call(nodes, functions) for nodes in bodies) > EXPANDED_BYTES:
        raise InputError(
            f"{source}: over {EXPANDED_BYTES >> 20} MiB once its local functions are written out; "
            "leave out long texts and attributes"
        )
    try:
        kept = [(each.domain, each.name) for each in model.functions if _has_rule(each)]
        return inliner.inline_selected_functions(model, kept, exclude=True)
    except (*OF_LIBRARIES, MemoryError) as error:
        reason = shorten(" ".join(str(error).split()))
        raise InputError(
            f"{source}: its local functions cannot be written out ({reason})"
        ) from None


def _has_rule(function: onnx.FunctionProto) -> bool:
    return f"{function.domain}.{function.name}" in SPECS.added


def _count(
    nodes: Iterable[onnx.NodeProto],
    functions: Mapping[_Name, Sequence[onnx.NodeProto]],
    known: dict[_Name, int],
) -> int:
    """Count nodes once local functions are written out; RecursionError where that has no end."""
    count = 0
    for node in nodes:
        name = (node.domain, node.op_type)
        if name in functions and name not in known:
            known[name] = -1  # until it is counted: who asks before is called by it
            # Each function is counted once, so that the count takes linear time.
            known[name] = _count(functions[name], functions, known)
        if known.get(name, 1) < 0:
            raise RecursionError
        count += known.get(name, 1)
        count += sum(_count(graph.node, functions, known) for graph in subgraphs(node))
    return count


def _largest_call(nodes: Iterable[onnx.NodeProto], functions: Mapping[_Name, object]) -> int:
    """Return the most bytes of attributes that a call of a local function has."""
    most = 0
    for node in nodes:
        inner = [_largest_call(graph.node, functions) for graph in subgraphs(node)]
        if (node.domain, node.op_type) in functions:
            inner.append(sum(each.ByteSize() for each in node.attribute))
        most = max((most, *inner))
    return most
