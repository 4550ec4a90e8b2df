"""Inputs and operators of an ONNX file, before any shape is deduced."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.by_rule import rule_name
from spmopt.frontends.onnx_import.facts import type_name
from spmopt.frontends.onnx_import.missing import missing_rules, without_rule
from spmopt.frontends.onnx_import.modelfile import OF_LIBRARIES, read_model
from spmopt.frontends.onnx_import.network import Declared, batch_of_file, take_apart

_EVALUATED = ("Constant", "Shape", "Size")
"""Operators that only data of the file and shapes decide: the import evaluates them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxSurvey:
    """Content of an ONNX file.

    Attributes
    ----------
    inputs
        Element type and dimensions by name; a dimension is a size, a symbol, or None (open, without
        a name).
    batch
        Dimension that ``batch`` sets: the first of the first input.
    operators
        Number of nodes by operator.
    unknown
        Operators without a rule.
    paste
        Lines of a file of operators that give these a class.
    """

    inputs: dict[str, tuple[str, tuple[int | str | None, ...]]]
    batch: int | str | None
    operators: dict[str, int]
    unknown: tuple[str, ...]
    paste: str


def survey_onnx(path: Path) -> OnnxSurvey:
    """Read inputs and operators of an ONNX file; weights are never read.

    Raises
    ------
    InputError
        The file is no ONNX file, or is damaged.
    """
    model = read_model(path)
    try:
        parts = take_apart(model, path.parent)
        nodes = [node for node in parts.nodes if node.op_type not in _EVALUATED]
        missing = without_rule(nodes, None)
        return OnnxSurvey(
            inputs={name: (_type(each), each.dimensions) for name, each in parts.inputs.items()},
            batch=batch_of_file(parts.inputs),
            operators=dict(Counter(map(rule_name, nodes))),
            unknown=tuple(each.name for each in missing),
            paste=missing_rules(missing).paste if missing else "",
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OF_LIBRARIES as error:
        raise InputError(f"{path}: damaged ({type(error).__name__}); export it again") from error


def _type(declared: Declared) -> str:
    """Return the name of an element type, or its number where there is no name."""
    try:
        return type_name(declared.element_type)
    except (InputError, LookupError):
        return f"type {declared.element_type}"
