"""What an instance fixes whatever its order: dependences, uses of tensors, versions, segments.

Dependences are the predecessors and the hazards of the listed order. They order every write of a
tensor against all its other uses, so that each use reads and writes a version known beforehand;
only the readers of one version are free among themselves. A *segment* is a chain of versions
made by updates in place: it begins with the contents at the start, or with a blind write.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.order import dependences
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """An operation touches a tensor.

    ``place`` is the operand's in the operation; ``reads`` and ``writes`` are versions or -1.
    """

    operation: int
    place: int
    tensor: int
    kind: Access
    segment: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Contents of a tensor.

    ``writer`` and ``next_writer`` are uses or -1 (there at the start; never overwritten),
    ``readers`` the uses that read it, one that updates it included. ``kept``: it must be in
    DRAM at the end.
    """

    tensor: int
    writer: int
    readers: tuple[int, ...]
    next_writer: int
    kept: bool

    @property
    def needed(self) -> bool:
        """Whether the contents are of any use (``live_after`` its write)."""
        return bool(self.readers) or self.kept


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """An instance, analysed.

    Attributes
    ----------
    before : (n, n) bool
        ``before[i, j]``: operation i runs before j in every order allowed.
    chain
        The pairs of ``before`` that imply all others.
    of_tensor, of_operation
        Uses by tensor, in the listed order, and by operation, in the order of its operands.
    """

    instance: Instance
    before: Bools
    chain: tuple[tuple[int, int], ...]
    uses: tuple[Use, ...]
    versions: tuple[Version, ...]
    of_tensor: tuple[tuple[int, ...], ...]
    of_operation: tuple[tuple[int, ...], ...]

    @property
    def operations(self) -> int:
        """Number of operations, and of steps."""
        return len(self.instance.operations)

    def pages(self, size_bytes: int) -> int:
        """Pages that hold so many bytes."""
        return -(-size_bytes // self.instance.machine.page_bytes)

    def size(self, tensor: int) -> int:
        """Bytes of a tensor."""
        return self.instance.tensors[tensor].size_bytes

    def use_before(self, one: int, other: int) -> bool:
        """Whether use ``one`` comes before ``other`` in every order."""
        left, right = self.uses[one].operation, self.uses[other].operation
        return bool(self.before[left, right])


def analyse(instance: Instance, order: Ints | None = None) -> Facts:
    """Facts of ``instance``; with ``order``, of that order of operations only."""
    before = _closure(instance) if order is None else _total(order)
    through = (before.astype(np.int64) @ before.astype(np.int64)) > 0
    books = _Books(instance)
    of_operation = tuple(
        tuple(books.touch(index, place) for place in range(len(operation.tensors)))
        for index, operation in enumerate(instance.operations)
    )
    return Facts(
        instance=instance,
        before=before,
        chain=tuple((int(i), int(j)) for i, j in np.argwhere(before & ~through)),
        uses=tuple(books.uses),
        versions=books.versions(),
        of_tensor=tuple(map(tuple, books.of_tensor)),
        of_operation=of_operation,
    )


class _Books:
    """Uses and versions, booked one use after the other in the listed order."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.uses: list[Use] = []
        self.of_tensor: list[list[int]] = [[] for _ in instance.tensors]
        self._tensor: list[int] = []
        self._writer: list[int] = []
        self._readers: list[list[int]] = []
        self._next_writer: list[int] = []
        self._segments = 0
        self._current = [
            self._version(tensor, NONE) if record.in_dram else NONE
            for tensor, record in enumerate(instance.tensors)
        ]
        self._segment = [self._new_segment() for _ in instance.tensors]

    def touch(self, operation: int, place: int) -> int:
        """Book the use of an operand; return its number."""
        record, number = self._instance.operations[operation], len(self.uses)
        tensor = record.tensors[place]
        reads = writes = NONE
        kind = Access.WRITE
        if place < len(record.reads):
            kind, reads = Access.READ, self._current[tensor]
            self._readers[reads].append(number)
        else:
            self._segment[tensor] = self._new_segment()
        if tensor in record.writes:
            kind = Access.UPDATE if kind is Access.READ else kind
            if self._current[tensor] != NONE:
                self._next_writer[self._current[tensor]] = number
            writes = self._current[tensor] = self._version(tensor, number)
        self.uses.append(
            Use(
                operation=operation,
                place=place,
                tensor=tensor,
                kind=kind,
                segment=self._segment[tensor],
                reads=reads,
                writes=writes,
            )
        )
        self.of_tensor[tensor].append(number)
        return number

    def versions(self) -> tuple[Version, ...]:
        """All versions, once every use is booked."""
        return tuple(
            Version(
                tensor=tensor,
                writer=self._writer[number],
                readers=tuple(self._readers[number]),
                next_writer=self._next_writer[number],
                kept=self._instance.tensors[tensor].keep and self._next_writer[number] == NONE,
            )
            for number, tensor in enumerate(self._tensor)
        )

    def _version(self, tensor: int, writer: int) -> int:
        self._tensor.append(tensor)
        self._writer.append(writer)
        self._readers.append([])
        self._next_writer.append(NONE)
        return len(self._tensor) - 1

    def _new_segment(self) -> int:
        self._segments += 1
        return self._segments - 1


def _closure(instance: Instance) -> Bools:
    """Transitive closure of the dependences."""
    needed = dependences(instance)
    before = np.zeros((len(needed), len(needed)), bool)
    for index, earlier in enumerate(needed):
        for other in earlier:
            before[:, index] |= before[:, other]
            before[other, index] = True
    return before


def _total(order: Ints) -> Bools:
    place = np.argsort(order)
    result: Bools = place[:, None] < place[None, :]
    return result
