"""The least replay over all legal schedules of whole, contiguous tensors, of a tiny instance.

Written from rules R1 to R10 and from nothing else: every order that lets each operation read
what it reads in the listed one, every mode, every set of steps in which each tensor is resident,
every store, every order of the queue and every address. The verifier is the judge: its replay is
the value, and what it finds illegal is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.operation import Mode, Operand
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
    modes: tuple[int, ...]
    lives: tuple[Life, ...]
    bound: int


def least_replay(
    instance: Instance, allowed: Sequence[tuple[int, ...]] | None = None
) -> int | None:
    """Return the least ``replay_cycles`` of the class, or None if no schedule of it is legal.

    ``allowed``: the orders to try, by default all.
    """
    best: int | None = None
    drafts = _drafts(instance, orders(instance) if allowed is None else allowed)
    for draft in sorted(drafts, key=lambda draft: draft.bound):
        if best is not None and draft.bound >= best:
            break
        for schedule in _schedules(instance, draft):
            report = verify(instance, schedule)
            if report.legal and report.totals is not None:
                cycles = report.totals.replay_cycles
                best = cycles if best is None else min(best, cycles)
                if best == draft.bound:
                    break
    return best


def orders(instance: Instance) -> Iterator[tuple[int, ...]]:
    """Orders that keep predecessors, what every operation reads, and what is left at the end."""
    count = len(instance.operations)
    listed = _history(instance, tuple(range(count)))
    for order in permutations(range(count)):
        place = {operation: step for step, operation in enumerate(order)}
        legal = all(
            place[before] < place[index]
            for index, operation in enumerate(instance.operations)
            for before in operation.predecessors
        )
        if legal and _history(instance, order) == listed:
            yield order


def _history(instance: Instance, order: Sequence[int]) -> tuple[object, ...]:
    """Which write each operation reads, and the writes of every tensor in turn."""
    writes: list[list[int]] = [[-1] for _ in instance.tensors]
    read = {}
    for index in order:
        operation = instance.operations[index]
        read[index] = [writes[tensor][-1] for tensor in operation.reads]
        for tensor in operation.writes:
            writes[tensor].append(index)
    return read, writes


def _drafts(instance: Instance, allowed: Iterable[tuple[int, ...]]) -> Iterator[Draft]:
    for order in allowed:
        choices = [range(len(instance.operations[index].modes)) for index in order]
        for modes in product(*choices):
            running = [instance.operations[i].modes[m] for i, m in zip(order, modes, strict=True)]
            lives = [
                list(_lives(instance, order, running, tensor))
                for tensor in range(len(instance.tensors))
            ]
            for chosen in product(*lives):
                if _fits(instance, running, chosen):
                    bound = _bound(instance, running, chosen)
                    yield Draft(order=order, modes=modes, lives=chosen, bound=bound)


def _lives(
    instance: Instance, order: Sequence[int], running: Sequence[Mode], tensor: int
) -> Iterator[Life]:
    """Every way of one tensor through the steps: resident or not, stored or not, in each."""
    count, run = len(order), _Run(instance=instance, order=order, running=running)
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
    """An instance in one order and mode of each step."""

    instance: Instance
    order: Sequence[int]
    running: Sequence[Mode]

    def operand(self, step: int, tensor: int) -> Operand:
        """How the step uses the tensor; one pass if it does not."""
        tensors = self.instance.operations[self.order[step]].tensors
        if tensor not in tensors:
            return Operand()
        return self.running[step].operands[tensors.index(tensor)]


def _follow(
    run: _Run, tensor: int, resident: Sequence[bool], stored: Sequence[bool]
) -> list[tuple[int, int, int, int]] | None:
    """Commands of a tensor (R2 to R5, R7), or None if something is lost or not there."""
    instance, order = run.instance, run.order
    in_dram = instance.tensors[tensor].in_dram
    commands: list[tuple[int, int, int, int]] = []
    for step, index in enumerate(order):
        operation, operand = instance.operations[index], run.operand(step, tensor)
        read, written = tensor in operation.reads, tensor in operation.writes
        held, holds = step > 0 and resident[step - 1], resident[step]
        live = _live(instance, order, step + 1, tensor)
        loads = holds and not held and (read or not written)
        leaves = not holds and _live(instance, order, step, tensor)
        if (operand.stationary and not holds) or ((loads or leaves) and not in_dram):
            return None
        if loads:
            first = operand.stationary and read
            commands.append((step, BEFORE if first else DURING, Command.LOAD, 1))
        if not holds:
            passes = operand.passes
            inward = passes if read else passes - 1 if written and live else 0
            commands += [(step, DURING, Command.STREAM_IN, inward)] * (inward > 0)
            commands += [(step, DURING, Command.STREAM_OUT, passes)] * (written and live)
        if written:
            in_dram = not holds and live
        if stored[step]:
            if in_dram or not holds:
                return None
            in_dram = True
            phase = AFTER if operand.stationary and written else DURING
            commands.append((step, phase, Command.STORE, 1))
    return None if instance.tensors[tensor].keep and not in_dram else commands


def _live(instance: Instance, order: Sequence[int], step: int, tensor: int) -> bool:
    """Whether the contents before ``step`` are read before they are overwritten, or kept."""
    for index in order[step:]:
        if tensor in instance.operations[index].reads:
            return True
        if tensor in instance.operations[index].writes:
            return False
    return instance.tensors[tensor].keep


def _pages(instance: Instance, size_bytes: int) -> int:
    return -(-size_bytes // instance.machine.page_bytes)


def _fits(instance: Instance, running: Sequence[Mode], lives: Sequence[Life]) -> bool:
    """R1, to leave early what the verifier would find."""
    used = [_pages(instance, mode.scratch_bytes) for mode in running]
    for tensor, life in enumerate(lives):
        for begin, end in life.rows:
            for step in range(begin, end):
                used[step] += _pages(instance, instance.tensors[tensor].size_bytes)
    return max(used) <= instance.machine.spm_pages


def _bound(instance: Instance, running: Sequence[Mode], lives: Sequence[Life]) -> int:
    """Computation, and each channel's commands, take their time one after the other."""
    machine = instance.machine
    channels = [0, 0]
    for tensor, life in enumerate(lives):
        size = instance.tensors[tensor].size_bytes
        for _, _, kind, passes in life.commands:
            outward = machine.duplex and kind in (Command.STORE, Command.STREAM_OUT)
            moved = -(-size * passes * machine.clock_hz // machine.dram_bytes_per_s)
            channels[outward] += machine.dma_setup_cycles + moved
    return max(sum(mode.compute_cycles for mode in running), *channels)


def _schedules(instance: Instance, draft: Draft) -> Iterator[Schedule]:
    """Every queue order and all addresses."""
    residency = [
        (tensor, begin, end, instance.tensors[tensor].size_bytes)
        for tensor, life in enumerate(draft.lives)
        for begin, end in life.rows
    ]
    steps = Steps(operation=_ints(draft.order), mode=_ints(draft.modes))
    rows = Residency(**_columns(("tensor", "begin", "end", "size_bytes"), residency))
    queues = [Commands(**queue) for queue in _queues(instance, draft)]
    for placements in _addresses(instance, draft, residency):
        for commands in queues:
            yield Schedule(steps=steps, residency=rows, commands=commands, placements=placements)


def _queues(instance: Instance, draft: Draft) -> Iterator[dict[str, Ints]]:
    groups: dict[tuple[int, int], list[Row]] = {}
    for tensor, life in enumerate(draft.lives):
        size = instance.tensors[tensor].size_bytes
        for step, phase, kind, passes in life.commands:
            row = (step, int(kind), tensor, 0, size, passes)
            groups.setdefault((step, phase), []).append(row)
    for parts in product(*(permutations(groups[key]) for key in sorted(groups))):
        names = ("step", "kind", "tensor", "begin", "end", "passes")
        yield _columns(names, [row for part in parts for row in part])


def _addresses(instance: Instance, draft: Draft, residency: Sequence[Row]) -> Iterator[Placements]:
    scratch = [
        (-1, step, step + 1, instance.operations[index].modes[mode].scratch_bytes)
        for step, (index, mode) in enumerate(zip(draft.order, draft.modes, strict=True))
    ]
    occupants = [row for row in (*residency, *scratch) if row[3]]
    pages = [_pages(instance, row[3]) for row in occupants]
    room = instance.machine.spm_pages
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
