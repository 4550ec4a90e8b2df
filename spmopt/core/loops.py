"""Loops of an operation: affine statements on tensors, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Index:
    """An index: ``offset`` and each loop times its coefficient, divided by ``divisor``.

    The quotient is rounded down; or, if it is ``exact``, it is no index where it is not whole.
    """

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0
    divisor: int = 1
    exact: bool = False

    @cached_property
    def loops(self) -> frozenset[str]:
        """The loops that it depends on."""
        return frozenset(loop for loop, _ in self.terms)

    @cached_property
    def loop(self) -> str | None:
        """The loop that this index is, and nothing else."""
        plain = not self.offset and self.divisor == 1
        if len(self.terms) == 1 and self.terms[0][1] == 1 and plain:
            return self.terms[0][0]
        return None


@dataclass(frozen=True)
class Access:
    """Elements of a tensor: an index for each axis, None for all of it.

    ``x0`` is operand 0 and ``y0`` result 0 of the operation, any other name a value within it.
    """

    tensor: str
    axes: tuple[Index | None, ...]

    @cached_property
    def loops(self) -> frozenset[str]:
        """The loops that it depends on."""
        return frozenset[str]().union(*(index.loops for index in self.axes if index is not None))


@dataclass(frozen=True)
class Statement:
    """``target`` gets a function of ``reads``.

    ``combiner``: ``+=`` or ``max=``, over the loops that the target lacks; ``=`` writes it.
    """

    target: Access
    reads: tuple[Access, ...]
    combiner: str = "="

    @property
    def combines(self) -> bool:
        """Whether values are combined over loops."""
        return self.combiner != "="

    @cached_property
    def loops(self) -> frozenset[str]:
        """All loops."""
        return self.target.loops.union(*(access.loops for access in self.reads))


@dataclass(frozen=True)
class LoopNest:
    """Statements, one after another, and how far their loops run."""

    extents: Mapping[str, int]
    statements: tuple[Statement, ...]

    @cached_property
    def slides(self) -> bool:
        """Whether windows slide over some operand: an index moves along several loops."""
        every = (access for s in self.statements for access in (s.target, *s.reads))
        return any(i is not None and len(i.terms) > 1 for access in every for i in access.axes)

    def accesses(self, tensor: str) -> list[Access]:
        """Return all accesses to a tensor."""
        return self._accesses.get(tensor, [])

    @cached_property
    def _accesses(self) -> dict[str, list[Access]]:
        found: dict[str, list[Access]] = {}
        for statement in self.statements:
            for access in (statement.target, *statement.reads):
                found.setdefault(access.tensor, []).append(access)
        return found

    def axis(self, tensor: str, loop: str) -> int | None:
        """Return the axis of a tensor that a loop runs along, or None where it has no part in it.

        Raises
        ------
        ValueError
            The loop runs along several axes, or along one together with others.
        """
        found = {
            place if index is not None and index.loop == loop else -1
            for access in self.accesses(tensor)
            for place, index in enumerate(access.axes)
            if index is not None and any(name == loop for name, _ in index.terms)
        }
        if len(found) > 1 or -1 in found:
            raise ValueError(f"{tensor} is not cut along one axis by loop {loop}")
        partly = any(loop not in access.loops for access in self.accesses(tensor))
        if found and partly:
            raise ValueError(f"{tensor} is read in part and as a whole by loop {loop}")
        return next(iter(found), None)

    def can_cut(self, loop: str) -> bool:
        """Return whether fusion tiles of a loop, one after another, compute the same.

        They do if every statement is cut, and none reads values that another combines over the
        loop, which is complete after the last fusion tile only.
        """
        combined = set[str]()
        for statement in self.statements:
            if loop not in statement.loops:
                return False
            if any(access.tensor in combined for access in statement.reads):
                return False
            if loop not in statement.target.loops:
                combined.add(statement.target.tensor)
        return True
