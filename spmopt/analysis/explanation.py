"""The stalls of a schedule one by one: the causes of each stall, and its obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.analysis.fused_groups import FusedGroupFigures, fused_group_figures
from spmopt.analysis.obstacles import Obstacle, Obstacles, obstacles
from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import StepFigures, step_figures
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.objective import MAKESPAN, Objective
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.core.table import Ints
from spmopt.verifier import ScheduleArrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who takes space in a full step: a tensor, up to and with ``until_step``, or the scratch."""

    name: str
    size_bytes: int
    until_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Transfers of the channel in a busy step, largest first."""

    transfer: str
    tensor: str
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One command that a step waits for.

    Attributes
    ----------
    command
        Its row of the command table.
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
        """The one that most of it is due to."""
        return Obstacle(int(np.argmax(self.by_obstacle)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Stalls and their reasons; sums over steps and transfers are those of the analysis."""

    figures: StepFigures
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
        figures = step_figures(ScheduleArrays.of(problem, schedule))
        in_order = problem.fused_from is not None and other_order(schedule.steps.operation) is None
        fused_groups = fused_group_figures(figures, objective, certificate) if in_order else ()
        return cls(figures=figures, obstacles=obstacles(figures), fused_groups=fused_groups)

    @property
    def problem(self) -> Problem:
        """The scheduled problem."""
        return self.figures.view.problem

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

        Fusion tiles of an operation count as one, with the step of the fusion tile that stalls
        longest.
        """
        stall, total = self.figures.stall_cycles, dict[str, int]()
        longest: dict[str, int] = {}
        for step in np.argsort(-stall, kind="stable").tolist():
            name = self.whole(step)
            longest.setdefault(name, step)
            total[name] = total.get(name, 0) + int(stall[step])
        order = sorted(longest, key=lambda name: -total[name])[:count]
        return [longest[name] for name in order if total[name] > 0]

    def fusion(self, step: int) -> list[int]:
        """Return the steps that stall and run tiles of a step's operation, itself among them."""
        return self._stalled.get(self.whole(step), [step])

    def whole(self, step: int) -> str:
        """Name of the operation that a step runs, or a fusion tile of."""
        name = self.operation(step)
        return self.problem.tile_of.get(name, name)

    @cached_property
    def _stalled(self) -> dict[str, list[int]]:
        """Steps that stall, by the operation that they run a fusion tile of."""
        found: dict[str, list[int]] = {}
        for step in np.flatnonzero(self.figures.stall_cycles).tolist():
            found.setdefault(self.whole(step), []).append(step)
        return found

    def operation(self, step: int) -> str:
        """Name of a step's operation."""
        return self.problem.operations[int(self.figures.view.timeline.order[step])].name

    def transfers(self, step: int) -> list[Transfer]:
        """List causes of a step's stall, largest first."""
        rows = range(*np.searchsorted(self._step, (step, step + 1)).tolist())
        found = [self.transfer(row) for row in rows]
        return sorted(found, key=lambda transfer: -transfer.stall_cycles)

    def transfer(self, row: int) -> Transfer:
        """Return one row of the obstacles."""
        of, stalls = self.obstacles, self.figures.stalls
        command = int(of.command[row])
        table = self.figures.view.schedule.commands
        cause = Cause(int(stalls.cause[command]))
        later, limit = bool(of.shifts.later[row]), _some(of.limit_step[row])
        return Transfer(
            command=command,
            cause=cause,
            name=self.figures.view.name(int(table.tensor[command])),
            size_bytes=int(table.end[command] - table.begin[command]),
            fetches=int(table.fetches[command]),
            cycles=int(stalls.cycles[command]),
            stall_cycles=int(stalls.stall_cycles[command]),
            by_obstacle=tuple(of.by_obstacle[:, row].tolist()),
            full_step=_some(of.full_step[row]),
            busy_step=_some(of.busy_step[row]),
            anyway_step=limit if of.shifts.supplied[row] else None,
            needed_step=limit if later and cause is Cause.PREFETCH else None,
            later=later,
        )

    def holders(self, step: int | None) -> list[Holder]:
        """List the resident tensors of a step, largest first; nothing for None."""
        if step is None:
            return []
        view, machine = self.figures.view, self.problem.machine
        table = view.schedule.residency
        rows = np.flatnonzero((table.begin <= step) & (table.end > step)).tolist()
        found = [
            Holder(
                name=view.name(int(table.tensor[row])),
                size_bytes=int(table.size_bytes[row]),
                until_step=self._until(row),
            )
            for row in rows
        ]
        scratch = int(view.timeline.scratch_bytes[step])
        if scratch:
            size = -(-scratch // machine.page_bytes) * machine.page_bytes
            found.append(Holder(name="scratch", size_bytes=size, until_step=step))
        return sorted(found, key=lambda holder: -holder.size_bytes)

    def moved(self, step: int | None) -> list[Moved]:
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

    @cached_property
    def _step(self) -> Ints:
        """(k,) Of every row of the obstacles."""
        return self.figures.view.schedule.commands.step[self.obstacles.command]

    def _until(self, row: int) -> int:
        """Return the last step in which the tensor of a residency row is on chip."""
        table = self.figures.view.schedule.residency
        while (
            row + 1 < len(table)
            and table.tensor[row + 1] == table.tensor[row]
            and table.begin[row + 1] == table.end[row]
        ):
            row += 1
        return int(table.end[row]) - 1


def _some(step: np.int64) -> int | None:
    return None if step < 0 else int(step)
