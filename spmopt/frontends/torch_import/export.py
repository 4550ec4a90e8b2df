"""From files and modules to ONNX models, by torch itself."""

from __future__ import annotations

import logging
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
import torch
from torch.export import ExportedProgram

from spmopt.core.errors import InputError
from spmopt.core.validation import exists, is_file, is_folder
from spmopt.frontends.onnx_import.modelfile import without_functions
from spmopt.frontends.onnx_import.wire import BYTES_READ
from spmopt.frontends.torch_import.archive import require_harmless, tensors_only

_PLAIN = {
    "Weights only load failed": "holds Python objects beside tensors, which torch would unpickle; "
    "export with arguments that are tensors, tuples, lists and plain dictionaries",
    "We ran into an error": "torch cannot read it: damaged, or written by another version of "
    "torch; write it again with torch.export.save",
}
"""Meanings of messages of torch, by how they begin."""
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def read_program(path: str | Path) -> ExportedProgram:
    """Return the program of a file that ``torch.export.save`` wrote.

    Raises
    ------
    InputError
        There is no such file, torch does not read it, or it would run code.
    """
    file = Path(path)
    if not is_file(file):
        what = "is no regular file" if exists(file) and not is_folder(file) else "no such file"
        raise InputError(f"{what}; give a program that torch.export.save wrote")
    if not zipfile.is_zipfile(file):
        raise InputError(
            "is no program of torch.export, or cut short; write it with torch.export.save"
        )
    require_harmless(file)
    with _quietly("torch cannot read it"), tensors_only():
        return torch.export.load(file)


def export_program(
    module: torch.nn.Module, inputs: Sequence[Any], keywords: Mapping[str, Any]
) -> ExportedProgram:
    """Export a module for example inputs.

    Raises
    ------
    InputError
        torch cannot.
    """
    with _quietly("torch.export fails"):
        return torch.export.export(module, tuple(inputs), dict(keywords))


def onnx_model(program: ExportedProgram, name: str) -> onnx.ModelProto:
    """Return a program as an ONNX model called ``name``, without the contents of its weights.

    Nothing is optimized: the exporter would compute with weights, and fold normalizations that a
    training step needs.

    Raises
    ------
    InputError
        torch cannot express an operator in ONNX.
    """
    with _quietly("torch.onnx.export fails"):
        found = torch.onnx.export(program, (), dynamo=True, optimize=False, verbose=False)
        for value in found.model.graph.initializers.values():
            # Weights never enter the model, which may then be larger than memory.
            value.const_value = _without_contents(value.const_value)
        found.model.graph.name = name
        model = onnx_ir.to_proto(found.model)
    return without_functions(model, "the model")


def _without_contents(tensor: onnx_ir.TensorProtocol) -> onnx_ir.TensorProtocol:
    """Return a tensor that is as if in another file, if it is large or has no contents."""
    abstract = isinstance(tensor, onnx_ir.Tensor) and getattr(tensor.raw, "is_meta", False)
    if tensor.nbytes <= BYTES_READ and not abstract:
        return tensor
    return onnx_ir.ExternalTensor(
        location="weights",
        offset=None,
        length=None,
        dtype=tensor.dtype,
        shape=tensor.shape,
        name=tensor.name or "",
    )


@contextmanager
def _quietly(what: str) -> Iterator[None]:
    """Let torch work without warnings, and raise its errors in one line."""
    with warnings.catch_warnings(action="ignore"):
        level = logging.root.manager.disable
        logging.disable(logging.WARNING)  # torch logs errors before it raises them
        try:
            yield
        except (InputError, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise InputError(_reason(error, what)) from error
        finally:
            logging.disable(level)


def _reason(error: BaseException, what: str) -> str:
    """Return the first line of the innermost error: the outer ones name steps of the exporter."""
    # The exporter wraps each error once per pass.
    while error.__cause__ is not None:
        error = error.__cause__
    lines = map(str.strip, _COLORS.sub("", str(error)).splitlines())
    first = next(filter(None, lines), type(error).__name__)
    found = next((plain for start, plain in _PLAIN.items() if first.startswith(start)), "")
    return found or f"{what}: {first}"
