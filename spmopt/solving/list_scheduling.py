"""Orders of a list's operations: list scheduling by the resident bytes.

List scheduling (Graham, 1969; for memory Sethi and Ullman, 1970) takes, of the operations whose
predecessors have run, one after the other by a priority. Here that is the bytes of an operation's
operands that are not on chip, less a share of the bytes that it frees, while the scratchpad holds
the tensors used last (LRU). So a new tensor is consumed at once, a weight that is on chip serves
all operations that wait for it (the steps of a recurrent layer), and weights are updated as soon as
their gradients are known. Of a step of GNMT that takes 42.4 ms on 24 MB as listed, 48.3 depth first
(``belady-size`` by pages), such an order makes 35.1 ms; the list's optimum is 38.3.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import product

import numpy as np

from spmopt.core.order import dependences, depth_first
from spmopt.core.problem import Problem
from spmopt.core.table import Ints

_ROOMS = (1.0, 4.0)
"""Assumed resident bytes, in scratchpads: more than one tells recent tensors that do not fit from
old ones. GNMT forward on 24 MB, from its depth-first list, takes 10.85 ms with 4, 11.45 with 1."""


def candidates(problem: Problem) -> Iterator[tuple[float, Ints]]:
    """Yield orders, by kind; of each kind those that are often best first."""
    yield 0.0, np.arange(len(problem.operations))
    ready = ListScheduling(problem)
    # Half of the freed bytes is never the best of ten networks by more than 0.02 %: none, or all.
    for freed in (False, True):
        for recent, room in product((False, True), _ROOMS):
            room_bytes = int(room * problem.machine.spm_bytes)
            yield room, ready.order(room_bytes, freed=freed, recent=recent)
        if not freed:
            yield 1.0, depth_first(problem)


class ListScheduling:
    """Orders of a problem by the resident operands of its operations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sizes = [tensor.size_bytes for tensor in problem.tensors]
        self.before = dependences(problem)
        self.after: list[list[int]] = [[] for _ in self.before]
        self.readers: list[list[int]] = [[] for _ in self.sizes]
        self.uses = [0] * len(self.sizes)
        for index, operation in enumerate(problem.operations):
            for earlier in self.before[index]:
                self.after[earlier].append(index)
            for tensor in set(operation.reads):
                self.readers[tensor].append(index)
            for tensor in {*operation.reads, *operation.writes}:
                self.uses[tensor] += 1

    def order(self, room_bytes: int, *, freed: bool = False, recent: bool = False) -> Ints:
        """Return (n,) operations, each the one that then has the least to load.

        Parameters
        ----------
        room_bytes
            Most resident bytes at a time; the tensors used last stay, whole.
        freed
            Bytes freed, less the bytes produced, reduce the bytes to load.
        recent
            Among equals, take the operation that became ready last, else the first listed.
        """
        return _Walk(self, room_bytes, freed=freed, recent=recent).order()


class _Walk:
    """One pass over the operations, with the resident bytes and the ready operations."""

    def __init__(self, of: ListScheduling, room_bytes: int, *, freed: bool, recent: bool) -> None:
        self.of, self.room_bytes, self.freed, self.recent = of, room_bytes, freed, recent
        self.uses, self.waits = list(of.uses), [len(each) for each in of.before]
        operations = of.problem.operations
        # set: an operation that reads a tensor twice loads it once.
        self.missing = [sum(of.sizes[t] for t in set(each.reads)) for each in operations]
        self.held, self.held_bytes = OrderedDict[int, None](), 0
        self.ready, self.since = set[int](), [0] * len(operations)
        self.heap: list[tuple[int, int, int, int]] = []
        self.version = [0] * len(operations)

    def order(self) -> Ints:
        found: list[int] = []
        for index, count in enumerate(self.waits):
            if not count:
                self._make_ready(index, 0)
        while self.heap:
            *_, index, version = heappop(self.heap)
            # heapq cannot change a cost in place: outdated entries stay and are skipped here.
            if index not in self.ready or version != self.version[index]:
                continue
            self.ready.discard(index)
            found.append(index)
            self._run(index)
            for later in self.of.after[index]:
                self.waits[later] -= 1
                if not self.waits[later]:
                    self._make_ready(later, len(found))
        return np.array(found, np.int64)

    def _make_ready(self, index: int, now: int) -> None:
        self.ready.add(index)
        self.since[index] = now
        self._push(index)

    def _push(self, index: int) -> None:
        """Put an operation in the queue at its cost now; older entries count no more."""
        self.version[index] += 1
        operation, sizes = self.of.problem.operations[index], self.of.sizes
        used = {*operation.reads, *operation.writes}
        cost = self.missing[index]
        if self.freed:
            cost -= sum(sizes[t] for t in used if self.uses[t] == 1)
            cost += sum(sizes[t] for t in operation.writes)
        tie = -self.since[index] if self.recent else index
        heappush(self.heap, (cost, tie, index, self.version[index]))

    def _run(self, index: int) -> None:
        """Load the operands; drop tensors without further use, then the least recently used."""
        operation = self.of.problem.operations[index]
        used = dict.fromkeys((*operation.reads, *operation.writes))
        for tensor in used:
            if tensor in self.held:
                self.held.move_to_end(tensor)
            else:
                self.held[tensor] = None
                self._changes(tensor, -1)
        for tensor in used:
            self.uses[tensor] -= 1
            if not self.uses[tensor]:
                self._drop(tensor)
        # One tensor stays even if it is larger than the room, or the loop would not end.
        while self.held_bytes > self.room_bytes and len(self.held) > 1:
            self._drop(next(iter(self.held)))

    def _drop(self, tensor: int) -> None:
        del self.held[tensor]
        self._changes(tensor, 1)

    def _changes(self, tensor: int, sign: int) -> None:
        """Count a tensor that leaves (1) or enters (-1) for all that read it."""
        size = sign * self.of.sizes[tensor]
        self.held_bytes -= size
        for reader in self.of.readers[tensor]:
            self.missing[reader] += size
            if reader in self.ready:
                self._push(reader)
