"""A solution becomes a schedule in full: steps, residency, commands in queue order, addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from formulations.joint.program import Literal, Move, Number, Program
from spmopt.core.schedule import Commands, Placements, Residency, Schedule, Steps
from spmopt.core.table import Ints

Row = tuple[int, ...]


class Decoder:
    """Reads a solution, given by functions from variables and literals to their values.

    Nothing is decided here: the step of a command is that of its slot, and in a step commands
    are queued by phase, then by start.
    """

    def __init__(
        self, program: Program, value: Callable[[Number], int], holds: Callable[[Literal], bool]
    ) -> None:
        self._program = program
        self._value = value
        self._holds = holds
        self._place = [value(position) for position in program.position]

    def schedule(self) -> Schedule:
        """The schedule."""
        program = self._program
        operation = np.argsort(np.array(self._place, np.int64))
        mode = [
            next(number for number, chosen in enumerate(program.mode[index]) if self._holds(chosen))
            for index in operation.tolist()
        ]
        stays = [s for s in range(len(program.stays)) if self._holds(program.present(s))]
        moves = [move for move in program.moves() if self._holds(move.present)]
        commands = sorted(row for move in moves for row in self._commands(move))
        return Schedule(
            steps=Steps(operation=operation, mode=np.array(mode, np.int64)),
            residency=Residency(
                **_columns(
                    ("tensor", "begin", "end", "size_bytes"),
                    sorted(self._residency(stay) for stay in stays),
                )
            ),
            commands=Commands(
                **_columns(
                    ("step", "kind", "tensor", "begin", "end", "passes"),
                    [(row[0], *row[3:]) for row in commands],
                )
            ),
            placements=Placements(
                **_columns(
                    ("tensor", "begin", "end", "tensor_page", "pages", "spm_page"),
                    sorted(self._placements()),
                )
            ),
        )

    def _residency(self, stay: int) -> Row:
        tensor = self._program.stays[stay].tensor
        return tensor, *self._steps(stay), self._program.facts.size(tensor)

    def _steps(self, stay: int) -> tuple[int, int]:
        """First step of a stay, and the one after its last."""
        steps = [
            self._place[operation]
            for operation in self._program.stays[stay].covers
            if self._holds(self._program.covered[stay, operation])
        ]
        return min(steps), max(steps) + 1

    def _commands(self, move: Move) -> list[Row]:
        """Step, phase and start, which order the queue; then the other columns."""
        size = self._program.facts.size(move.tensor)
        content = (int(move.kind), move.tensor, 0, size, move.passes)
        return [
            (self._place[slot.operation], slot.phase, self._value(move.start), *content)
            for slot in move.slots
            if self._holds(slot.chosen)
        ]

    def _placements(self) -> list[Row]:
        rows: list[Row] = []
        for tenant in self._program.tenants:
            if not self._holds(tenant.present):
                continue
            begin, finish = self._place[tenant.first], self._place[tenant.first] + 1
            if tenant.stay >= 0:
                begin, finish = self._steps(tenant.stay)
            rows.append(
                (tenant.tensor, begin, finish, 0, tenant.pages, self._value(tenant.address))
            )
        return rows


def _columns(names: tuple[str, ...], rows: Sequence[Row]) -> dict[str, Ints]:
    table = np.array(rows, np.int64).reshape(-1, len(names))
    return {name: table[:, column] for column, name in enumerate(names)}
