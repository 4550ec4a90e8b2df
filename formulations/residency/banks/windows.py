"""Dual values of programs that are too large to solve at once: window by window of their steps.

With the dual values of all other steps as they are, their bound is largest at the duals of the
program of one window alone, in which bytes pay, as they come, the least that they have paid before
it and, as they go, the least that they have to pay after it. So each window can only gain, and
sweeps over all windows, with other boundaries each time, go on until nothing is gained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from formulations.residency.banks.cells import Boundary, ChosenCells, Field
from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.network import BankNetwork
from formulations.residency.banks.paths import Paths, ends, fix, promising
from formulations.residency.banks.program import BankProgram
from formulations.residency.banks.transitions import Transitions
from formulations.residency.cells import Carried, carry, cells_between
from formulations.solver.highs import interior_point, solve_within
from formulations.solver.program import Floats, SolverStatus
from spmopt.core.schedule import Steps
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_CELLS = 3_000
"""Of a window, about: near accesses, each with some steps around it."""
_NEAR = 2
_PRECISE = 1e-6
_GAIN = 1e-9


class WindowSolution(NamedTuple):
    """Bytes of the arcs of a window's program; ``begin``: its first step, ``own`` its tensors."""

    begin: int
    own: Ints
    network: BankNetwork
    amounts: Floats


class Walk:
    """Bound at dual values, without a table of all tensors in all steps.

    Attributes
    ----------
    bound
        In objective units.
    back
        Of each boundary, (s, m): the least to pay after it.
    """

    def __init__(
        self,
        facts: BankCoefficients,
        duals: BankMultipliers,
        spans: Carried,
        boundaries: list[int],
    ) -> None:
        """Walk back through the steps.

        Of each only the tensors carried through it and its operands.
        """
        line, costs = facts.line, Transitions(facts, duals)
        end = ends(facts)
        back = end.back
        births = np.zeros(line.step.size)
        opens, closes = _by_step(spans.end, line.steps), _by_step(spans.begin, line.steps)
        live = np.zeros(line.size_bytes.size, bool)
        self.back: dict[int, Floats] = {}
        for step in range(line.steps - 1, -1, -1):
            if step + 1 in boundaries:
                self.back[step + 1] = back.copy()
            # Spans [begin, end) of this step: those that begin later are over.
            live[spans.tensor[closes(step + 1)]] = False
            starting = opens(step + 1)
            live[spans.tensor[starting[spans.begin[starting] <= step]]] = True
            waits = np.flatnonzero(live)
            later = back[:, waits]
            moved = (costs.waiting[step][:, :, None] + later[None]).min(axis=1)
            own = slice(int(line.first[step]), int(line.first[step + 1]))
            tensor = line.tensor[own]
            rest = np.where(line.live_after[own], back[:, tensor], 0.0)
            least = (costs.access[own] + rest.T[:, None, :]).min(axis=2)
            blind = line.kind[own] == Access.WRITE
            births[own] = np.where(blind, least[:, 0], 0.0)
            back[:, waits] = moved
            back[:, tensor] = np.where(blind, np.inf, least.T)
        start = (end.ahead + back).min(axis=0)
        known = np.isfinite(start)
        value = float(line.size_bytes[known] @ start[known])
        self.bound = value + float(line.size_bytes[line.tensor] @ births) + fix(facts, duals)


def _by_step(step: Ints, steps: int) -> Callable[[int], Ints]:
    """Return a function that gives the rows of a step."""
    order = np.argsort(step, kind="stable")
    first = np.searchsorted(step[order], np.arange(steps + 2))

    def rows(at: int) -> Ints:
        found: Ints = order[first[at] : first[at + 1]]
        return found

    return rows


class Windows:
    """Sweeps over the windows of a program."""

    def __init__(self, facts: BankCoefficients) -> None:
        self._facts = facts
        self.spans = carry(facts.line)

    def boundaries(self, shift: float) -> list[int]:
        """Return the first steps of windows, and the end; ``shift``: by a part of a window."""
        line = self._facts.line
        near = np.arange(line.steps) + (2 * _NEAR + 1) * line.first[:-1]
        number = ((near / _CELLS) + shift).astype(np.int64)
        inner = np.flatnonzero(np.diff(number)) + 1
        return [0, *inner.tolist(), line.steps]

    def walk(self, duals: BankMultipliers, boundaries: list[int]) -> Walk:
        """Return the bound at dual values, and the payments left after each boundary."""
        return Walk(self._facts, duals, self.spans, boundaries)

    def sweep(
        self, duals: BankMultipliers, request: Request, limit: float, shift: float
    ) -> tuple[BankMultipliers, list[WindowSolution]]:
        """Improve the duals of one window after the other; their last solutions, of all or none.

        ``limit``: how much more than a best path the cells of a program may cost.
        """
        boundaries = self.boundaries(shift)
        back = self.walk(duals, boundaries).back
        end = ends(self._facts)
        ahead, solutions = end.ahead, []
        for number, (begin, stop) in enumerate(pairwise(boundaries)):
            if request.remaining_s() <= 0:
                return duals, []
            request.report(f"window {number + 1} of {len(boundaries) - 1}", None)
            after = back.get(stop, end.back)
            window = _Window(self._facts, self.spans, (begin, stop), Boundary(ahead, after))
            new, paths = window.improve(duals.within(begin, stop), request, limit)
            if window.solution is not None:
                solutions.append(window.solution)
            duals = duals.change(begin, new)
            ahead = np.full_like(end.ahead, np.inf)
            ahead[:, window.own] = paths.ahead[-1]
        return duals, solutions if len(solutions) == len(boundaries) - 1 else []


class _Window:
    """Steps [begin, end) with the tensors that live there, numbered anew."""

    def __init__(
        self, facts: BankCoefficients, spans: Carried, steps: tuple[int, int], boundary: Boundary
    ) -> None:
        self._begin, end = self._steps = steps
        line, begin = facts.line, self._begin
        rows = slice(int(line.first[begin]), int(line.first[end]))
        through = (spans.begin < end) & (spans.end > begin)
        enters = (spans.begin <= begin) & (spans.end >= begin) & (begin > 0)
        leaves = (spans.begin <= end) & (spans.end >= end) & (end < line.steps)
        tensors = (line.tensor[rows], spans.tensor[through | enters | leaves])
        self.own: Ints = np.unique(np.concatenate(tensors))
        local = _window_line(line, begin, end, self.own)
        self._facts = facts.within(local, begin, end)
        cells = cells_between(line, spans, begin, end)
        at_start = _within(cells.tensor, spans.tensor[enters]) & (cells.step == begin)
        at_end = _within(cells.tensor, spans.tensor[leaves]) & (cells.step == end - 1)
        self._field = Field(
            local,
            replace(
                cells,
                tensor=np.searchsorted(self.own, cells.tensor),
                step=cells.step - begin,
                access=np.where(cells.access >= 0, cells.access - rows.start, -1),
            ),
            at_start,
            at_end,
        )
        self._boundary = Boundary(boundary.ahead[:, self.own], boundary.back[:, self.own])
        self.solution: WindowSolution | None = None

    def improve(
        self, duals: BankMultipliers, request: Request, limit: float
    ) -> tuple[BankMultipliers, Paths]:
        """Return the duals of the window's program, if they prove more than ``duals``."""
        best = Paths(self._facts, duals, self._boundary)
        chosen = self._field.near(_NEAR)
        chosen = chosen | promising(self._field, best, chosen, limit)
        network = BankNetwork(self._facts, ChosenCells(self._field, chosen, self._boundary))
        built = BankProgram(network)
        answer = solve_within(built.program, request, options=interior_point(_PRECISE))
        if answer.row_dual is None or answer.column_dual is None:
            return duals, best
        if answer.status is SolverStatus.OPTIMAL:
            amounts = built.amounts(answer)
            self.solution = WindowSolution(self._begin, self.own, network, amounts)
        new = built.multipliers(answer)
        found = Paths(self._facts, new, self._boundary)
        if found.bound > best.bound + _GAIN * abs(best.bound):
            return new, found
        return duals, best


def _within(values: Ints, some: Ints) -> Bools:
    found: Bools = np.isin(values, some)
    return found


def _window_line(line: Timeline, begin: int, end: int, own: Ints) -> Timeline:
    """Return the steps [begin, end) with the tensors ``own``; linked tensors are not."""
    rows = slice(int(line.first[begin]), int(line.first[end]))
    steps = slice(begin, end)
    count = rows.stop - rows.start
    nothing, no_tensor = np.full(count, -1), np.full(own.size, -1)
    figures = (
        "compute_cycles",
        "scratch_bytes",
        "macs",
        "spm_read_bytes",
        "spm_write_bytes",
        "own_picojoules",
    )
    return Timeline(
        chosen=Steps(operation=line.chosen.operation[steps], mapping=line.chosen.mapping[steps]),
        **{name: getattr(line, name)[steps] for name in figures},
        first=line.first[begin : end + 1] - rows.start,
        step=line.step[rows] - begin,
        tensor=np.searchsorted(own, line.tensor[rows]),
        kind=line.kind[rows],
        fetches=line.fetches[rows],
        required_resident=line.required_resident[rows],
        previous=nothing,
        next=nothing,
        live_after=line.live_after[rows],
        size_bytes=line.size_bytes[own],
        in_dram=line.in_dram[own],
        keep=line.keep[own],
        first_access=no_tensor,
        last_access=no_tensor,
    )
