"""The operands and mappings of a problem as arrays, from which every timeline is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import mul
from typing import Self

import numpy as np

from spmopt.core.operation import FIGURES, Operation, OpMapping
from spmopt.core.table import Bools, Ints

READ, WRITE, UPDATE = 0, 1, 2


@dataclass(frozen=True, kw_only=True, eq=False)
class MappingTable:
    """Mappings of operations, in rows of their own.

    Attributes
    ----------
    figures : (6, k)
        Of each mapping, named by :data:`FIGURES`.
    first : (k,)
        Where the operands of each mapping begin.
    passes, required-resident : (b,)
        Operands of all mappings, one after the other.
    """

    figures: Ints
    first: Ints
    fetches: Ints
    required_resident: Bools

    @classmethod
    def of(cls, mappings: Sequence[OpMapping]) -> Self:
        """Lay out ``mappings``."""
        operands = [mapping.operands for mapping in mappings]
        counts = _ints(map(len, operands))
        return cls(
            figures=np.stack(
                [_ints(getattr(mapping, name) for mapping in mappings) for name in FIGURES]
            ),
            first=np.cumsum(counts) - counts,
            fetches=_ints(each.fetches for each in chain.from_iterable(operands)),
            required_resident=np.fromiter(
                (each.required_resident for each in chain.from_iterable(operands)), bool
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OperandTable:
    """Operands of operations, and their mappings.

    Attributes
    ----------
    first : (n + 1,)
        Operands of operation ``k`` are ``first[k]:first[k + 1]``.
    tensor : (a,)
    kind : (a,)
        Whether it is read, written or updated: the values of :class:`spmopt.core.timeline.Access`.
    first_mapping : (n + 1,)
        Mappings of operation ``k`` are ``mapping[first_mapping[k]:first_mapping[k + 1]]``.
    mapping : (k,)
        Rows of ``mappings``, which has those that operations share once.
    """

    first: Ints
    tensor: Ints
    kind: Ints
    first_mapping: Ints
    mapping: Ints
    mappings: MappingTable

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
        several = [len(operation.mappings) for operation in operations]
        mappings = [mapping for operation in operations for mapping in operation.mappings]
        # By identity: comparing records of large networks takes longer than rows save.
        distinct = {id(mapping): mapping for mapping in mappings}
        row = {key: place for place, key in enumerate(distinct)}
        return cls(
            first=_ints(first),
            tensor=_ints(tensor),
            kind=_ints(kind),
            first_mapping=np.concatenate(([0], np.cumsum(several))),
            mapping=_ints([row[id(mapping)] for mapping in mappings]),
            mappings=MappingTable.of([*distinct.values()]),
        )

    def most_figures(self) -> dict[str, int]:
        """Return the sum over operations of the largest of each figure over its mappings, exact."""
        most = np.maximum.reduceat(
            self.mappings.figures[:, self.mapping], self.first_mapping[:-1], axis=1
        )
        return {name: sum(row) for name, row in zip(FIGURES, most.tolist(), strict=True)}

    def most_fetches(self) -> Ints:
        """Return (n,) the most fetches of an operand of each operation in any mapping.

        1 of none.
        """
        counts = np.diff(self.mappings.first, append=self.mappings.fetches.size)
        of_mapping = np.ones(counts.size, np.int64)
        np.maximum.at(of_mapping, np.repeat(np.arange(counts.size), counts), self.mappings.fetches)
        return np.maximum.reduceat(of_mapping[self.mapping], self.first_mapping[:-1])

    def most_moved(self, sizes: Sequence[int]) -> int:
        """Return the bytes that cross in the mappings with the most of them, exact.

        ``sizes`` are those of the tensors, in bytes; every operand crosses ``fetches`` times.
        """
        several = np.diff(self.first_mapping)
        counts = np.repeat(np.diff(self.first), several)
        used = self.tensor[ranges(np.repeat(self.first[:-1], several), counts)]
        fetches = self.mappings.fetches[ranges(self.mappings.first[self.mapping], counts)]
        # Python's integers: this sum checks that totals fit in 64 bits.
        crossing = map(mul, map(sizes.__getitem__, used.tolist()), fetches.tolist())
        if self.mapping.size == several.size:  # one each, so that no mapping has more than another
            return sum(crossing)
        paid = list(accumulate(crossing, initial=0))
        ends = np.concatenate(([0], np.cumsum(counts))).tolist()
        moved = [paid[end] - paid[begin] for begin, end in pairwise(ends)]
        edges = self.first_mapping.tolist()
        return sum(max(moved[begin:end]) for begin, end in pairwise(edges))


def ranges(first: Ints, counts: Ints) -> Ints:
    """Return the rows ``first[k], ..., first[k] + counts[k] - 1`` of every k, one after another."""
    before = np.cumsum(counts) - counts
    # A global count plus a shift for each k: no loop over operations.
    rows: Ints = np.repeat(first - before, counts) + np.arange(int(counts.sum()))
    return rows


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)
