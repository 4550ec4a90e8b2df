"""Steps of kernels in C on buffers, written down as on arrays of numpy.

Arrays here hold nothing: what counts is where views of them begin and how they stride. So the
operations of numpy that move nothing say how C finds elements. A buffer has 8 bytes an element,
as the doubles of C have; of integers the type is another, which tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from spmopt.core.errors import InputError
from spmopt.execution.kernels.call import Array, Call

TYPES = {
    name: code for code, name in enumerate(("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "|b1"))
}
"""Codes of types of elements in memory, as ``spmopt_operators.h`` has them."""
_MOST_AXES = 16


def type_code(dtype: np.dtype[Any] | None) -> int:
    """Return the code of a type of elements in memory; None is that of packed ones.

    Raises
    ------
    InputError
        C has none like it.
    """
    code = None
    if dtype is not None and dtype.names is None:
        code = TYPES.get(dtype.newbyteorder("<").str)
    if code is None:
        name = "less than a byte" if dtype is None else f"type {dtype.name}"
        raise InputError(f"kernels: elements of {name} have none in C; use kernels hash")
    return code


class Use(IntEnum):
    """What a buffer is."""

    READ = 0
    WRITE = 1
    OWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Elements that an operation reads, writes, or has for itself; ``place`` among operands."""

    use: Use
    place: int
    type: int
    array: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Elements of a buffer: the first, and an array's shape and strides, in elements."""

    buffer: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A kernel with what it is given."""

    kernel: str
    results: tuple[View, ...]
    operands: tuple[View, ...]
    integers: tuple[int, ...]
    numbers: tuple[float, ...]


class Steps:
    """The steps of an operation, in order."""

    def __init__(self) -> None:
        self.buffers = list[Buffer]()
        self.steps = list[Step]()

    def read(self, place: int, dtype: np.dtype[Any] | None, shape: Sequence[int]) -> Array:
        """Return the array of an operand."""
        return self._buffer(Use.READ, place, dtype, shape)

    def own(self, shape: Sequence[int], kind: str = "f") -> Array:
        """Return an array of zeros."""
        return self._buffer(Use.OWN, 0, np.dtype("f8" if kind == "f" else "i8"), shape)

    def write(self, place: int, dtype: np.dtype[Any] | None, array: Array) -> None:
        """Make an array a result of the operation."""
        self.run("copy", [self._buffer(Use.WRITE, place, dtype, array.shape)], [array])

    def run(
        self,
        kernel: str,
        results: Sequence[Array],
        operands: Sequence[Array] = (),
        integers: Sequence[int] | None = None,
        numbers: Sequence[float] = (),
    ) -> None:
        """Add a step; ``integers`` are by default the number of elements of the first result."""
        self.steps.append(
            Step(
                kernel=kernel,
                results=tuple(map(self._view, results)),
                operands=tuple(map(self._view, operands)),
                integers=(results[0].size,) if integers is None else tuple(integers),
                numbers=tuple(map(float, numbers)),
            )
        )

    def copy(self, target: Array, source: Array) -> None:
        """Copy a source to a target of its shape, or that it broadcasts to."""
        self.run("copy", [target], [np.broadcast_to(source, target.shape)])

    def made(
        self,
        kernel: str,
        operands: Sequence[Array],
        numbers: Sequence[float] = (),
        *,
        shape: Sequence[int] | None = None,
        integers: Sequence[int] | None = None,
    ) -> Array:
        """Return what a kernel makes of operands, broadcast to each other but for a ``shape``."""
        if shape is None:
            operands = np.broadcast_arrays(*operands)
        found = self.own(operands[0].shape if shape is None else shape)
        self.run(kernel, [found], operands, integers, numbers)
        return found

    def dense(self, array: Array) -> Array:
        """Return an array whose elements are all of a buffer, in order: itself or a copy."""
        if array.flags.c_contiguous and any(
            array.size == each.array.size and self._begin(array) == self._begin(each.array)
            for each in self.buffers
        ):
            return array
        found = self.own(array.shape, array.dtype.kind)
        self.copy(found, array)
        return found

    def reshaped(self, array: Array, shape: Sequence[int]) -> Array:
        """Return an array in another shape, copied where no strides show it so."""
        found = array.reshape(shape)
        return found if self._holder(found) is not None else self.dense(array).reshape(shape)

    def _buffer(
        self, use: Use, place: int, dtype: np.dtype[Any] | None, shape: Sequence[int]
    ) -> Array:
        code, kind = type_code(dtype), "i" if dtype is None else dtype.kind
        array: Array = np.empty(shape, np.float64 if kind == "f" else np.int64)
        self.buffers.append(Buffer(use=use, place=place, type=code, array=array))
        return array

    @staticmethod
    def _begin(array: Array) -> int:
        return int(array.__array_interface__["data"][0])

    def _holder(self, array: Array) -> int | None:
        """Return the buffer that an array shows; None of what numpy has copied."""
        at = self._begin(array)
        for index, each in enumerate(self.buffers):
            if 0 <= at - self._begin(each.array) < each.array.nbytes:
                return index
        return None

    def _view(self, array: Array) -> View:
        buffer = self._holder(array)
        assert buffer is not None, "a copy of numpy's"
        offset = (self._begin(array) - self._begin(self.buffers[buffer].array)) // 8
        axes = _joined(array)
        assert len(axes) <= _MOST_AXES
        return View(
            buffer=buffer,
            offset=offset,
            shape=tuple(size for size, _ in axes),
            strides=tuple(stride for _, stride in axes),
        )


Describing = Callable[[Call, Sequence[Array], Steps], None]
"""Adds the steps that make arrays of results, zeros at first, of an operator's operands."""


def _joined(array: Array) -> list[tuple[int, int]]:
    """Return size and stride in elements of each axis, joined where they run on."""
    found = list[tuple[int, int]]()
    for size, stride in zip(array.shape, array.strides, strict=True):
        if size == 1:
            continue
        step = stride // 8
        if found and found[-1][1] == size * step:
            found[-1] = found[-1][0] * size, step
        else:
            found.append((size, step))
    return found


def rows(array: Array, axes: Sequence[int]) -> tuple[Array, int, int]:
    """Return an array with some axes last, and the numbers of rows and of elements in each."""
    ordered = sorted(axis % array.ndim for axis in axes)
    kept = [axis for axis in range(array.ndim) if axis not in ordered]
    many, inner = (prod(array.shape[axis] for axis in each) for each in (kept, ordered))
    return array.transpose([*kept, *ordered]), many, inner


def summed_to(do: Steps, array: Array, shape: tuple[int, ...], target: Array) -> None:
    """Make ``target`` the sum over what broadcasting from ``shape`` has repeated."""
    if array.size == prod(shape):
        do.copy(target.reshape(array.shape), array)
        return
    padded = (1,) * (array.ndim - len(shape)) + tuple(shape)
    gone = [k for k, size in enumerate(padded) if size == 1 and array.shape[k] != 1]
    turned, many, inner = rows(array, gone)
    do.run("sum_rows", [target], [turned], [many, inner], [1])
