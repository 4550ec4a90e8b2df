"""The least replay over all legal schedules of whole, contiguous tensors, of a tiny problem.

Written from rules R1 to R10 and from nothing else: every order that lets each operation read
its inputs in the listed one, every mapping, every set of steps in which each tensor is resident,
every store, every order of the queue and every address. The verifier is the judge: its replay is
the value, and what it finds illegal is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Commands, Placements, Residency, Schedule, Steps
from spmopt.core.table import Ints
from spmopt.verifier import verify

Row = tuple[int, ...]
BEFORE, DURING, AFTER = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Life:
    """What one tensor does: rows [begin, end), and commands (step, phase, kind, passes)."""

    rows: tuple[tuple[int, int], ...]
    commands: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A schedule without queue order and addresses; no such schedule replays below ``bound``."""

    order: tuple[int, ...]
    mappings: tuple[int, ...]
    lives: tuple[Life, ...]
    bound: int


def least_replay(problem: Problem, allowed: Sequence[tuple[int, ...]] | None = None) -> int | None:
    """Return the least ``replay_cycles`` of the class, or None if no schedule of it is legal.

    ``allowed``: the orders to try, by default all.
    """
    best: int | None = None
    drafts = _drafts(problem, orders(problem) if allowed is None else allowed)
    for draft in sorted(drafts, key=lambda draft: draft.bound):
        if best is not None and draft.bound >= best:
            break
        for schedule in _schedules(problem, draft):
            report = verify(problem, schedule)
            if report.legal and report.totals is not None:
                cycles = report.totals.replay_cycles
                best = cycles if best is None else min(best, cycles)
                if best == draft.bound:
                    break
    return best


def orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Orders that keep predecessors, what every operation reads, and the rest at the end."""
    count = len(problem.operations)
    listed = _history(problem, tuple(range(count)))
    for order in permutations(range(count)):
        place = {operation: step for step, operation in enumerate(order)}
        legal = all(
            place[before] < place[index]
            for index, operation in enumerate(problem.operations)
            for before in operation.predecessors
        )
        if legal and _history(problem, order) == listed:
            yield order


def _history(problem: Problem, order: Sequence[int]) -> tuple[object, ...]:
    """Which write each operation reads, and the writes of every tensor in turn."""
    writes: list[list[int]] = [[-1] for _ in problem.tensors]
    read = {}
    for index in order:
        operation = problem.operations[index]
        read[index] = [writes[tensor][-1] for tensor in operation.reads]
        for tensor in operation.writes:
            writes[tensor].append(index)
    return read, writes


def _drafts(problem: Problem, allowed: Iterable[tuple[int, ...]]) -> Iterator[Draft]:
    for order in allowed:
        choices = [range(len(problem.operations[index].mappings)) for index in order]
        for mappings in product(*choices):
            running = [
                problem.operations[i].mappings[m] for i, m in zip(order, mappings, strict=True)
            ]
            lives = [
                list(_lives(problem, order, running, tensor))
                for tensor in range(len(problem.tensors))
            ]
            for chosen in product(*lives):
                if _fits(problem, running, chosen):
                    bound = _bound(problem, running, chosen)
                    yield Draft(order=order, mappings=mappings, lives=chosen, bound=bound)


def _lives(
    problem: Problem, order: Sequence[int], running: Sequence[OpMapping], tensor: int
) -> Iterator[Life]:
    """Every way of one tensor through the steps: resident or not, stored or not, in each."""
    count, run = len(order), _Run(problem=problem, order=order, running=running)
    for resident in product((False, True), repeat=count):
        for stored in product((False, True), repeat=count):
            commands = _follow(run, tensor, resident, stored)
            if commands is not None:
                edges = [
                    step
                    for step in range(count + 1)
                    if (step < count and resident[step]) != (step > 0 and resident[step - 1])
                ]
                rows = tuple(zip(edges[::2], edges[1::2], strict=True))
                yield Life(rows=rows, commands=tuple(commands))


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A problem in one order and mapping of each step."""

    problem: Problem
    order: Sequence[int]
    running: Sequence[OpMapping]

    def operand(self, step: int, tensor: int) -> Operand:
        """How the step uses the tensor; one pass if it does not."""
        tensors = self.problem.operations[self.order[step]].tensors
        if tensor not in tensors:
            return Operand()
        return self.running[step].operands[tensors.index(tensor)]


def _follow(
    run: _Run, tensor: int, resident: Sequence[bool], stored: Sequence[bool]
) -> list[tuple[int, int, int, int]] | None:
    """Commands of a tensor (R2 to R5, R7), or None if something is lost or not there."""
    problem, order = run.problem, run.order
    in_dram = problem.tensors[tensor].in_dram
    commands: list[tuple[int, int, int, int]] = []
    for step, index in enumerate(order):
        operation, operand = problem.operations[index], run.operand(step, tensor)
        read, written = tensor in operation.reads, tensor in operation.writes
        held, holds = step > 0 and resident[step - 1], resident[step]
        live = _live(problem, order, step + 1, tensor)
        loads = holds and not held and (read or not written)
        leaves = not holds and _live(problem, order, step, tensor)
        if (operand.required_resident and not holds) or ((loads or leaves) and not in_dram):
            return None
        if loads:
            first = operand.required_resident and read
            commands.append((step, BEFORE if first else DURING, Command.LOAD, 1))
        if not holds:
            fetches = operand.fetches
            inward = fetches if read else fetches - 1 if written and live else 0
            commands += [(step, DURING, Command.STREAM_IN, inward)] * (inward > 0)
            commands += [(step, DURING, Command.STREAM_OUT, fetches)] * (written and live)
        if written:
            in_dram = not holds and live
        if stored[step]:
            if in_dram or not holds:
                return None
            in_dram = True
            phase = AFTER if operand.required_resident and written else DURING
            commands.append((step, phase, Command.STORE, 1))
    return None if problem.tensors[tensor].keep and not in_dram else commands


def _live(problem: Problem, order: Sequence[int], step: int, tensor: int) -> bool:
    """Whether the contents before ``step`` are read before they are overwritten, or kept."""
    for index in order[step:]:
        if tensor in problem.operations[index].reads:
            return True
        if tensor in problem.operations[index].writes:
            return False
    return problem.tensors[tensor].keep


def _pages(problem: Problem, size_bytes: int) -> int:
    return -(-size_bytes // problem.machine.page_bytes)


def _fits(problem: Problem, running: Sequence[OpMapping], lives: Sequence[Life]) -> bool:
    """R1, to leave early what the verifier would find."""
    used = [_pages(problem, mapping.scratch_bytes) for mapping in running]
    for tensor, life in enumerate(lives):
        for begin, end in life.rows:
            for step in range(begin, end):
                used[step] += _pages(problem, problem.tensors[tensor].size_bytes)
    return max(used) <= problem.machine.spm_pages


def _bound(problem: Problem, running: Sequence[OpMapping], lives: Sequence[Life]) -> int:
    """Computation, and each channel's commands, take their time one after the other."""
    machine = problem.machine
    channels = [0, 0]
    for tensor, life in enumerate(lives):
        size = problem.tensors[tensor].size_bytes
        for _, _, kind, fetches in life.commands:
            outward = machine.duplex and kind in (Command.STORE, Command.STREAM_OUT)
            moved = -(-size * fetches * machine.clock_hz // machine.dram_bytes_per_s)
            channels[outward] += machine.dma_setup_cycles + moved
    return max(sum(mapping.compute_cycles for mapping in running), *channels)


def _schedules(problem: Problem, draft: Draft) -> Iterator[Schedule]:
    """Every queue order and all addresses."""
    residency = [
        (tensor, begin, end, problem.tensors[tensor].size_bytes)
        for tensor, life in enumerate(draft.lives)
        for begin, end in life.rows
    ]
    steps = Steps(operation=_ints(draft.order), mapping=_ints(draft.mappings))
    rows = Residency(**_columns(("tensor", "begin", "end", "size_bytes"), residency))
    queues = [Commands(**queue) for queue in _queues(problem, draft)]
    for placements in _addresses(problem, draft, residency):
        for commands in queues:
            yield Schedule(steps=steps, residency=rows, commands=commands, placements=placements)


def _queues(problem: Problem, draft: Draft) -> Iterator[dict[str, Ints]]:
    groups: dict[tuple[int, int], list[Row]] = {}
    for tensor, life in enumerate(draft.lives):
        size = problem.tensors[tensor].size_bytes
        for step, phase, kind, fetches in life.commands:
            row = (step, int(kind), tensor, 0, size, fetches)
            groups.setdefault((step, phase), []).append(row)
    for parts in product(*(permutations(groups[key]) for key in sorted(groups))):
        names = ("step", "kind", "tensor", "begin", "end", "fetches")
        yield _columns(names, [row for part in parts for row in part])


def _addresses(problem: Problem, draft: Draft, residency: Sequence[Row]) -> Iterator[Placements]:
    scratch = [
        (-1, step, step + 1, problem.operations[index].mappings[mapping].scratch_bytes)
        for step, (index, mapping) in enumerate(zip(draft.order, draft.mappings, strict=True))
    ]
    occupants = [row for row in (*residency, *scratch) if row[3]]
    pages = [_pages(problem, row[3]) for row in occupants]
    room = problem.machine.spm_pages
    for places in product(*(range(room - count + 1) for count in pages)):
        spans = [
            (begin, end, place, place + count)
            for (_, begin, end, _), count, place in zip(occupants, pages, places, strict=True)
        ]
        if any(_meet(one, spans[other]) for k, one in enumerate(spans) for other in range(k)):
            continue
        table = [
            (tensor, 0, count, place, begin, end)
            for (tensor, begin, end, _), count, place in zip(occupants, pages, places, strict=True)
        ]
        names = ("tensor", "tensor_page", "pages", "spm_page", "begin", "end")
        yield Placements(**_columns(names, table))


def _meet(one: Row, other: Row) -> bool:
    """Whether two occupants (begin, end, low, high) share a page in a step."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def _columns(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Ints]:
    table = np.array(rows, np.int64).reshape(-1, len(names))
    return {name: table[:, column] for column, name in enumerate(names)}
