"""The constraint program of a window: variables, and small helpers for conditional rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import networkx
from ortools.sat.python import cp_model

from spmopt.core.window import StepWindow, WindowOperand, WindowTensor

Literal: TypeAlias = cp_model.BoolVarT
Number: TypeAlias = cp_model.LinearExpr | int
_FINE = 1000
"""Units of time in a page's transfer, about: rounding them up costs a thousandth."""
_FINEST = 64
"""Units of time in a cycle, at most."""


class WindowProgram:
    """Variables of a window; ``p`` counts steps, ``t`` tensors, ``o`` the window's own operations.

    Attributes
    ----------
    unit
        Units of time in a cycle.
    runs
        ``runs[o][p][m]``: o runs in step p, in mapping m. ``done[o][p]``: it runs before step p.
    held, valid, stored
        Pages resident in step p (from -1 on), valid in DRAM before it, stored in it.
    """

    def __init__(self, window: StepWindow) -> None:
        self.window, self.cp = window, cp_model.CpModel()
        self.true = self.cp.new_constant(1)
        cycles, pages = window.page_cycles
        self.unit = 1
        # Page transfers are no whole cycles: finer units keep the rounding small.
        while self.unit < _FINEST and self.unit * cycles < _FINE * pages:
            self.unit *= 2
        # Rounded up, so that no schedule is promised too short a time.
        self.page_time = -(-self.unit * cycles // pages)
        self.setup = self.unit * window.setup_cycles
        self.horizon = self._horizon()
        self.places = self._places()
        self.runs = [self._runs(operation) for operation in range(window.steps)]
        self.done = [self._finish(operation) for operation in range(window.steps)]
        self._uses: dict[tuple[int, int], list[tuple[Literal, WindowOperand]]] = {}
        for step in range(self.steps):
            for literal, operation, mapping in self.options(step):
                for use in window.operations[operation][mapping].operands:
                    self._uses.setdefault((step, use.tensor), []).append((literal, use))
        self.versions = [[*versions(window, tensor)] for tensor in range(len(window.tensors))]
        self.held = [self._hold(tensor) for tensor in range(len(window.tensors))]
        self.stored = [self._store(tensor) for tensor in range(len(window.tensors))]
        self._loads: dict[tuple[int, int], tuple[Number, Literal]] = {}
        self._stores: dict[tuple[int, int], Literal] = {}
        self.valid: list[dict[int, Number]] = [{0: each.valid} for each in window.tensors]

    @property
    def steps(self) -> int:
        """Steps of the window and its tail."""
        return len(self.window.operations)

    def integer(self, most: int) -> cp_model.IntVar:
        """A new integer variable, from 0 on."""
        return self.cp.new_int_var(0, most, "")

    def time(self) -> cp_model.IntVar:
        """A new time."""
        return self.integer(self.horizon)

    def when(self, row: cp_model.BoundedLinearExpression | bool, *literals: Literal) -> None:
        """Add a row that holds where all ``literals`` do."""
        asked = [literal for literal in literals if literal.index != self.true.index]
        if isinstance(row, bool) or any(literal.index == self.false.index for literal in asked):
            return  # of constants, which are always true; or never asked for
        if asked:
            self.cp.add(row).only_enforce_if(*asked)
        else:
            self.cp.add(row)

    @property
    def false(self) -> Literal:
        """The literal that never holds."""
        return ~self.true

    def any(self, literals: Sequence[Literal]) -> Literal:
        """Return a literal that holds where one of ``literals``, which exclude each other, does."""
        if not literals:
            return self.false
        if len(literals) == 1:
            return literals[0]
        found = self.cp.new_bool_var("")
        self.cp.add(sum(literals) == found)
        return found

    def some(self, amount: Number, most: int) -> Literal:
        """Return a literal that holds where an amount is more than nothing."""
        if isinstance(amount, int):
            return self.true if amount else self.false
        found = self.cp.new_bool_var("")
        # One direction is enough: where the literal need not hold, minimizing leaves it out.
        self.cp.add(amount <= most * found)
        return found

    def options(self, step: int) -> list[tuple[Literal, int, int]]:
        """Return candidates for a step: a literal, the operation (own or tail), its mapping."""
        if step >= self.window.steps:
            return [(self.true, step, self.window.mapping[step])]
        return [
            (self.runs[operation][step][mapping], operation, mapping)
            for operation in range(self.window.steps)
            if step in self.places[operation]
            for mapping in range(len(self.window.operations[operation]))
        ]

    def uses(self, step: int, tensor: int) -> list[tuple[Literal, WindowOperand]]:
        """Return how a step may use a tensor."""
        return self._uses.get((step, tensor), [])

    def writing(self, step: int, tensor: int) -> list[Literal]:
        """Return literals of operations that may write a tensor in a step."""
        return [literal for literal, use in self.uses(step, tensor) if use.writes]

    def spare(self, step: int) -> Number:
        """Return the pages that are free while a step runs."""
        scratch = [
            self.window.operations[operation][mapping].scratch_pages * literal
            for literal, operation, mapping in self.options(step)
        ]
        return self.window.spm_pages - sum(scratch) - sum(held[step] for held in self.held)

    def alive(self, step: int, tensor: int) -> bool:
        """Whether a tensor's contents may be needed at the start of one of the window's steps."""
        return any(
            (version.writer < 0 or self.places[version.writer].start < step)
            and (version.survives or any(self.places[o].stop > step for o in version.readers))
            for version in self.versions[tensor]
        )

    def stores(self, step: int, tensor: int) -> Literal:
        """Return the literal that some of a tensor is stored in a step."""
        if (step, tensor) not in self._stores:
            pages, most = self.stored[tensor][step], self.window.tensors[tensor].pages
            self._stores[step, tensor] = self.some(pages, most)
        return self._stores[step, tensor]

    def load(self, step: int, tensor: int) -> tuple[Number, Literal]:
        """Return the pages that a step loads, and whether it does (R2).

        They are those by which a tensor grows, unless it is overwritten.
        """
        if (step, tensor) not in self._loads:
            self._loads[step, tensor] = self._load(step, tensor)
        return self._loads[step, tensor]

    def _load(self, step: int, tensor: int) -> tuple[Number, Literal]:
        held, most = self.held[tensor], self.window.tensors[tensor].pages
        now, before = held[step], held[step - 1]
        blind = self.any([each for each, use in self.uses(step, tensor) if not use.reads])
        if blind.index == self.true.index or (isinstance(now, int) and not now):
            return 0, self.false
        if isinstance(now, int) and isinstance(before, int):
            grown: Number = max(0, now - before)
            return grown, self.some(grown, most)
        grown = self.integer(most)
        self.cp.add_max_equality(grown, [now - before, 0])
        if blind.index != self.false.index:
            kept, grown = grown, self.integer(most)
            self.when(grown == kept, ~blind)
            self.when(grown == 0, blind)
        some = self.some(grown, most)
        if step <= self.window.steps:
            self.when(before + self.valid[tensor][step] >= most, some)
        return grown, some

    def transfer(self, tensor: int) -> int:
        """Return the time of a page of a tensor; the last one of several may take less."""
        record = self.window.tensors[tensor]
        return self._time(record.size_bytes) if record.pages == 1 else self.page_time

    def stream(self, step: int, tensor: int, *, outward: bool) -> tuple[Number, Literal]:
        """Return the time that a tensor is streamed in a step, and whether it is (R3, R4)."""
        record, held = self.window.tensors[tensor], self.held[tensor][step]
        page = self.transfer(tensor)
        last = record.pages * page - self._time(record.size_bytes)
        times = [(literal, _crossings(use, outward)) for literal, use in self.uses(step, tensor)]
        times = [(literal, crossings) for literal, crossings in times if crossings]
        if not times:
            return 0, self.false
        missing = self.some(record.pages - held, record.pages)
        self.when(record.pages - held >= 1, missing)  # or its last page would take time off
        once = page * (record.pages - held) - last * missing
        if len(times) == 1 and times[0][0].index == self.true.index:
            return times[0][1] * once, missing
        most = max(crossings for _, crossings in times) * page * record.pages
        total = self.integer(most)
        for literal, crossings in times:
            self.when(total == crossings * once, literal)
        self.when(total == 0, ~self.any([literal for literal, _ in times]))
        return total, self.some(total, most)

    def _time(self, size_bytes: int) -> int:
        cycles, pages = self.window.page_cycles
        return -(-self.unit * size_bytes * cycles // (pages * self.window.page_bytes))

    def _horizon(self) -> int:
        """All of it one after the other, with each operand in and out."""
        window = self.window
        total = max(window.free) + sum(
            max(mapping.cycles for mapping in mappings) for mappings in window.operations
        )
        total += max((max(each.arrived, each.left) for each in window.tensors), default=0)
        moved = sum(
            2 * operand.fetches * window.tensors[operand.tensor].pages
            for mappings in window.operations
            for mapping in mappings
            for operand in mapping.operands
        ) + sum(each.pages for each in window.tensors) * (2 + self.steps)
        commands = self.steps * len(window.tensors) * 4
        return self.unit * total + moved * self.page_time + commands * self.setup

    def _places(self) -> list[range]:
        """Return the steps in which each own operation may run."""
        graph = networkx.DiGraph(self.window.before)
        graph.add_nodes_from(range(self.window.steps))
        order = networkx.transitive_closure_dag(graph)
        ahead, behind = dict(order.in_degree), dict(order.out_degree)
        return [
            range(ahead[operation], self.window.steps - behind[operation])
            for operation in range(self.window.steps)
        ]

    def _runs(self, operation: int) -> list[list[Literal]]:
        mappings, places = len(self.window.operations[operation]), self.places[operation]
        free = mappings > 1 or len(places) > 1
        found = [
            [
                (self.cp.new_bool_var("") if free else self.true) if step in places else self.false
                for _ in range(mappings)
            ]
            for step in range(self.window.steps)
        ]
        if free:
            self.cp.add_exactly_one(literal for step in places for literal in found[step])
            for step in places:
                for mapping, literal in enumerate(found[step]):
                    now = step == operation and mapping == self.window.mapping[operation]
                    self.cp.add_hint(literal, now)
        return found

    def _finish(self, operation: int) -> list[Literal]:
        """Of each step up to the window's last, and the one after it."""
        places, found = self.places[operation], list[Literal]()
        for step in range(self.window.steps + 1):
            if step <= places.start:
                found.append(self.false)
            elif step >= places.stop:
                found.append(self.true)
            else:
                earlier = [
                    each for p in range(step) if p in places for each in self.runs[operation][p]
                ]
                found.append(self.any(earlier))
        return found

    def _hold(self, tensor: int) -> dict[int, Number]:
        record = self.window.tensors[tensor]
        held: dict[int, Number] = {step - 1: pages for step, pages in enumerate(record.held)}
        for step in range(self.window.steps):
            # Dead contents are never resident: they would only take room.
            needed = self.uses(step, tensor) or self.alive(step, tensor)
            held[step] = self._now_held(record, step) if needed else 0
        return held

    def _now_held(self, record: WindowTensor, step: int) -> Number:
        if not self.window.whole:
            return self._near(record.held[step + 1], record.pages)
        here = self.cp.new_bool_var("")
        self.cp.add_hint(here, record.held[step + 1] == record.pages)
        return record.pages * here

    def _store(self, tensor: int) -> dict[int, Number]:
        record = self.window.tensors[tensor]
        stored: dict[int, Number] = dict(enumerate(record.stored))
        for step in range(self.window.steps):
            needed = self.alive(step + 1, tensor)
            stored[step] = self._near(record.stored[step], record.pages) if needed else 0
        return stored

    def _near(self, pages: int, most: int) -> cp_model.IntVar:
        """Return a new number of pages, which is tried near that of now."""
        found = self.integer(most)
        self.cp.add_hint(found, pages)
        return found


def _crossings(use: WindowOperand, outward: bool) -> int:
    """How often non-resident bytes cross the boundary of DRAM."""
    if use.required_resident:
        return 0
    if outward:
        return use.fetches if use.writes and use.needed else 0
    if use.reads:
        return use.fetches
    return use.fetches - 1 if use.needed else 0


@dataclass(frozen=True, slots=True)
class Version:
    """Contents that a window's operations need.

    ``writer``: the operation that writes them, -1 if they were there before. ``readers``, and
    whether the contents ``survive``: something after the window needs them.
    """

    writer: int
    readers: tuple[int, ...]
    survives: bool


def versions(window: StepWindow, tensor: int) -> Iterator[Version]:
    """Yield the contents of a tensor that are of use. All mappings touch the same tensors."""
    record = window.tensors[tensor]
    writer, readers, needed = -1, list[int](), record.live
    # Dependences order every write against all uses, so that the listed order tells the versions.
    for operation, mappings in enumerate(window.operations[: window.steps]):
        for use in mappings[0].operands:
            if use.tensor != tensor:
                continue
            if use.reads:
                readers.append(operation)
            if use.writes:
                # Contents that none reads are no version: nothing depends on them.
                if needed and readers:
                    yield Version(writer, tuple(readers), survives=False)
                writer, readers, needed = operation, [], True
    if needed and (readers or record.due is not None):
        yield Version(writer, tuple(readers), survives=record.due is not None)
