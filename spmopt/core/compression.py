"""Bytes that cross the DRAM boundary, of tensors that are compressed there (PROBLEM.md, section 1).

A byte is one on chip unless something else is said. The DMA unpacks a compressed tensor on its way
in and packs it on its way out, so that a command of ``x`` bytes moves ``ceil(ratio x)``. Tensors of
one ratio are priced alike, so that prices of single bytes are computed ratio by ratio.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints

_LARGEST = 2**62


class _Kind(Protocol):
    @property
    def kind(self) -> str: ...


def ratios_of(machine: Machine, tensors: Iterable[_Kind]) -> list[Fraction]:
    """Return the bytes that move per byte on chip of each tensor."""
    return [machine.moved_ratio(tensor.kind) for tensor in tensors]


@dataclass(frozen=True, kw_only=True, eq=False)
class MovedBytes:
    """Bytes that move per byte of each tensor: ``numerator`` (m,) over one ``denominator``."""

    numerator: Ints
    denominator: int = 1

    @classmethod
    def on(cls, machine: Machine, tensors: Iterable[_Kind]) -> Self:
        """Return the ratios of tensors on a machine."""
        if not machine.compression:
            return cls(numerator=np.ones(sum(1 for _ in tensors), np.int64))
        ratios = ratios_of(machine, tensors)
        denominator = lcm(*(ratio.denominator for ratio in ratios))
        numerator = np.array([int(ratio * denominator) for ratio in ratios], np.int64)
        return cls(numerator=numerator, denominator=denominator)

    @cached_property
    def plain(self) -> bool:
        """Whether no tensor is compressed."""
        return bool((self.numerator == self.denominator).all())

    @cached_property
    def ratio(self) -> NDArray[np.float64]:
        """(m,) The ratio of each tensor, nearly."""
        result: NDArray[np.float64] = self.numerator / self.denominator
        return result

    @cached_property
    def ratios(self) -> tuple[NDArray[np.float64], Ints]:
        """(c,) The ratios that there are, nearly, and (m,) the place of each tensor's."""
        found, place = np.unique(self.numerator, return_inverse=True)
        return (found if found.size else np.ones(1)) / self.denominator, place

    def of(self, tensor: Ints, size_bytes: Ints) -> Ints:
        """Return (k,) the bytes that commands of ``size_bytes`` (k,) move, rounded up."""
        if self.plain:
            return size_bytes
        share = self.numerator[tensor]
        largest = int(size_bytes.max(initial=0)) * int(self.numerator.max(initial=1))
        # Python's integers where 64 bits would overflow.
        exact = size_bytes if largest < _LARGEST else size_bytes.astype(object)
        return np.asarray(-(-(exact * share) // self.denominator), np.int64)

    def classes(self) -> list[tuple[Fraction, Bools]]:
        """Return each ratio, and (m,) the tensors that have it."""
        return [
            (Fraction(int(each), self.denominator), self.numerator == each)
            for each in np.unique(self.numerator).tolist() or [self.denominator]
        ]
