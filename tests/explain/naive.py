"""Why each transfer is where it is, step by step and byte by byte, from PROBLEM.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule
from spmopt.verifier import verify


@dataclass(frozen=True, kw_only=True)
class Row:
    """A command that its step waits for, and the bytes behind each obstacle."""

    command: int
    stall: float
    capacity: int
    channel: int
    dependency: int
    avoidable: int


class Naive:
    """Everything written out."""

    def __init__(self, problem: Problem, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        machine = problem.machine
        self.page = machine.page_bytes
        self.beta: Fraction = machine.bytes_per_cycle
        self.steps = len(schedule.steps)
        self.operation = [problem.operations[k] for k in schedule.steps.operation.tolist()]
        self.mapping = [
            op.mappings[m]
            for op, m in zip(self.operation, schedule.steps.mapping.tolist(), strict=True)
        ]
        rows = schedule.residency
        self.held = [[0] * self.steps for _ in problem.tensors]
        for tensor, begin, end, size in zip(
            rows.tensor, rows.begin, rows.end, rows.size_bytes, strict=True
        ):
            for step in range(begin, end):
                self.held[tensor][step] = int(size)
        table = schedule.commands
        names = ("step", "kind", "tensor", "begin", "end", "fetches")
        columns = (getattr(table, name).tolist() for name in names)
        self.commands = list(zip(*columns, strict=True))
        self.cycles = [
            machine.dma_setup_cycles + -floor(-((end - begin) * fetches) / self.beta)
            for _, _, _, begin, end, fetches in self.commands
        ]
        duration = verify(problem, schedule).step_cycles
        assert duration is not None
        self.duration: list[int] = duration.tolist()

    def rows(self) -> list[Row]:
        """All commands with a share in the stall of their step."""
        return [self.row(k) for k in range(len(self.commands)) if self.stall(k) > 0]

    def firm(self, k: int) -> str:
        """``load`` or ``store`` of a required-resident operand or result, else nothing."""
        step, kind, tensor, *_ = self.commands[k]
        op, mapping = self.operation[step], self.mapping[step]
        if tensor in op.tensors and mapping.operands[op.tensors.index(tensor)].required_resident:
            if kind == Command.LOAD and tensor in op.reads:
                return "load"
            if kind == Command.STORE and tensor in op.writes:
                return "store"
        return ""

    def inward(self, k: int) -> bool:
        return self.commands[k][1] in (Command.LOAD, Command.STREAM_IN)

    def stall(self, k: int) -> float:
        """Exact share of a command: all of a required-resident one, else in proportion."""
        step = self.commands[k][0]
        if self.firm(k):
            return float(self.cycles[k])
        mine = [j for j in range(len(self.commands)) if self.commands[j][0] == step]
        beside = [j for j in mine if not self.firm(j)]
        if self.problem.machine.duplex:
            into = sum(self.cycles[j] for j in beside if self.inward(j))
            out = sum(self.cycles[j] for j in beside if not self.inward(j))
            beside = [j for j in beside if self.inward(j) == (into >= out)]
        total = sum(self.cycles[j] for j in beside)
        over = max(0, total - self.mapping[step].compute_cycles)
        return over * self.cycles[k] / total if k in beside else 0.0

    def room(self, step: int) -> int:
        pages = [-(-self.held[t][step] // self.page) for t in range(len(self.held))]
        used = sum(pages) + -(-self.mapping[step].scratch_bytes // self.page)
        free: int = (self.problem.machine.spm_pages - used) * self.page
        return free

    def spare(self, step: int, out: bool) -> int:
        """Bytes of one more command in that direction."""
        machine, busy = self.problem.machine, 0
        for k, command in enumerate(self.commands):
            if command[0] != step:
                continue
            other = self.firm(k) == ("load" if out else "store")
            if not machine.duplex or self.inward(k) != out or other:
                busy += self.cycles[k]
        free = self.duration[step] - busy - machine.dma_setup_cycles
        return max(0, floor(free * self.beta))

    def touches(self, step: int, tensor: int) -> str:
        op = self.operation[step]
        if tensor in op.reads:
            return "update" if tensor in op.writes else "read"
        return "write" if tensor in op.writes else ""

    def row(self, k: int) -> Row:
        step, _, _, begin, end, _ = self.commands[k]
        size = end - begin
        walk, supplied = self.walk(k)
        # Where it would be needed at once: here, and in the next step of the walk.
        near = [p for p, takes in walk[:2] if takes and abs(p - step) <= 1]
        fits = min([size, *(self.room(p) for p in near)])
        other = [p for p, _ in walk if p != step]
        avoidable = self.most(k, walk, supplied, fits)
        rest = fits - avoidable
        return Row(
            command=k,
            stall=self.stall(k),
            capacity=size - fits,
            channel=rest if other else 0,
            dependency=0 if other else rest,
            avoidable=avoidable,
        )

    def walk(self, k: int) -> tuple[list[tuple[int, bool]], int | None]:
        """Steps away from the command's own, with whether it would take room there.

        The second is the index in the walk from which on the bytes are on chip anyway.
        """
        step, kind, tensor, begin, _, _ = self.commands[k]
        touch = self.touches(step, tensor)
        if self.inward(k):
            if step == 0 and kind == Command.LOAD and not touch:
                return self._until_needed(tensor), None
            return self._back(step, tensor, begin, kind, touch)
        if kind == Command.STORE and touch not in ("write", "update"):
            made = max(p for p in range(step) if self.touches(p, tensor) in ("write", "update"))
            return [(p, False) for p in range(step - 1, made - 1, -1)], None
        return self._forth(step, tensor, kind)

    def _until_needed(self, tensor: int) -> list[tuple[int, bool]]:
        """Later steps that could load what the first one does."""
        uses = [p for p in range(self.steps) if self.touches(p, tensor)]
        if not uses:
            return [(p, False) for p in range(1, self.steps)]
        use = uses[0]
        op, mapping = self.operation[use], self.mapping[use]
        required_resident = mapping.operands[op.tensors.index(tensor)].required_resident
        last = use - 1 if required_resident and tensor in op.reads else use
        return [(p, False) for p in range(1, last + 1)]

    def _back(
        self, step: int, tensor: int, begin: int, kind: int, touch: str
    ) -> tuple[list[tuple[int, bool]], int | None]:
        walk = [(step, True)] if kind == Command.STREAM_IN else []
        if kind == Command.STREAM_IN and touch == "write":
            return walk, 0
        for p in range(step - 1, -1, -1):
            if self.held[tensor][p] > begin:
                return walk, len(walk) - 1
            walk.append((p, True))
            if self.touches(p, tensor):
                return walk, len(walk) - 1
        return walk, None

    def _forth(
        self, step: int, tensor: int, kind: int
    ) -> tuple[list[tuple[int, bool]], int | None]:
        walk = [(step, True)] if kind == Command.STREAM_OUT else []
        gone = kind == Command.STREAM_OUT
        level = self.held[tensor][step]
        for p in range(step + 1, self.steps):
            gone = gone or self.held[tensor][p] < level
            level = max(level, self.held[tensor][p])
            walk.append((p, gone))
            touch = self.touches(p, tensor)
            if touch == "update" or (touch == "read" and not self._needed_after(p, tensor)):
                return walk, len(walk) - 1
        return walk, None

    def _needed_after(self, step: int, tensor: int) -> bool:
        for p in range(step + 1, self.steps):
            touch = self.touches(p, tensor)
            if touch:
                return touch != "write"
        return self.problem.tensors[tensor].keep

    def most(self, k: int, walk: list[tuple[int, bool]], supplied: int | None, size: int) -> int:
        """Bytes that can move, the furthest first (any order gives the same sum)."""
        step, out = self.commands[k][0], not self.inward(k)
        room = [self.room(p) if takes else size for p, takes in walk]
        moved = 0
        if supplied == -1:  # on chip in the step before, and nothing lies between
            return size
        for place in range(len(walk) - 1, -1, -1):
            p, _ = walk[place]
            offer = size if place == supplied else 0 if p == step else self.spare(p, out)
            # Bytes that move to p are held from there to the step, and take room on the way.
            amount = max(0, min([offer, size - moved, *room[: place + 1]]))
            moved += amount
            room[: place + 1] = [left - amount for left in room[: place + 1]]
        return moved
