"""Sizes of the inputs of a model: those of the file, and those that the caller gives."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import Fact, array_fact
from spmopt.frontends.onnx_import.network import Declared, Dimensions, batch_of_file

_COUNTS = frozenset((onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL))
_EXAMPLE = 128
"""Size of an open dimension in messages."""


class _Dimension(NamedTuple):
    """A dimension of an input; ``written``: its size or symbol in the file."""

    owner: str
    axis: int
    written: int | str | None
    is_batch: bool

    def __str__(self) -> str:
        return f"dimension {self.axis} of {self.owner}"


def batch_of(
    inputs: Mapping[str, Declared], batch: int | None, sizes: Mapping[str, int]
) -> tuple[int | None, str]:
    """Return the batch size to import, None for that of the file, and a note or "".

    An open batch is 1 where nobody gives it.

    Raises
    ------
    InputError
        ``batch`` has no dimension, or ``sizes`` give that dimension another size.
    """
    place = next((each for each in _dimensions(inputs) if each.is_batch), None)
    if place is None:
        if batch is not None:
            raise InputError(f"batch {batch}: no input has a dimension; leave it out (--batch)")
        return None, ""
    symbol = place.written
    given = sizes.get(symbol) if isinstance(symbol, str) else None
    if batch is not None and given is not None and batch != given:
        raise InputError(
            f"--batch {batch} and --param {symbol}={given} both give the size of {place} "
            f"({symbol}), which counts as the batch; leave one of them out"
        )
    if batch is not None or given is not None or isinstance(symbol, int):
        return batch, ""
    named = "" if symbol is None else f" ({symbol})"
    return 1, f"the batch, {place}{named}, is open and taken as 1; --batch gives another size"


def input_facts(
    inputs: Mapping[str, Declared], batch: int | None, sizes: Mapping[str, int]
) -> dict[str, Fact]:
    """Return the facts of every input.

    Parameters
    ----------
    inputs
        As the file declares them.
    batch
        Size of :func:`batch_of_file`, and of every other input that begins with the same size or
        symbol; None for the file's.
    sizes
        Sizes of other symbolic dimensions by name, and contents of inputs that are one whole number
        (a trip count).

    Raises
    ------
    InputError
        Dimensions that nothing fixes, or a name in ``sizes`` that no input uses.
    """
    counts = {n for n, each in inputs.items() if is_count(each.element_type, each.dimensions)}
    _require_used(sizes, {*_symbols(inputs), *counts})
    for name in _symbols(inputs):
        if sizes.get(name, 0) < 0:
            raise InputError(f"--param {name}={sizes[name]}: a size must be at least 1")
    shapes: dict[str, list[int]] = {name: [] for name in inputs}
    still_open = []
    for each in _dimensions(inputs):
        size = batch if each.is_batch and batch is not None else each.written
        size = sizes.get(size, size) if isinstance(size, str) else size
        if isinstance(size, int):
            shapes[each.owner].append(size)
        else:
            still_open.append(each)
    if still_open:
        raise _open_sizes(still_open, batch, batch_of_file(inputs))
    facts: dict[str, Fact] = {}
    for name, entry in inputs.items():
        shape = tuple(shapes[name])
        facts[name] = Fact(element_type=entry.element_type, shape=shape, live=True)
        if name in counts & sizes.keys():
            kind = helper.tensor_dtype_to_np_dtype(entry.element_type)
            # A value that is given is a constant: loops by it can be unrolled.
            facts[name] = array_fact(np.full(shape, sizes[name], kind))
    return facts


def _dimensions(inputs: Mapping[str, Declared]) -> Iterator[_Dimension]:
    first = batch_of_file(inputs)
    for name, entry in inputs.items():
        for axis, written in enumerate(entry.dimensions):
            # Equal sizes of inner axes are coincidence; equal symbols are not.
            is_batch = written == first and (axis == entry.batch_axis or isinstance(written, str))
            yield _Dimension(name, axis, written, is_batch)


def _symbols(inputs: Mapping[str, Declared]) -> list[str]:
    found = (size for entry in inputs.values() for size in entry.dimensions)
    return list(dict.fromkeys(size for size in found if isinstance(size, str)))


def is_count(element_type: int, shape: Dimensions) -> bool:
    """Return whether an input is one whole number, which ``--param`` may fix."""
    return element_type in _COUNTS and shape in ((), (1,))


def _require_used(sizes: Mapping[str, int], known: set[str]) -> None:
    for name in sizes:
        if name not in known:
            which = f"open: {', '.join(sorted(known))}" if known else "the file fixes all sizes"
            raise InputError(f"no open dimension is called {name!r} (--param {name}=...); {which}")


def _open_sizes(
    dimensions: list[_Dimension], batch: int | None, first: int | str | None
) -> InputError:
    """Return the error that names all open dimensions, and options to paste."""
    named = {each.written: each for each in reversed(dimensions)}
    texts = [f"{symbol} ({place})" for symbol, place in reversed(named.items())]
    # The option that was given must stay in the line that is to be pasted.
    options = [] if batch is None or isinstance(first, int) else [f"--batch {batch}"]
    options += [f"--param {shlex.quote(f'{symbol}={_EXAMPLE}')}" for symbol in reversed(named)]
    count = "1 dimension is" if len(texts) == 1 else f"{len(texts)} dimensions are"
    hint = f"give sizes, for example {' '.join(options)}"
    return InputError(f"{count} open: {', '.join(texts)}; {hint}")
