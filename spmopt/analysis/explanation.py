"""Stalls of a schedule one by one: the causes of each stall, and its obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.analysis.analysis import Analysis
from spmopt.analysis.fused_groups import FusedGroupFigures, fused_group_figures
from spmopt.analysis.obstacles import Obstacle, Obstacles, obstacles
from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import StepFigures
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.objective import MAKESPAN, Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.core.table import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A tensor, or the scratch, that takes space in a full step, and its last step there."""

    name: str
    size_bytes: int
    until_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A transfer of the channel in a busy step."""

    transfer: str
    tensor: str
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One command that a step waits for.

    Attributes
    ----------
    command, step
        Row of the command table, and the step that waits.
    size_bytes, fetches
        Bytes, and how often they cross the DRAM boundary.
    cycles, stall_cycles
        Its cycles, and the part of the step's stall that is due to it.
    by_obstacle
        Cycles of that part, by :class:`~spmopt.analysis.obstacles.Obstacle`.
    full_step, busy_step
        The nearest step without room for it, and without time; None where that is no obstacle.
    anyway_step
        The step in which the bytes are on chip anyway, for their last or next use.
    needed_step
        The last step that may load it, where the first step loads it and could do so later.
    later
        It could be made later; earlier otherwise.
    """

    command: int
    step: int
    cause: Cause
    name: str
    size_bytes: int
    fetches: int
    cycles: int
    stall_cycles: int
    by_obstacle: tuple[int, ...]
    full_step: int | None
    busy_step: int | None
    anyway_step: int | None
    needed_step: int | None
    later: bool

    @property
    def obstacle(self) -> Obstacle:
        """Obstacle with the largest part of the stall."""
        return Obstacle(int(np.argmax(self.by_obstacle)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Stalls and their obstacles; sums over steps and transfers equal those of the analysis."""

    analysis: Analysis
    obstacles: Obstacles
    fused_groups: Sequence[FusedGroupFigures] = ()

    @classmethod
    def of(
        cls,
        problem: Problem,
        schedule: Schedule,
        objective: Objective = MAKESPAN,
        certificate: FusionCertificate | None = None,
    ) -> Self:
        """Explain ``schedule``, which must be legal; of a fused problem its groups, too.

        ``certificate``: of the fusion space that groups may be changed in; default: any.
        """
        analysis = Analysis.of(problem, schedule)
        return cls(
            analysis=analysis,
            obstacles=obstacles(analysis.steps),
            fused_groups=fused_group_figures(analysis.steps, objective, certificate),
        )

    @property
    def figures(self) -> StepFigures:
        """Figures of every step."""
        return self.analysis.steps

    @property
    def problem(self) -> Problem:
        """Scheduled problem."""
        return self.analysis.problem

    @property
    def by_obstacle(self) -> Ints:
        """(obstacles,) Cycles, over all steps."""
        total: Ints = self.obstacles.by_obstacle.sum(axis=1)
        return total

    @property
    def by_cause(self) -> Ints:
        """(causes,) Cycles, over all steps."""
        total: Ints = self.figures.stalls.by_cause.sum(axis=1)
        return total

    def largest(self, count: int) -> list[int]:
        """Return the steps with the largest stalls, largest first, as far as they stall at all.

        Fusion tiles of an operation count as one, represented by the step that stalls longest.
        """
        stall = self.figures.stall_cycles

        def total(steps: list[int]) -> int:
            return int(stall[steps].sum())

        largest = sorted(self._tiles_of_stalls.values(), key=total, reverse=True)[:count]
        return [max(steps, key=lambda step: int(stall[step])) for steps in largest]

    def fusion(self, step: int) -> list[int]:
        """Return the steps that stall and run tiles of a step's operation, itself among them."""
        return self._tiles_of_stalls.get(self.whole(step), [step])

    @cached_property
    def _tiles_of_stalls(self) -> dict[str, list[int]]:
        """Steps that stall, by the operation that they run or run a fusion tile of."""
        found: dict[str, list[int]] = {}
        for step in np.flatnonzero(self.figures.stall_cycles).tolist():
            found.setdefault(self.whole(step), []).append(step)
        return found

    def whole(self, step: int) -> str:
        """Name of the operation that a step runs, or runs a fusion tile of."""
        name = self.operation(step)
        return self.problem.tile_of.get(name, name)

    def operation(self, step: int) -> str:
        """Name of a step's operation."""
        return self.problem.operations[int(self.figures.view.timeline.order[step])].name

    def transfers(self, step: int | None = None) -> list[Transfer]:
        """List the transfers that a step waits for, largest first; None: all, in queue order."""
        if step is None:
            return [self._transfer(row) for row in range(self.obstacles.command.size)]
        of_step = self.figures.view.schedule.commands.step[self.obstacles.command]
        rows = range(*np.searchsorted(of_step, (step, step + 1)).tolist())
        return sorted(map(self._transfer, rows), key=lambda transfer: -transfer.stall_cycles)

    def _transfer(self, row: int) -> Transfer:
        of, stalls = self.obstacles, self.figures.stalls
        command = int(of.command[row])
        table = self.figures.view.schedule.commands
        cause = Cause(int(stalls.cause[command]))
        later, limit = bool(of.shifts.later[row]), _step(of.limit_step[row])
        return Transfer(
            command=command,
            step=int(table.step[command]),
            cause=cause,
            name=self.figures.view.name(int(table.tensor[command])),
            size_bytes=int(table.end[command] - table.begin[command]),
            fetches=int(table.fetches[command]),
            cycles=int(stalls.cycles[command]),
            stall_cycles=int(stalls.stall_cycles[command]),
            by_obstacle=tuple(of.by_obstacle[:, row].tolist()),
            full_step=_step(of.full_step[row]),
            busy_step=_step(of.busy_step[row]),
            anyway_step=limit if of.shifts.supplied[row] else None,
            needed_step=limit if later and cause is Cause.PREFETCH else None,
            later=later,
        )

    def holders(self, step: int | None) -> list[Holder]:
        """List the resident tensors of a step, largest first; nothing for None."""
        if step is None:
            return []
        view, table = self.figures.view, self.figures.view.schedule.residency
        found = [
            Holder(
                name=view.name(int(table.tensor[row])),
                size_bytes=int(table.size_bytes[row]),
                until_step=self._last_step(row),
            )
            for row in np.flatnonzero((table.begin <= step) & (table.end > step)).tolist()
        ]
        scratch = int(view.pages(view.timeline.scratch_bytes[step])) * view.page_bytes
        if scratch:
            found.append(Holder(name="scratch", size_bytes=scratch, until_step=step))
        return sorted(found, key=lambda holder: -holder.size_bytes)

    def transfers_in(self, step: int | None) -> list[Moved]:
        """List the transfers of a step, longest first; nothing for None."""
        if step is None:
            return []
        view, stalls = self.figures.view, self.figures.stalls
        table = view.schedule.commands
        rows = range(*np.searchsorted(table.step, (step, step + 1)).tolist())
        found = [
            Moved(
                transfer=Cause(int(stalls.cause[row])).words,
                tensor=view.name(int(table.tensor[row])),
                cycles=int(stalls.cycles[row]),
            )
            for row in rows
        ]
        return sorted(found, key=lambda moved: -moved.cycles)

    def _last_step(self, row: int) -> int:
        """Return the last step in which the tensor of a residency row is on chip."""
        table = self.figures.view.schedule.residency
        # A change of the resident bytes begins another row: rows that touch are one stay.
        while (
            row + 1 < len(table)
            and table.tensor[row + 1] == table.tensor[row]
            and table.begin[row + 1] == table.end[row]
        ):
            row += 1
        return int(table.end[row]) - 1


def _step(step: np.int64) -> int | None:
    return None if step < 0 else int(step)
