"""Commands that repeat as loops: fusion tiles and equal layers run the same ones again and again.

An iteration differs from the one before in numbers alone, each by the same *stride*: an operation
and its tensors by their index, bytes in DRAM by their address. Nothing need be known of a schedule
to see that, so that whatever repeats in one is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.core.table import Bools, Ints

Json = dict[str, Any]
KIND = "loop"
_LENGTHS = 64
"""Numbers of commands of an iteration that are tried."""


def with_loops(commands: Sequence[Json]) -> list[Json]:
    """Return commands with those that repeat three times or more in loops.

    A loop has the commands of its first iteration, and of each the strides of numbers that change.
    """
    if not commands:
        return []
    table = _Table(commands)
    found, at = list[Json](), 0
    for begin, length, times in table.loops():
        found += commands[at:begin]
        first, second = commands[begin : begin + length], commands[begin + length :]
        strides = [_stride(*both) for both in zip(first, second, strict=False)]
        found.append({"kind": KIND, "times": times, "commands": first, "strides": strides})
        at = begin + length * times
    return [*found, *commands[at:]]


def _stride(first: Json, second: Json) -> Json:
    """Return the difference of two commands, of fields that differ."""
    every = ((name, _difference(first[name], second[name])) for name in first)
    return {name: stride for name, stride in every if stride is not None}


def _difference(one: Any, other: Any) -> Any:
    """Return a value of the same form that has differences of numbers; None where all are equal."""
    if one == other:
        return None
    if isinstance(one, list):
        found = [_difference(*both) for both in zip(one, other, strict=True)]
        pairs = zip(one, found, strict=True)
        return [_nothing(value) if each is None else each for value, each in pairs]
    if isinstance(one, dict):
        return _stride(one, other)
    return other - one


def _nothing(value: Any) -> Any:
    """Return the stride of a value in a list that does not change."""
    if isinstance(value, list):
        return [_nothing(each) for each in value]
    return {} if isinstance(value, dict) else 0


class _Table:
    """Commands as numbers, and the form in which they stand."""

    def __init__(self, commands: Sequence[Json]) -> None:
        forms, self._numbers = dict[object, int](), list[int]()
        first, of_form = [0], list[int]()
        for command in commands:
            form = _form(command, self._numbers)
            of_form.append(forms.setdefault(form, len(forms)))
            first.append(len(self._numbers))
        self._form, self._first = np.array(of_form), np.array(first)
        draw = np.random.default_rng(0)
        widest = int(np.diff(self._first).max())
        self._weights = draw.integers(1, 2**62, widest, np.int64).astype(np.uint64)
        self._values = np.array(self._numbers, np.int64).astype(np.uint64)
        place = np.arange(self._values.size) - np.repeat(self._first[:-1], np.diff(self._first))
        weighted: NDArray[np.uint64] = self._values * self._weights[place]
        # Modulo 2^64: sums of differences are differences of sums.
        self._sums = np.add.reduceat(np.append(weighted, np.uint64(0)), self._first[:-1])

    def loops(self) -> Iterator[tuple[int, int, int]]:
        """Yield begin, commands of an iteration and iterations of loops that do not overlap."""
        count = self._form.size
        saved, lengths = np.zeros((2, count), np.int64)
        for length in self._lengths():
            runs = self._runs(length)
            mine = np.where(runs >= length, (runs // length + 1) * length, 0)
            lengths[mine > saved] = length
            np.maximum(saved, mine, out=saved)
        at, widest = 0, int(lengths.max(initial=1))
        while at < count:
            # One that begins a little later may save more.
            begin = at + int(saved[at : at + widest].argmax())
            length = int(lengths[begin])
            times = int(saved[begin]) // length + 1 if length else 0
            if times < 3 or not self._repeats(begin, length, times):
                at += widest
                continue
            yield begin, length, times
            at = begin + length * times

    def _repeats(self, begin: int, length: int, times: int) -> bool:
        """Return whether all numbers go on by the same strides: sums may be equal by chance."""
        values = self._numbers[self._first[begin] : self._first[begin + length * times]]
        strides = np.diff(np.array(values, np.int64).reshape(times, -1), axis=0)
        return bool((strides == strides[0]).all())

    def _lengths(self) -> list[int]:
        last, gaps = dict[int, int](), Counter[int]()
        for at, form in enumerate(self._form.tolist()):
            if form in last:
                gaps[at - last[form]] += 1
            last[form] = at
        some = [length for length, _ in gaps.most_common(_LENGTHS)]
        # Addresses may come back after two iterations.
        return sorted({*some, *(2 * length for length in some[:8])})

    def _runs(self, length: int) -> Ints:
        """Return how many commands from each on repeat after so many, and once more."""
        form, sums, count = self._form, self._sums, self._form.size
        same: Bools = np.zeros(count + 1, bool)
        if count > 2 * length:
            one, two, three = (slice(k * length, count - (2 - k) * length) for k in range(3))
            alike = (form[one] == form[two]) & (form[two] == form[three])
            alike &= sums[two] - sums[one] == sums[three] - sums[two]
            same[: count - 2 * length] = alike
        # The next command that does not.
        ends = np.where(same, count + 1, np.arange(count + 1))
        following = np.minimum.accumulate(ends[::-1])[::-1]
        found: Ints = (following - np.arange(count + 1))[:count]
        return found


def _form(value: Any, numbers: list[int]) -> object:
    """Return all of a value but its numbers, which are appended in order."""
    if isinstance(value, dict):
        return dict, *((name, _form(each, numbers)) for name, each in value.items())
    if isinstance(value, list):
        return list, *(_form(each, numbers) for each in value)
    if isinstance(value, str):
        return value
    numbers.append(int(value))
    return None
