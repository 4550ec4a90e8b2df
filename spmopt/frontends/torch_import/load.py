"""The entries: a file or a module in, a graph out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends.torch_import.capture import export, forward, joint, prepared, read_program
from spmopt.frontends.torch_import.modes import in_type, missed_in_training
from spmopt.frontends.torch_import.rules import RULES
from spmopt.frontends.torch_import.sizes import sized
from spmopt.frontends.torch_import.walk import graph_of


def load_torch(
    path: str | Path,
    *,
    batch: int | None = None,
    training: bool = False,
    optimizer: str | None = None,
    dtype: str | None = None,
    warn: Callable[[str], None] = warnings.warn,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """Return the forward graph, or that of a training step, of an exported program.

    Parameters
    ----------
    path
        A file that ``torch.export.save`` wrote. One that would run code is refused, as far as is
        known of torch's reader; torch itself advises against files of unknown origin.
    batch
        Size of the first dimension of the first input, where that was exported as dynamic.
    training
        Trace the backward pass too.
    optimizer
        Its optimizer: ``sgd``, ``momentum`` or ``adam``; none by default.
    dtype
        Element type in which torch traces it, in place of its own: fp64, fp32, bf16 or fp16.
    warn
        Receives what a training step of the program lacks; by default Python's own warnings.
    sizes
        Sizes of other dynamic dimensions, by the names that torch gives them.

    Raises
    ------
    InputError
        The file cannot be used: one line that says what to do.
    """
    try:
        program = sized(read_program(path), batch, sizes or {})
        if dtype is not None:
            program = in_type(program, dtype)
        graph = _graph(program, Path(path).stem, training, optimizer)
    except InputError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from error
    _tell(program, str(path), training, warn)
    return graph


def graph_of_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    *,
    keywords: Mapping[str, Any] | None = None,
    training: bool = False,
    optimizer: str | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Graph:
    """Return the forward graph, or that of a training step, of a module of torch.

    A training step of a module in evaluation mode is warned of.

    Raises
    ------
    InputError
        It cannot be exported, or an operator has no rule.
    """
    name = type(module).__name__
    try:
        program = export(module, inputs, keywords or {})
        graph = _graph(program, name, training, optimizer)
    except InputError as error:
        raise InputError(f"{name}: {' '.join(str(error).split())}") from error
    _tell(program, name, training, warn)
    return graph


def _tell(program: ExportedProgram, name: str, training: bool, warn: Callable[[str], None]) -> None:
    lacks = missed_in_training(program) if training else None
    if lacks is not None:
        warn(f"{name}: {lacks}")


def _graph(program: ExportedProgram, name: str, training: bool, optimizer: str | None) -> Graph:
    capture = joint if training else forward
    return graph_of(capture(prepared(program), name, tuple(RULES)), optimizer=optimizer)
