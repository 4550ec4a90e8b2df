"""Orders of a list's operations: list scheduling by what is on chip, compared by a policy.

List scheduling (Graham, 1969; for memory Sethi and Ullman, 1970) takes, of the operations whose
predecessors have run, one after the other by a priority. Here that is the bytes of an operation's
operands that are not on chip, less a share of what it frees, while the scratchpad holds what was
used last (LRU). So what has just been produced is consumed, a weight that is on chip serves all
operations that wait for it (the steps of a recurrent layer), and weights are updated as soon as
their gradients are known. Of a step of GNMT that takes 42.4 ms on 24 MB as listed, 48.3 depth
first (``belady-size`` by pages), such an order makes 35.1 ms; the list's optimum is 38.3.

No order here is proved best: what any order costs at least is in
:mod:`spmopt.verifier.any_order`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from time import monotonic

import numpy as np

from spmopt.core.errors import unknown
from spmopt.core.instance import Instance
from spmopt.core.order import dependences, depth_first, reordered
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import find
from spmopt.solving.runner import ScheduleRunner

LISTED, DEPTH_FIRST, SEARCHED = ORDERS = ("listed", "depth-first", "searched")
"""Orders by name; the first is the default."""
_FIRST, _LAST = "belady-size:granularity=page", "page"
"""Who compares orders: all by a policy, which takes a second where ``page`` takes a minute; then
the best of them, and the list as given, by ``page``. The policy alone takes an order of GNMT
forward on 24 MB for 2 % better than the list that is 6 % worse."""
_TOLERANCE, _FINAL_S = 0.01, 10.0
"""The gap of ``page``, and its seconds for each order."""
_SHARES, _ROOMS = (0.0, 0.5, 1.0), (1.0, 4.0)
"""Of what an operation frees, counted beside what it must load; and how many scratchpads what was
used last is taken to fill. Larger tensors than fit are then still told from those used long ago:
GNMT forward on 24 MB, from its depth-first list, takes 10.85 ms with 4, 11.45 with 1."""
_WORK = 60_000
"""Operations that are scheduled in all orders compared, but for the first few: a minute on GNMT
with 22,000 operations, seconds on most networks."""
_FEW = 3
"""Orders that are compared however many operations there are."""
_NEVER = Fraction(10**30)


def order_named(instance: Instance, name: str) -> Ints | None:
    """Return the operation that each step of an order runs; None for the list as given.

    ``searched`` is the best of several orders, the list and the depth-first one among them, by the
    time that their schedules take.

    Raises
    ------
    InputError
        There is no order of that name.
    """
    if name not in ORDERS:
        raise unknown("order", name, ORDERS)
    if name == LISTED:
        return None
    found = depth_first(instance) if name == DEPTH_FIRST else _best(instance)
    return None if np.array_equal(found, np.arange(found.size)) else found


def _best(instance: Instance) -> Ints:
    """Return the order in which ``page`` is fastest: the list, or what a policy likes of a kind."""
    known = set[bytes]()
    best: dict[float, tuple[Fraction, Ints]] = {}
    for room, order in _candidates(instance):
        if order.tobytes() in known:
            continue
        if len(known) >= _FEW and (len(known) + 1) * order.size > _WORK:
            break
        known.add(order.tobytes())
        value = _value(instance, order, _FIRST, Request())
        if room not in best or value < best[room][0]:
            best[room] = value, order
    request = Request(tolerance=_TOLERANCE, time_limit_s=_FINAL_S)
    final = [order for _, order in best.values()]
    values = [_value(instance, order, _LAST, request) for order in final]
    return final[values.index(min(values))]


def _value(instance: Instance, order: Ints, scheduler: str, request: Request) -> Fraction:
    """Return what a scheduler takes in an order."""
    runner = ScheduleRunner(reordered(instance, order), replace(request, started=monotonic()))
    legal = runner.run(find(scheduler)).legal
    return _NEVER if legal is None else legal.value


def _candidates(instance: Instance) -> Iterator[tuple[float, Ints]]:
    """Yield orders, by kind; of each kind those that are often best first."""
    yield 0.0, np.arange(len(instance.operations))
    ready = ListScheduling(instance)
    for share, recent, room in product(_SHARES, (False, True), _ROOMS):
        yield room, ready.order(int(room * instance.machine.spm_bytes), share, recent=recent)
        if share == _SHARES[0] and recent and room == _ROOMS[-1]:
            yield 1.0, depth_first(instance)


class ListScheduling:
    """Orders of an instance by what its operations find on chip."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.sizes = [tensor.size_bytes for tensor in instance.tensors]
        self.before = dependences(instance)
        self.after: list[list[int]] = [[] for _ in self.before]
        self.readers: list[list[int]] = [[] for _ in self.sizes]
        self.uses = [0] * len(self.sizes)
        for index, operation in enumerate(instance.operations):
            for earlier in self.before[index]:
                self.after[earlier].append(index)
            for tensor in set(operation.reads):
                self.readers[tensor].append(index)
            for tensor in {*operation.reads, *operation.writes}:
                self.uses[tensor] += 1

    def order(self, room_bytes: int, share: float, *, recent: bool = False) -> Ints:
        """Return (n,) operations, each the one that then has the least to load.

        Parameters
        ----------
        room_bytes
            What is on chip at a time: what was used last, whole tensors.
        share
            Of what an operation frees, less what it produces: taken off what it must load.
        recent
            Of equals take what became ready last, else what is listed first.
        """
        return _Walk(self, room_bytes, share, recent=recent).order()


class _Walk:
    """One pass over the operations, with what is on chip and what is ready."""

    def __init__(self, of: ListScheduling, room_bytes: int, share: float, *, recent: bool) -> None:
        self.of, self.room_bytes, self.share, self.recent = of, room_bytes, share, recent
        self.uses, self.waits = list(of.uses), [len(each) for each in of.before]
        operations = of.instance.operations
        self.missing = [sum(of.sizes[t] for t in set(each.reads)) for each in operations]
        self.held, self.held_bytes = OrderedDict[int, None](), 0
        self.ready, self.since = set[int](), [0] * len(operations)
        self.heap: list[tuple[float, int, int, int]] = []
        self.version = [0] * len(operations)

    def order(self) -> Ints:
        found: list[int] = []
        for index, count in enumerate(self.waits):
            if not count:
                self._make_ready(index, 0)
        while self.heap:
            *_, index, version = heappop(self.heap)
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
        """Put an operation in the queue at what it costs now; older entries count no more."""
        self.version[index] += 1
        operation, sizes = self.of.instance.operations[index], self.of.sizes
        used = {*operation.reads, *operation.writes}
        freed = sum(sizes[t] for t in used if self.uses[t] == 1)
        freed -= sum(sizes[t] for t in operation.writes)
        cost = self.missing[index] - self.share * freed
        tie = -self.since[index] if self.recent else index
        heappush(self.heap, (cost, tie, index, self.version[index]))

    def _run(self, index: int) -> None:
        """Bring the operands on chip, drop what has no further use, and what was used long ago."""
        operation = self.of.instance.operations[index]
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
