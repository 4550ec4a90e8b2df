"""A window cut out of a schedule, and the schedule with a decision in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from spmopt.assemble import assemble
from spmopt.assemble.addresses import allocate_in_time
from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Residency, ResidencyPlan, Schedule, Steps, Stores
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, timeline
from spmopt.core.window import (
    StepWindow,
    WindowDecision,
    WindowMapping,
    WindowOperand,
    WindowTensor,
)
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.replay import Replay, replay


def schedule_all(
    problem: Problem, residency_plan: ResidencyPlan, *, barriers: bool = False
) -> Schedule:
    """Return the schedule of a plan, without ``barriers`` where operations wait least for pages."""
    if barriers:
        return assemble(problem, residency_plan)
    line = timeline(problem, residency_plan.steps)
    return Schedule(
        steps=residency_plan.steps,
        residency=residency_plan.residency,
        commands=derive_commands(line, residency_plan),
        placements=allocate_in_time(
            problem.machine, line, residency_plan.residency, residency_plan.stores
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """A window, and the meaning of its numbers.

    ``tensors`` (t,): the window's tensors, by their index in the problem.
    """

    window: StepWindow
    first: int
    tensors: tuple[int, ...]


class WindowCutter:
    """Cuts windows out of one schedule, and puts decisions into its residency plan."""

    def __init__(
        self,
        problem: Problem,
        residency_plan: ResidencyPlan,
        schedule: Schedule,
        needed: Sequence[set[int]] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """Lay out a legal schedule; in windows tensors are ``whole``, or any pages of them.

        ``needed``: the operations that each one runs after, where the order is decided too and time
        is measured by the replay; elsewhere steps keep their order, with barriers between them.
        """
        self._problem, self._residency_plan, self._needed = problem, residency_plan, needed
        self._whole = whole
        self._view = ScheduleArrays.of(problem, schedule)
        self._replay: Replay | None = None if needed is None else replay(self._view)

    @property
    def line(self) -> Timeline:
        """The schedule's steps."""
        return self._view.timeline

    @property
    def waiting(self) -> Ints:
        """(n,) Cycles in which nothing is computed, up to the end of each step."""
        if self._replay is not None:
            passed = np.diff(self._replay.operation_end, prepend=0)
        else:
            passed = residency_plan_cost(
                self._problem.machine, self.line, self._residency_plan
            ).step_time
        waiting: Ints = passed - self.line.compute_cycles
        return waiting

    def cut(self, first: int, steps: int, tail: int) -> Cut:
        """Cut out the steps [first, first + steps), with a tail of so many where there are."""
        line = self.line
        # The tail is fixed: it shows the window the cost of its decisions to later steps.
        end = min(line.steps, first + steps + tail)
        tensors = self._tensors(first, end)
        number = {tensor: place for place, tensor in enumerate(tensors)}
        operations = line.order[first:end].tolist()
        place = {operation: step for step, operation in enumerate(operations[:steps])}
        machine, since = self._problem.machine, self._since(first)
        window = StepWindow(
            steps=min(steps, line.steps - first),
            operations=tuple(
                tuple(
                    self._mapping(first + step, mapping, number)
                    for mapping in self._of(operation).mappings
                )
                for step, operation in enumerate(operations)
            ),
            mapping=tuple(line.chosen.mapping[first:end].tolist()),
            before=tuple(self._before(place)),
            tensors=tuple(self._records(np.array(tensors, np.int64), first, steps, end)),
            spm_pages=machine.spm_pages,
            page_bytes=machine.page_bytes,
            setup_cycles=machine.dma_setup_cycles,
            page_cycles=(machine.page_bytes * machine.clock_hz, machine.dram_bytes_per_s),
            barriers=self._replay is None,
            whole=self._whole,
            free=self._free(first, since),
        )
        return Cut(window=window, first=first, tensors=tensors)

    def _before(self, place: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of a window's own steps of which the first stays before the second."""
        if self._needed is None:
            yield from pairwise(place.values())
            return
        for operation, step in place.items():
            for earlier in sorted(self._needed[operation]):
                if earlier in place:
                    yield place[earlier], step

    def _of(self, operation: int) -> Operation:
        return self._problem.operations[operation]

    def _since(self, first: int) -> int:
        """Return when the operation before a step ended."""
        if self._replay is None:
            return 0
        return int(self._replay.operation_end[first - 1]) if first else 0

    def _tensors(self, first: int, end: int) -> tuple[int, ...]:
        """Return the tensors that steps use, or that are on chip before or after them."""
        line, rows = self.line, self._residency_plan.residency
        used = line.tensor[line.first[first] : line.first[end]]
        there = rows.tensor[(rows.begin < end) & (rows.end >= first)]
        return tuple(np.unique(np.concatenate((used, there))).tolist())

    def _mapping(self, step: int, mapping: OpMapping, number: dict[int, int]) -> WindowMapping:
        """Return a mapping of a step's operation."""
        line, operation = self.line, self._of(int(self.line.order[step]))
        rows = range(int(line.first[step]), int(line.first[step + 1]))
        return WindowMapping(
            cycles=mapping.compute_cycles,
            scratch_pages=-(-mapping.scratch_bytes // self._view.page_bytes),
            operands=tuple(
                WindowOperand(
                    tensor=number[tensor],
                    reads=bool(line.kind[row] != Access.WRITE),
                    writes=bool(line.kind[row] != Access.READ),
                    fetches=operand.fetches,
                    required_resident=operand.required_resident,
                    needed=bool(line.live_after[row]),
                )
                for row, tensor, operand in zip(
                    rows, operation.tensors, mapping.operands, strict=True
                )
            ),
        )

    def _records(self, tensors: Ints, first: int, steps: int, end: int) -> Iterator[WindowTensor]:
        """Yield the state of each tensor of a window."""
        view, last = self._view, min(first + steps, end)
        # From first - 1: pages resident before the window need no load in its first step.
        size, span = self.line.size_bytes[tensors], np.arange(first - 1, end)
        held = view.resident(np.repeat(tensors, span.size), np.tile(span, tensors.size))
        held = view.pages(held.reshape(tensors.size, span.size))
        valid, due = (self._valid(tensors, np.full_like(tensors, step)) for step in (first, last))
        live, later = (view.live(tensors, np.full_like(tensors, step)) for step in (first, last))
        stored, arrived, left = self._move(tensors, first, end)
        for k in range(tensors.size):
            yield WindowTensor(
                pages=int(view.pages(size[k])),
                size_bytes=int(size[k]),
                held=tuple(held[k].tolist()),
                stored=tuple(stored[k].tolist()),
                valid=int(valid[k]),
                live=bool(live[k]),
                due=int(due[k]) if later[k] else None,
                arrived=int(arrived[k]),
                left=int(left[k]),
            )

    def _valid(self, tensor: Ints, step: Ints) -> Ints:
        """Return the whole pages, from the last on, that DRAM holds at the start of a step."""
        size = self.line.size_bytes[tensor]
        # Round the invalid part up: a page valid in part counts as invalid.
        low = self._view.pages(size - self._view.suffix.valid(tensor, step))
        result: Ints = self._view.pages(size) - low
        return result

    def _move(self, tensors: Ints, first: int, end: int) -> tuple[Ints, Ints, Ints]:
        """Return pages stored in each step, and when earlier loads and stores have ended."""
        commands = self._view.schedule.commands
        stored = np.zeros((tensors.size, end - first), np.int64)
        times = np.zeros((2, tensors.size), np.int64)
        mine = np.isin(commands.tensor, tensors)
        inside = mine & (commands.kind == Command.STORE)
        inside &= (commands.step >= first) & (commands.step < end)
        place = np.searchsorted(tensors, commands.tensor)
        moved = self._view.pages(commands.end - commands.begin)
        stored[place[inside], commands.step[inside] - first] = moved[inside]
        if self._replay is None:
            return stored, times[0], times[1]
        until, since = self._replay.command_end, self._since(first)
        # Earlier commands that still run when the window begins delay its own.
        running = mine & (commands.step < first) & (until > since)
        for kind, row in ((Command.LOAD, 0), (Command.STORE, 1)):
            some = running & (commands.kind == kind)
            np.maximum.at(times[row], place[some], until[some] - since)
        return stored, times[0], times[1]

    def _free(self, first: int, since: int) -> tuple[int, ...]:
        """Return the cycle in which each channel ends the commands of earlier steps."""
        if self._replay is None:
            return (0, 0) if self._problem.machine.duplex else (0,)
        commands, until = self._view.schedule.commands, self._replay.command_end
        outward = np.isin(commands.kind, (Command.STORE, Command.STREAM_OUT))
        earlier = commands.step < first
        channels = (~outward, outward) if self._problem.machine.duplex else (earlier,)
        return tuple(
            max(0, int(until[earlier & channel].max(initial=0)) - since) for channel in channels
        )

    def apply(self, cut: Cut, decision: WindowDecision) -> ResidencyPlan:
        """Return the residency plan with a decision in place of the window's own steps."""
        begin, end = cut.first, cut.first + len(decision.mapping)
        steps = self._residency_plan.steps
        operation, mapping = steps.operation.copy(), steps.mapping.copy()
        operation[begin:end] = operation[begin:end][list(decision.operation)]
        mapping[begin:end] = decision.mapping
        new = Steps(operation=operation, mapping=mapping)
        held = np.array(decision.held, np.int64) * self._view.page_bytes
        # The last page of a tensor may be partial; residency counts bytes.
        held = np.minimum(held, self.line.size_bytes[list(cut.tensors), None])
        return ResidencyPlan(
            steps=new,
            residency=self._residency(cut, begin, end, held),
            stores=self._stores(cut, timeline(self._problem, new), held, decision),
        )

    def _residency(self, cut: Cut, begin: int, end: int, held: Ints) -> Residency:
        rows = self._residency_plan.residency
        mine = np.isin(rows.tensor, cut.tensors)
        inside = mine & (rows.begin < end) & (rows.end > begin)
        parts = [*rows.take(~inside).rows()]
        for tensor, first, last, size in rows.take(inside).rows():
            # Intervals that cross the border of the window keep their outer parts.
            parts += [(tensor, first, begin, size)] if first < begin else []
            parts += [(tensor, end, last, size)] if last > end else []
        for tensor, sizes in zip(cut.tensors, held.tolist(), strict=True):
            parts += [(tensor, begin + k, begin + k + 1, s) for k, s in enumerate(sizes) if s]
        return Residency.of_rows([*_join(sorted(parts))])

    def _stores(self, cut: Cut, line: Timeline, held: Ints, decision: WindowDecision) -> Stores:
        """Return stores that make pages valid as decided; later ones store the rest."""
        begin, end = cut.first, cut.first + len(decision.mapping)
        rows = self._residency_plan.stores
        mine = np.isin(rows.tensor, cut.tensors)
        inside = mine & (rows.step >= begin) & (rows.step < end)
        stores = {(step, t): size for step, t, size in rows.take(~inside).rows()}
        written = _write(line, begin, end)
        page = self._view.page_bytes
        tensors = np.array(cut.tensors, np.int64)
        now, then = (
            self._view.suffix.valid(tensors, np.full_like(tensors, step)).tolist()
            for step in (begin, end)
        )
        for k, tensor in enumerate(cut.tensors):
            size, valid = int(line.size_bytes[tensor]), now[k]
            for step in range(begin, end):
                if (step, tensor) in written:
                    valid = size - int(held[k, step - begin])
                pages = -(-size // page) - decision.valid[k][step - begin]
                wanted = size - min(size, pages * page)
                if decision.stored[k][step - begin] and wanted > valid:
                    stores[step, tensor] = wanted - valid
                    valid = wanted
            self._adjust(stores, tensor, end, valid - then[k])
        return Stores.of_rows([(*key, stores[key]) for key in sorted(stores)])

    def _adjust(
        self, stores: dict[tuple[int, int], int], tensor: int, step: int, extra: int
    ) -> None:
        """Subtract bytes stored already from the stores up to the next write of a tensor.

        Bytes of a page that is not stored in full yet, ``extra`` below 0, go to the first of them.
        """
        line, rows = self.line, self._residency_plan.stores
        if not extra:
            return
        writes = line.step[(line.tensor == tensor) & (line.kind != Access.READ)]
        next_write = int(writes[writes >= step].min(initial=line.steps))
        for later in rows.step[(rows.tensor == tensor) & (rows.step >= step)].tolist():
            if later >= next_write or not extra:
                return
            # Negative extra adds bytes to the first later store, which then completes the page.
            gone = min(extra, stores[later, tensor])
            extra -= gone
            stores[later, tensor] -= gone
            if not stores[later, tensor]:
                del stores[later, tensor]


def _write(line: Timeline, begin: int, end: int) -> set[tuple[int, int]]:
    """Return the steps of a range, each with a tensor that it writes."""
    rows = slice(int(line.first[begin]), int(line.first[end]))
    writes = line.kind[rows] != Access.READ
    return set(
        zip(line.step[rows][writes].tolist(), line.tensor[rows][writes].tolist(), strict=True)
    )


def _join(rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Join sorted rows of a tensor that follow each other and are as large."""
    for _, some in groupby(rows, key=lambda row: row[0]):
        last: tuple[int, ...] | None = None
        for row in some:
            if last is not None and last[2] == row[1] and last[3] == row[3]:
                last = (last[0], last[1], row[2], row[3])
                continue
            if last is not None:
                yield last
            last = row
        if last is not None:
            yield last
