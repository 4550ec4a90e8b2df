"""Random legal residency plans, and schedules of them with scattered pages and shuffled queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import (
    Command,
    Placements,
    Residency,
    ResidencyPlan,
    Schedule,
    Steps,
    Stores,
)
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, timeline
from tests.strategies import random_problem


def random_case(
    seed: int, free_order: bool = False, **features: Any
) -> tuple[Problem, ResidencyPlan]:
    """A small problem and a legal plan for it, of the problem's order unless ``free_order``."""
    problem = random_problem(seed, **features)
    generator = np.random.default_rng(seed + 1_000_003)
    return problem, random_residency_plan(problem, generator, free_order)


def random_schedule(
    seed: int, free_order: bool = False, **features: Any
) -> tuple[Problem, Schedule]:
    """As :func:`random_case`, assembled; half of them scattered and shuffled."""
    problem, residency_plan = random_case(seed, free_order, **features)
    schedule = assemble(problem, residency_plan)
    if seed % 2:
        schedule = scatter(problem, schedule, np.random.default_rng(seed))
    return problem, schedule


def rich_schedule(
    seed: int, *, max_operations: int = 9, max_tensors: int = 6
) -> tuple[Problem, Schedule]:
    """A schedule with everything that the format knows, every third one in another order."""
    return random_schedule(
        seed,
        free_order=seed % 3 == 0,
        max_operations=max_operations,
        max_tensors=max_tensors,
        max_mappings=2,
        duplex=True,
        setup=True,
    )


def random_residency_plan(
    problem: Problem, generator: np.random.Generator, free_order: bool
) -> ResidencyPlan:
    """Walk through the steps: keep what must be kept, and of the rest whatever fits."""
    order = _random_order(problem, generator, free_order)
    mappings = [len(problem.operations[index].mappings) for index in order.tolist()]
    steps = Steps(operation=order, mapping=generator.integers(0, mappings))
    walk = _Walk(problem, timeline(problem, steps), generator)
    for step in range(order.size):
        walk.advance(step)
    return ResidencyPlan(steps=steps, residency=walk.residency(), stores=walk.stores())


def scatter(problem: Problem, schedule: Schedule, generator: np.random.Generator) -> Schedule:
    """The same schedule with its pages spread over the SPM and its queues shuffled."""
    table, pages = schedule.placements, schedule.placements.pages
    row = np.repeat(np.arange(len(table)), pages)
    offset = np.arange(row.size) - np.repeat(np.cumsum(pages) - pages, pages)
    address = generator.permutation(problem.machine.spm_pages)
    placements = Placements(
        tensor=table.tensor[row],
        tensor_page=table.tensor_page[row] + offset,
        pages=np.ones_like(row),
        spm_page=address[table.spm_page[row] + offset],
        begin=table.begin[row],
        end=table.end[row],
    )
    commands = schedule.commands
    shuffled = np.lexsort(
        (generator.random(len(commands)), _turn(problem, schedule), commands.step)
    )
    return Schedule(
        steps=schedule.steps,
        residency=schedule.residency,
        commands=commands.take(shuffled),
        placements=placements,
    )


def _turn(problem: Problem, schedule: Schedule) -> Ints:
    """Place of each command in its step's queue (R10), written out command by command."""
    turns, commands = [], schedule.commands
    for step, kind, tensor in zip(
        commands.step.tolist(), commands.kind.tolist(), commands.tensor.tolist(), strict=True
    ):
        operation = problem.operations[int(schedule.steps.operation[step])]
        mapping = operation.mappings[int(schedule.steps.mapping[step])]
        operands = dict(zip(operation.tensors, mapping.operands, strict=True))
        firm = tensor in operands and operands[tensor].required_resident
        first = firm and kind == Command.LOAD and tensor in operation.reads
        last = firm and kind == Command.STORE and tensor in operation.writes
        turns.append(int(last) - int(first))
    return np.array(turns, np.int64)


def _random_order(problem: Problem, generator: np.random.Generator, free: bool) -> Ints:
    left = list(range(len(problem.operations)))
    order: list[int] = []
    while left:
        ready = [i for i in left if not set(problem.operations[i].predecessors) & set(left)]
        order.append(ready[int(generator.integers(len(ready)))] if free else ready[0])
        left.remove(order[-1])
    return np.array(order, np.int64)


@dataclass
class _Walk:
    """State while walking: resident and valid bytes of every tensor."""

    problem: Problem
    line: Timeline
    generator: np.random.Generator
    rows: list[tuple[int, int, int]] = field(default_factory=list)
    stored: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        line = self.line
        self.size: list[int] = line.size_bytes.tolist()
        self.resident = [0] * len(self.size)
        self.valid = [s if there else 0 for s, there in zip(self.size, line.in_dram, strict=True)]
        self.live: list[bool] = line.live_before.tolist()
        self.eager = float(self.generator.random())

    def advance(self, step: int) -> None:
        """Choose residency, then stores, so that the next step has a choice."""
        self._choose_residency(step)
        self.rows += [(t, step, r) for t, r in enumerate(self.resident) if r]
        line, last = self.line, step == self.line.steps - 1
        for access in range(line.first[step], line.first[step + 1]):
            tensor = int(line.tensor[access])
            self.live[tensor] = bool(line.live_after[access])
            if line.kind[access] != Access.READ:
                streamed = self.size[tensor] - self.resident[tensor]
                self.valid[tensor] = streamed if self.live[tensor] else 0
        for tensor in range(len(self.size)):
            dirty = self._dirty(tensor)
            if last and self.line.keep[tensor]:
                self._store(step, tensor, dirty)
            elif dirty and self.generator.random() < 0.3:
                self._store(step, tensor, int(self.generator.integers(1, dirty + 1)))
        dirty_ones = [t for t in range(len(self.size)) if self._dirty(t)]
        while not last and sum(self._pages(step + 1, self._least(step + 1))) > self._room(step + 1):
            tensor = dirty_ones.pop(int(self.generator.integers(len(dirty_ones))))
            self._store(step, tensor, self._dirty(tensor))

    def residency(self) -> Residency:
        """Rows, merged where a size stays."""
        merged: list[list[int]] = []
        for tensor, step, size in sorted(self.rows):
            if merged and merged[-1][0] == tensor and merged[-1][2:] == [step, size]:
                merged[-1][2] = step + 1
            else:
                merged.append([tensor, step, step + 1, size])
        return Residency.of_rows(merged)

    def stores(self) -> Stores:
        """One row per step and tensor."""
        total: dict[tuple[int, int], int] = {}
        for step, tensor, size in self.stored:
            total[step, tensor] = total.get((step, tensor), 0) + size
        return Stores.of_rows([(*key, size) for key, size in sorted(total.items())])

    def _choose_residency(self, step: int) -> None:
        page = self.problem.machine.page_bytes
        chosen = self._least(step)
        blind = self._touched(step, Access.WRITE)
        for tensor in self.generator.permutation(len(self.size)).tolist():
            if self.generator.random() > self.eager:
                continue
            used = sum(self._pages(step, chosen)) - -(-chosen[tensor] // page)
            size = min(self.size[tensor], page * (self._room(step) - used))
            if size < self.size[tensor]:
                size -= size % page
            if self.generator.random() < 0.4:
                size = page * int(self.generator.integers(0, size // page + 1))
            can_load = self.valid[tensor] >= self.size[tensor] - self.resident[tensor]
            if tensor not in blind and not can_load:
                size = min(size, self.resident[tensor])
            chosen[tensor] = max(chosen[tensor], size)
        self.resident = chosen

    def _store(self, step: int, tensor: int, size: int) -> None:
        if size:
            self.stored.append((step, tensor, size))
            self.valid[tensor] += size

    def _dirty(self, tensor: int) -> int:
        """Bytes that DRAM lacks, if they can be stored now."""
        missing = self.size[tensor] - self.valid[tensor]
        return missing if self.live[tensor] and missing <= self.resident[tensor] else 0

    def _touched(self, step: int, kind: Access) -> set[int]:
        here = slice(self.line.first[step], self.line.first[step + 1])
        return set(self.line.tensor[here][self.line.kind[here] == kind].tolist())

    def _least(self, step: int) -> list[int]:
        """Bytes that must be resident: dirty ones, up to a page, and required-resident operands."""
        page, blind = self.problem.machine.page_bytes, self._touched(step, Access.WRITE)
        least = [0] * len(self.size)
        for tensor, size in enumerate(self.size):
            if self.live[tensor] and tensor not in blind:
                least[tensor] = min(size, -(-(size - self.valid[tensor]) // page) * page)
        for access in range(self.line.first[step], self.line.first[step + 1]):
            if self.line.required_resident[access]:
                tensor = int(self.line.tensor[access])
                least[tensor] = self.size[tensor]
        return least

    def _pages(self, step: int, sizes: list[int]) -> list[int]:
        page = self.problem.machine.page_bytes
        return [-(-size // page) for size in sizes]

    def _room(self, step: int) -> int:
        machine = self.problem.machine
        return machine.spm_pages - -(-int(self.line.scratch_bytes[step]) // machine.page_bytes)
