"""The operands and modes of an instance as arrays, from which every timeline is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import mul
from typing import Self

import numpy as np

from spmopt.core.operation import Mode, Operation
from spmopt.core.table import Bools, Ints

READ, WRITE, UPDATE = 0, 1, 2
FIGURES = (
    *("compute_cycles", "scratch_bytes", "macs", "spm_read_bytes", "spm_write_bytes"),
    "own_picojoules",
)
"""Figures of a mode."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ModeTable:
    """Modes of operations, in rows of their own.

    Attributes
    ----------
    figures : (6, k)
        Of each mode, named by :data:`FIGURES`.
    first : (k,)
        Where the operands of each mode begin.
    passes, stationary : (b,)
        Operands of all modes, one after the other.
    """

    figures: Ints
    first: Ints
    passes: Ints
    stationary: Bools

    @classmethod
    def of(cls, modes: Sequence[Mode]) -> Self:
        """Lay out ``modes``."""
        operands = [mode.operands for mode in modes]
        counts = _ints(map(len, operands))
        return cls(
            figures=np.stack([_ints(getattr(mode, name) for mode in modes) for name in FIGURES]),
            first=np.cumsum(counts) - counts,
            passes=_ints(each.passes for each in chain.from_iterable(operands)),
            stationary=np.fromiter(
                (each.stationary for each in chain.from_iterable(operands)), bool
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OperandTable:
    """Operands of operations, and their modes.

    Attributes
    ----------
    first : (n + 1,)
        Operands of operation ``k`` are ``first[k]:first[k + 1]``.
    tensor : (a,)
    kind : (a,)
        Whether it is read, written or updated: the values of :class:`spmopt.core.timeline.Access`.
    first_mode : (n + 1,)
        Modes of operation ``k`` are ``mode[first_mode[k]:first_mode[k + 1]]``.
    mode : (k,)
        Rows of ``modes``, which has those that operations share once.
    """

    first: Ints
    tensor: Ints
    kind: Ints
    first_mode: Ints
    mode: Ints
    modes: ModeTable

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> Self:
        """Lay out ``operations``."""
        first, tensor, kind = [0], list[int](), list[int]()
        for operation in operations:
            reads, writes = operation.reads, operation.writes
            for each in reads:
                tensor.append(each)
                kind.append(UPDATE if each in writes else READ)
            for each in writes:
                if each not in reads:
                    tensor.append(each)
                    kind.append(WRITE)
            first.append(len(tensor))
        several = [len(operation.modes) for operation in operations]
        modes = [mode for operation in operations for mode in operation.modes]
        distinct = {id(mode): mode for mode in modes}
        row = {key: place for place, key in enumerate(distinct)}
        return cls(
            first=_ints(first),
            tensor=_ints(tensor),
            kind=_ints(kind),
            first_mode=np.concatenate(([0], np.cumsum(several))),
            mode=_ints([row[id(mode)] for mode in modes]),
            modes=ModeTable.of([*distinct.values()]),
        )

    def most_figures(self) -> dict[str, int]:
        """Return the sum over operations of the largest of each figure over its modes, exact."""
        most = np.maximum.reduceat(self.modes.figures[:, self.mode], self.first_mode[:-1], axis=1)
        return {name: sum(row) for name, row in zip(FIGURES, most.tolist(), strict=True)}

    def most_passes(self) -> Ints:
        """Return (n,) the most passes of an operand of each operation in any mode; 1 of none."""
        counts = np.diff(self.modes.first, append=self.modes.passes.size)
        of_mode = np.ones(counts.size, np.int64)
        np.maximum.at(of_mode, np.repeat(np.arange(counts.size), counts), self.modes.passes)
        return np.maximum.reduceat(of_mode[self.mode], self.first_mode[:-1])

    def most_moved(self, sizes: Sequence[int]) -> int:
        """Return the bytes that cross in the modes with the most of them, exact.

        ``sizes`` are those of the tensors, in bytes; every operand crosses ``passes`` times.
        """
        several = np.diff(self.first_mode)
        counts = np.repeat(np.diff(self.first), several)
        used = self.tensor[ranges(np.repeat(self.first[:-1], several), counts)]
        passes = self.modes.passes[ranges(self.modes.first[self.mode], counts)]
        crossing = map(mul, map(sizes.__getitem__, used.tolist()), passes.tolist())
        if self.mode.size == several.size:  # one each, so that no mode has more than another
            return sum(crossing)
        paid = list(accumulate(crossing, initial=0))
        ends = np.concatenate(([0], np.cumsum(counts))).tolist()
        moved = [paid[end] - paid[begin] for begin, end in pairwise(ends)]
        edges = self.first_mode.tolist()
        return sum(max(moved[begin:end]) for begin, end in pairwise(edges))


def ranges(first: Ints, counts: Ints) -> Ints:
    """Return the rows ``first[k], ..., first[k] + counts[k] - 1`` of every k, one after another."""
    before = np.cumsum(counts) - counts
    rows: Ints = np.repeat(first - before, counts) + np.arange(int(counts.sum()))
    return rows


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)
