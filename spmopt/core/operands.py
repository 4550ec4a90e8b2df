"""The operands and modes of an instance as arrays, from which every timeline is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Self

import numpy as np

from spmopt.core.table import Bools, Ints

if TYPE_CHECKING:
    from spmopt.core.instance import Mode, Operation

READ, WRITE, UPDATE = 0, 1, 2
FIGURES = ("compute_cycles", "scratch_bytes", "macs", "spm_read_bytes", "spm_write_bytes")
"""Figures of a mode."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ModeTable:
    """Modes of operations, in rows of their own.

    Attributes
    ----------
    figures : (5, k)
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
        Modes of operation ``k`` are ``first_mode[k]:first_mode[k + 1]``.
    modes
    """

    first: Ints
    tensor: Ints
    kind: Ints
    first_mode: Ints
    modes: ModeTable

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> Self:
        """Lay out ``operations``."""
        first, tensor, kind = [0], list[int](), list[int]()
        for operation in operations:
            reads, writes = operation.reads, operation.writes
            tensor += reads
            kind += [UPDATE if each in writes else READ for each in reads]
            only_written = [each for each in writes if each not in reads]
            tensor += only_written
            kind += [WRITE] * len(only_written)
            first.append(len(tensor))
        several = _ints(len(operation.modes) for operation in operations)
        return cls(
            first=_ints(first),
            tensor=_ints(tensor),
            kind=_ints(kind),
            first_mode=np.concatenate(([0], np.cumsum(several))),
            modes=ModeTable.of([mode for operation in operations for mode in operation.modes]),
        )


def ranges(first: Ints, counts: Ints) -> Ints:
    """Return the rows ``first[k], ..., first[k] + counts[k] - 1`` of every k, one after another."""
    before = np.cumsum(counts) - counts
    rows: Ints = np.repeat(first - before, counts) + np.arange(int(counts.sum()))
    return rows


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)
