"""A program or module of torch in, a forward graph out: torch's own ONNX exporter in between."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import import graph_of_model
from spmopt.frontends.torch_import.export import export_program, onnx_model, read_program

_NORMALIZATION, _DROPOUT = 5, 2
"""Positions of the argument that says whether a network is trained."""


def load_torch(
    path: str | Path,
    *,
    batch: int | None = None,
    training: bool = False,
    assume_pointwise: bool = False,
    warn: Callable[[str], None] = warnings.warn,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """Return the forward graph of an exported program; weights never enter it.

    Parameters
    ----------
    path
        A file that ``torch.export.save`` wrote. One that would run code is refused, as far as is
        known of torch's reader; torch itself advises against files of unknown origin.
    batch, training, assume_pointwise, sizes
        As of :func:`spmopt.frontends.onnx_import.load_onnx`; dynamic dimensions of the program are
        open, under the names that torch gives them.
    warn
        Receives warnings; by default Python's own.

    Raises
    ------
    InputError
        The file cannot be used: one line with the remedy.
    """
    try:
        program = read_program(path)
        model = onnx_model(program, Path(path).stem)
    except InputError as error:
        raise _with_name(str(path), error) from error
    graph = graph_of_model(
        model,
        str(path),
        batch=batch,
        training=training,
        assume_pointwise=assume_pointwise,
        warn=warn,
        sizes=sizes,
    )
    _warn_of_evaluation(program, str(path), training, warn)
    return graph


def graph_of_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    *,
    keywords: Mapping[str, Any] | None = None,
    training: bool = False,
    warn: Callable[[str], None] = warnings.warn,
) -> Graph:
    """Return the forward graph of a module of torch.

    ``training``: warn of a module in evaluation mode.

    Raises
    ------
    InputError
        It cannot be exported, or an operator has no rule.
    """
    name = type(module).__name__
    try:
        program = export_program(module, inputs, keywords or {})
        model = onnx_model(program, name)
    except InputError as error:
        raise _with_name(name, error) from error
    graph = graph_of_model(model, name, training=training, warn=warn)
    _warn_of_evaluation(program, name, training, warn)
    return graph


def _with_name(name: str, error: InputError) -> InputError:
    return InputError(f"{name}: {' '.join(str(error).split())}")


def _warn_of_evaluation(
    program: ExportedProgram, name: str, training: bool, warn: Callable[[str], None]
) -> None:
    """Warn of a training step of a program that was exported for evaluation."""
    aten = torch.ops.aten
    frozen = dropped = 0
    for node in program.graph.nodes if training else ():
        if node.target is aten.batch_norm.default:
            frozen += not node.args[_NORMALIZATION]
        elif node.target is aten.dropout.default:
            dropped += not node.args[_DROPOUT]
        else:
            frozen += node.target is aten._native_batch_norm_legit_no_training.default
    lacks = [
        *([f"{frozen} normalizations run on stored statistics"] if frozen else []),
        *([f"{dropped} dropouts do nothing"] if dropped else []),
    ]
    if lacks:
        warn(
            f"{name}: {' and '.join(lacks)}: it was exported for evaluation; for a training step, "
            "export it after module.train()"
        )
