"""One round: fill what room is left over, solve, and read the answer; in all steps or in some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.contiguous.decode import Now, in_pages, plan_of, settle, stays_now, stores
from formulations.contiguous.fill import Again, fill
from formulations.contiguous.held import Dirty, Held
from formulations.contiguous.memory import Memory
from formulations.contiguous.rows import Context
from formulations.contiguous.spans import heights_at, own_spans
from formulations.contiguous.stack import Case, cells_of, stack, values
from formulations.contiguous.stays import Stay
from formulations.contiguous.window import Window
from formulations.solver import highs
from formulations.solver.program import Floats
from spmopt.assemble.cost import plan_cost
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_SIMPLEX: dict[str, highs.Option] = {"solver": "simplex", "presolve": "off"}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is held, and what it costs in the steps of its window and its edges.

    The steps of ``plan`` count from the first of these.
    """

    plan: Plan
    value: Fraction
    held: Held


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """All that a round needs to know of what is to be scheduled."""

    case: Case
    request: Request
    again: Again

    def placed(self, stays: list[Stay], window: Window, dirty: Dirty | None = None) -> Found:
        """What ``stays`` say as they are; without ``dirty`` every store at the latest."""
        c, owner = cells_of(self.case, stays, own_spans(stays, window), window)
        step = c.cells.step + window.first
        page = self.case.instance.machine.page_bytes
        resident = np.minimum(heights_at(stays, owner, step) * page, c.size)
        most = np.full(len(c.cells), np.inf)
        if dirty is not None:
            most = dirty.of(c.cells.tensor, step).astype(np.float64)
        bases = np.array([stay.base for stay in stays], np.int64)
        now = stays_now(c, window.first, owner, bases, resident)
        return self._found(c, now, (resident, most), stays, window)

    def filled(self, stays: list[Stay], window: Window) -> tuple[list[Stay], Memory]:
        """Copies that last longer, and some more, where room is left over."""
        stays, memory = [replace(stay) for stay in stays], self.case.memory(window)
        for owner, stay in enumerate(stays):
            memory.take(owner, int(stay.base), stay.begin, stay.heights)
        fill(stays, memory, window, self.again)
        return stays, memory

    def solved(self, held: Held, window: Window, *, tie: bool = False) -> Found | None:
        """Fill, then solve; None where there is no answer."""
        stays, memory = self.filled(held.stays, window)
        held = Held(stays=stays, dirty=held.dirty)
        built = stack(self.case, held, memory, window, tie=tie)
        answer = highs.solve(
            built.program,
            options=_SIMPLEX,
            time_limit_s=self.request.remaining_s(),
            stop=self.request.stop,
        )
        if not answer.feasible or answer.primal is None:
            return None
        fluid, dirty, bases = values(built, answer.primal)
        resident = in_pages(built.context, fluid)
        now = stays_now(built.context, window.first, built.stay, bases, resident)
        fixed = np.array([any(_at_edges(stay, window)) for stay in now.stays], bool)
        if not settle(now.stays, fixed, _empty(self.case, window)):
            return None
        return self._found(built.context, now, (resident, dirty), stays, window)

    def _found(
        self,
        c: Context,
        now: Now,
        cells: tuple[Ints, Floats],
        before: list[Stay],
        window: Window,
    ) -> Found:
        """From the resident and the dirty bytes of each cell."""
        resident, most = cells
        store, dirty = stores(c, resident, most)
        plan = plan_of(c, resident, store, now.stays)
        objective = self.case.objective
        steps = self.case.line.steps
        step = c.cells.step + window.first
        return Found(
            plan=plan,
            value=plan_cost(self.case.instance.machine, c.line, plan).value(objective, c.line),
            held=Held(
                stays=[
                    _joined(stay, before[owner], window)
                    for stay, owner in zip(now.stays, now.owner, strict=True)
                ],
                dirty=Dirty.over(c.cells.tensor, step, dirty, steps),
            ),
        )


def _empty(case: Case, window: Window) -> Memory:
    nothing = np.zeros(window.last - window.first, np.int64)
    return Memory(case.instance.machine.spm_pages, nothing, window.first)


def _at_edges(stay: Stay, window: Window) -> tuple[bool, bool]:
    """Whether the stay reaches the edge before the window, and the one after it."""
    return (
        stay.begin == window.first < window.begin,
        stay.end == window.last > window.end,
    )


def _joined(stay: Stay, before: Stay, window: Window) -> Stay:
    """``stay`` with what lies outside the window of the stay that it was a part of."""
    left, right = _at_edges(stay, window)
    parts = [stay.heights]
    begin = stay.begin
    if left:
        parts.insert(0, before.heights[: max(window.first - before.begin, 0)])
        begin = min(before.begin, begin)
    if right:
        parts.append(before.heights[window.last - before.begin :])
    return replace(stay, begin=begin, heights=np.concatenate(parts))
