"""Effects of a step on each tensor, as tables: cycles and dual values of every change of residency.

All in integers; costs are the objective times :attr:`Layout.scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints

LARGEST = 2**40
"""Of a schedule that moves everything at each use, in units of cost: duals have room beside."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MappingFacts:
    """A step in one of its mappings; arrays over tensors, and over pages before and in the step.

    Attributes
    ----------
    index
        Of the mapping in its operation.
    compute_cycles, scratch_pages, fixed
        ``c``, the pages of ``b``, and costs that do not depend on residency.
    into, out : (m, k, k)
        Cycles of streams, and of loads that the operation does not wait for, in each direction.
    before : (m, k, k)
        Cycles of loads that it waits for.
    dual value : (m, k, k)
        Of all these bytes.
    allowed : (m, k, k)
        Whether a tensor may go from the one number of pages to the other.
    after : (m,)
        Whether a store in this step waits for the operation's end.
    """

    index: int
    compute_cycles: int
    scratch_pages: int
    fixed: int
    into: Ints
    out: Ints
    before: Ints
    dual: Ints
    allowed: Bools
    after: Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class StepFacts:
    """A step: its mappings, and (m,) its effect on each tensor, whatever the mapping.

    ``live``: the contents before it are needed; ``live_after``: those that it leaves.
    """

    mappings: tuple[MappingFacts, ...]
    used: Bools
    written: Bools
    live: Bools
    live_after: Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Sizes and rates.

    Attributes
    ----------
    tensor : (m,)
        Those that operations use, as the problem counts them.
    size : (m, k)
        Bytes of the first so many pages of each.
    whole, pages : (m,)
        Bytes and pages of all of each.
    page
        Bytes of a page.
    capacity
        Pages of the scratchpad.
    rate, per
        Bytes that the channel moves in so many cycles, without a common divisor.
    setup
        Cycles of a command's set-up.
    scale, cycle, in_byte, out_byte
        Units of cost of one of the objective; cost of a cycle and of a byte moved.
    """

    tensor: Ints
    size: Ints
    whole: Ints
    pages: Ints
    page: int
    capacity: int
    rate: int
    per: int
    setup: int
    duplex: bool
    scale: int
    cycle: int
    in_byte: int
    out_byte: int

    def cycles(self, size: Ints) -> Ints:
        """Return the cycles of commands of so many bytes; none for nothing."""
        busy = -(-size * self.per // self.rate)
        result: Ints = np.where(size > 0, busy + self.setup, 0)
        return result

    def pages_filled(self, size: Ints, tensor: int) -> Ints:
        """Return how many pages so many bytes of a tensor fill; its last one may be shorter."""
        full = size == self.whole[tensor]
        result: Ints = np.where(full, self.pages[tensor], size // self.page)
        return result

    def pages_held(self, size: Ints) -> Ints:
        """Return how many pages so many bytes need."""
        return -(-size // self.page)


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """A problem in its own order."""

    layout: Layout
    steps: tuple[StepFacts, ...]


def facts(problem: Problem, objective: Objective) -> Facts | None:
    """Lay out a problem; None where its figures are too large to be summed up with dual values."""
    layout = _layout(problem, objective)
    if layout is None:
        return None
    place = {int(tensor): row for row, tensor in enumerate(layout.tensor)}
    live = np.array([problem.tensors[t].keep for t in layout.tensor], bool)
    steps = list[StepFacts]()
    for operation in reversed(problem.operations):
        used, written, read = (
            np.isin(layout.tensor, names)
            for names in (operation.tensors, operation.writes, operation.reads)
        )
        live_after, live = live, np.where(used, read, live)
        role = _Role(layout, objective, place, operation, read, written, live, live_after)
        mappings = tuple(
            role.mapping(index, mapping) for index, mapping in enumerate(operation.mappings)
        )
        steps.append(
            StepFacts(
                mappings=tuple(mapping for mapping in mappings if mapping is not None),
                used=used,
                written=written,
                live=live,
                live_after=live_after,
            )
        )
    return Facts(layout=layout, steps=tuple(reversed(steps)))


def _layout(problem: Problem, objective: Objective) -> Layout | None:
    machine, rate = problem.machine, problem.machine.bytes_per_cycle
    used = sorted({t for operation in problem.operations for t in operation.tensors})
    # All costs become whole numbers: no rounding in comparisons.
    scale = lcm(*(weight.denominator for weight in objective.weights))
    weights = (objective.cycle, objective.dram_in_byte, objective.dram_out_byte)
    costs = [int(weight * scale) for weight in weights]
    if not used or _most(problem, costs) > LARGEST:
        return None
    sizes = np.array([problem.tensors[t].size_bytes for t in used], np.int64)
    pages: Ints = -(-sizes // machine.page_bytes)
    held = np.arange(min(int(pages.max()), machine.spm_pages) + 1)
    return Layout(
        tensor=np.array(used, np.int64),
        size=np.minimum(held * machine.page_bytes, sizes[:, None]),
        whole=sizes,
        pages=pages,
        page=machine.page_bytes,
        capacity=machine.spm_pages,
        rate=rate.numerator,
        per=rate.denominator,
        setup=machine.dma_setup_cycles,
        duplex=machine.duplex,
        scale=scale,
        cycle=costs[0],
        in_byte=costs[1],
        out_byte=costs[2],
    )


def _most(problem: Problem, costs: list[int]) -> int:
    """Return more than any schedule costs that search or dual values look at."""
    table, rate = problem.operands, problem.machine.bytes_per_cycle
    moved = 4 * table.most_moved([tensor.size_bytes for tensor in problem.tensors])
    commands = 4 * table.tensor.size + 2 * len(problem.tensors)
    cycles = table.most_figures()["compute_cycles"] + moved * rate.denominator // rate.numerator
    cycles += commands * (problem.machine.dma_setup_cycles + 1)
    return costs[0] * cycles + (costs[1] + costs[2]) * moved


@dataclass(frozen=True, eq=False)
class _Role:
    """Effects of a step on tensors (m,)."""

    layout: Layout
    objective: Objective
    place: dict[int, int]
    operation: Operation
    read: Bools
    written: Bools
    live: Bools
    live_after: Bools

    def mapping(self, index: int, mapping: OpMapping) -> MappingFacts | None:
        """Return the tables of a mapping; None where it does not fit the scratchpad."""
        layout, count = self.layout, self.layout.size.shape
        scratch = -(-mapping.scratch_bytes // layout.page)
        operands = dict(
            zip((self.place[t] for t in self.operation.tensors), mapping.operands, strict=True)
        )
        pinned = [row for row, operand in operands.items() if operand.required_resident]
        # R1, R3: the mapping is in no legal schedule.
        if scratch + int(layout.pages[pinned].sum()) > layout.capacity:
            return None
        shape = (count[0], count[1], count[1])
        into, out, before, dual = (np.zeros(shape, np.int64) for _ in range(4))
        allowed = np.zeros(shape, bool)
        for row in range(count[0]):
            operand = operands.get(row)
            moved = self._move(row, operand)
            load = into if operand is None or not operand.required_resident else before
            load[row] += layout.cycles(moved[0])
            into[row] += layout.cycles(moved[1])
            out[row] += layout.cycles(moved[2])
            dual[row] = layout.in_byte * (moved[0] + moved[1]) + layout.out_byte * moved[2]
            allowed[row] = self._allow(row, operand)
        return MappingFacts(
            index=index,
            compute_cycles=mapping.compute_cycles,
            scratch_pages=scratch,
            fixed=int(self.objective.of_mappings(*mapping.unchanging) * layout.scale),
            into=into,
            out=out,
            before=before,
            dual=dual,
            allowed=allowed,
            after=self.written & np.isin(np.arange(count[0]), pinned),
        )

    def _move(self, row: int, operand: Operand | None) -> tuple[Ints, Ints, Ints]:
        """Return (k, k) bytes loaded, streamed in and streamed out (R2, R3, R4)."""
        size = self.layout.size[row]
        load = np.maximum(size - size[:, None], 0)
        # R2: a blind write makes bytes resident without a load.
        if self.written[row] and not self.read[row]:
            load = np.zeros_like(load)
        if operand is None:
            return load, np.zeros_like(load), np.zeros_like(load)
        away = np.broadcast_to(self.layout.whole[row] - size, load.shape)
        result = self.written[row] and self.live_after[row]
        inward = operand.fetches if self.read[row] else operand.fetches - 1 if result else 0
        return load, inward * away, (operand.fetches if result else 0) * away

    def _allow(self, row: int, operand: Operand | None) -> Bools:
        """Return (k, k) whether so many pages may follow so many.

        Moves that cannot pay are left out.
        """
        old, new = np.indices((self.layout.size.shape[1],) * 2)
        pages = int(self.layout.pages[row])
        least, most = np.zeros_like(old), np.full_like(old, pages)
        if operand is not None and operand.required_resident:
            least = most
        elif operand is None and not self.live[row]:
            most = least
        elif operand is not None and not self.live_after[row]:
            if not self.read[row]:
                most = least
            elif operand.fetches == 1:
                most = old  # a last use that crosses once is no cheaper from chip
        allowed: Bools = (least <= new) & (new <= np.minimum(most, pages))
        return allowed
