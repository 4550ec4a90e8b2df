"""Which operand an operation's reads and writes of the scratchpad are of.

A mapping gives totals, ``spm_read_bytes`` and ``spm_write_bytes``. With banks it matters whose
bytes they are, so they are shared out: reads over the tensors read by size times passes (lowering
counts them so), writes over the tensors written by size. Of an operand the resident part is read
and written where it lies; the rest passes by the stream buffer, which the first bank has.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_ZERO = Fraction(0)
STREAM_BANK = 0
"""The bank that streamed bytes pass through, and accesses that no operand accounts for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """Accesses of operations to the scratchpad, exact.

    Attributes
    ----------
    read, write
        Of every access: bytes read and written per byte of its tensor.
    loose_read, loose_write
        Of every step: bytes of no operand; the stream bank's.
    any_read, any_write
        Of every step: bytes of an operation with several mappings, at least so many in whichever
        bank; its accesses have no shares.
    """

    read: tuple[Fraction, ...]
    write: tuple[Fraction, ...]
    loose_read: tuple[int, ...]
    loose_write: tuple[int, ...]
    any_read: tuple[int, ...]
    any_write: tuple[int, ...]

    @staticmethod
    def of(line: Timeline) -> Shares:
        """Return the shares of a timeline that says which mapping each step runs."""
        return _share(line, np.zeros(line.steps, bool))

    @staticmethod
    def relax(problem: Problem, line: Timeline) -> Shares:
        """Return the shares of the relaxed timeline of ``problem``, whichever mappings are run."""
        several = [len(operation.mappings) > 1 for operation in problem.operations]
        return _share(line, np.array(several, bool))


def _share(line: Timeline, several: Bools) -> Shares:
    reads, writes = line.kind != Access.WRITE, line.kind != Access.READ
    often = np.where(reads, line.fetches, 0)
    read, loose_read = _split(line, line.spm_read_bytes, often, several)
    write, loose_write = _split(line, line.spm_write_bytes, writes.astype(np.int64), several)
    return Shares(
        read=read,
        write=write,
        loose_read=loose_read,
        loose_write=loose_write,
        any_read=tuple(np.where(several, line.spm_read_bytes, 0).tolist()),
        any_write=tuple(np.where(several, line.spm_write_bytes, 0).tolist()),
    )


def _split(
    line: Timeline, total: Ints, often: Ints, several: Bools
) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    """Per access a byte's share of the step's ``total``; per step accesses without an owner.

    ``often`` (a,): how often an access touches a byte of its tensor.
    """
    weight = [0] * line.steps
    steps, times = line.step.tolist(), often.tolist()
    for step, size, many in zip(steps, line.size_bytes[line.tensor].tolist(), times, strict=True):
        # Python's integers: bytes times fetches may exceed 64 bits in sum.
        weight[step] += size * many
    totals, unknown = total.tolist(), several.tolist()
    share = tuple(
        # Exact, so that shares of a step add up to its total.
        Fraction(many * totals[step], weight[step]) if many and not unknown[step] else _ZERO
        for step, many in zip(steps, times, strict=True)
    )
    loose = tuple(
        0 if unknown[step] or weight[step] else totals[step] for step in range(line.steps)
    )
    return share, loose
