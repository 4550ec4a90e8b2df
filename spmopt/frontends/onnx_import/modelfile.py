"""Reading an ONNX file: the structure only, never the weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from spmopt.core.errors import InputError

BYTES_READ = 1 << 16  # a constant over this size is a weight; its contents are never looked at


def read_model(path: str | Path) -> onnx.ModelProto:
    """Return the model of the file at ``path``, external data unread, local functions inlined.

    Raises
    ------
    InputError
        No such file, not ONNX, cut short, or without nodes.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file; give an ONNX file or the name of a network")
    try:
        model = onnx.load(str(file), format="protobuf", load_external_data=False)
    except DecodeError:
        raise InputError(
            f"{file}: not an ONNX file, or cut short; export or copy it again"
        ) from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    if not model.graph.node or not model.graph.output:
        raise InputError(f"{file}: has no nodes or no outputs; it is not ONNX, or cut short")
    if not model.opset_import:
        raise InputError(f"{file}: names no operator set; it is cut short, export it again")
    if not all(isinstance(text, str) for text in _texts(model.graph)):
        raise InputError(f"{file}: holds names that are not text; it is damaged, export it again")
    _forget_weights(model)
    if model.functions:
        model = inliner.inline_local_functions(model)
    return model


def _texts(graph: onnx.GraphProto) -> Iterator[str]:
    """Return all names; one that is not UTF-8 comes as bytes."""
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        yield value.name


def _forget_weights(model: onnx.ModelProto) -> None:
    """Free what large embedded weights hold; only their shapes are used."""
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > BYTES_READ:
            tensor.ClearField("raw_data")
