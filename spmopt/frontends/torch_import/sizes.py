"""Dynamic dimensions of an exported program, and what they are here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from spmopt.core.errors import InputError, unknown
from spmopt.frontends.torch_import.capture import examples, export


def sized(program: ExportedProgram, batch: int | None, sizes: Mapping[str, int]) -> ExportedProgram:
    """Return a program whose dimensions are all fixed.

    Those that were exported as dynamic are given here, or are those of the example inputs.

    Raises
    ------
    InputError
        A dimension that is fixed otherwise, or of an unknown name.
    """
    given = _user_inputs(program)
    values, spec = pytree.tree_flatten(examples(program))
    first = next((each for each in given if each.shape), None)
    symbols = {
        str(size): at.shape[axis]
        for each, at in zip(given, values, strict=True)
        for axis, size in enumerate(getattr(each, "shape", ()))
        if not isinstance(size, int)
    }
    wanted = dict(sizes)
    for name in wanted:
        if name not in symbols:
            raise unknown("dynamic dimension", name, symbols)
    if batch is not None and first is not None:
        size = first.shape[0]
        if isinstance(size, int) and size != batch:
            raise InputError(
                f"was exported at batch {size}, not {batch}; export it at that batch, or with a "
                "dynamic one (dynamic_shapes)"
            )
        if not isinstance(size, int):
            wanted[str(size)] = batch
    if not symbols:
        return program
    fixed = [_fixed(each, value, wanted) for each, value in zip(given, values, strict=True)]
    arguments, keywords = pytree.tree_unflatten(fixed, spec)
    return export(program.module(check_guards=False), arguments, keywords)


def _fixed(given: Any, value: Any, sizes: Mapping[str, int]) -> Any:
    """Return an example input of the sizes that are wanted."""
    if not isinstance(value, torch.Tensor):
        return value
    pairs = zip(given.shape, value.shape, strict=True)
    shape = tuple(sizes.get(str(size), old) for size, old in pairs)
    return value if tuple(value.shape) == shape else torch.zeros(shape, dtype=value.dtype)


def _user_inputs(program: ExportedProgram) -> list[Any]:
    names = set(program.graph_signature.user_inputs)
    return [
        node.meta["val"]
        for node in program.graph.find_nodes(op="placeholder")
        if node.name in names
    ]
