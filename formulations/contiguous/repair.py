"""A paged plan made contiguous at little cost.

1. Its stays get bases one after the other, in several orders; one that does not fit is cut
   (:mod:`formulations.contiguous.pack`).
2. Room that is left over is filled (:mod:`formulations.contiguous.fill`).
3. With the neighbours so found, a linear program finds the best residency and bases of all stays
   at once (:mod:`formulations.contiguous.stack`).
4. Its stays leave other room over: 2 and 3 again, until little is gained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.contiguous.decode import in_pages, plan_of, settle, stays_now
from formulations.contiguous.fill import Again, fill
from formulations.contiguous.memory import Memory
from formulations.contiguous.pack import ORDERS, pack
from formulations.contiguous.stack import Case, cells_of, own_spans, stack, values
from formulations.contiguous.stays import Stay, Uses, stays_of
from formulations.residency.cost import plan_value
from formulations.residency.plain.rows import Context, ceil_div
from formulations.solver import highs
from formulations.solver.program import Floats
from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, timeline

_SIMPLEX: dict[str, highs.Option] = {"solver": "simplex", "presolve": "off"}
_LARGE = 300_000  # cells, from which on a linear program would take too long
_EACH, _MORE = 3, 12  # rounds from every order, then from the best of them
_LEAST = Fraction(1, 5000)  # gain of a round that makes another one worth while
_TINY = 1e-6  # worth of a page that saves time nowhere, of the largest


@dataclass(frozen=True, kw_only=True)
class Found:
    """A plan with contiguous addresses, and its stays."""

    plan: Plan
    value: Fraction
    stays: list[Stay]


class Repair:
    """Plans with contiguous addresses, from a paged one on."""

    def __init__(
        self, instance: Instance, request: Request, plan: Plan, prices: Certificate | None
    ) -> None:
        self._instance, self._request = instance, request
        self._line = timeline(instance, plan.operation, plan.mode)
        self._page = instance.machine.page_bytes
        self._uses = Uses(self._line)
        self._paged = stays_of(plan.residency, self._page, self._uses)
        self._worth = _worth(self._line, prices)
        self._case = Case(instance, self._line, request.objective)
        self._large = sum(stay.heights.size for stay in self._paged) > _LARGE

    def plans(self) -> Iterator[Found]:
        """One after the other, mostly better ones; all are legal."""
        best: Found | None = None
        for start in self._begun():
            yield start
            for found in self._rounds(start, _EACH):
                yield found
                best = _better(best, found)
        while best is not None and not self._large and self._request.remaining_s() > 0:
            before = best
            for found in self._neighbourhood(before):
                yield found
                best = _better(best, found)
            if best.value > before.value * (1 - _LEAST):
                break
        if best is not None and not self._large:
            last = self._round(best, tie=True)
            if last is not None:
                yield last

    def _neighbourhood(self, best: Found) -> Iterator[Found]:
        """More rounds, and rounds from its stays placed anew."""
        yield from self._rounds(best, _MORE)
        for order in ORDERS:
            anew = self._packed(best.stays, order)
            if anew is not None:
                yield from self._rounds(anew, _EACH)

    def _begun(self) -> Iterator[Found]:
        """The paged stays cut to fit; else stationary operands alone."""
        orders = list(ORDERS)[:1] if self._large else list(ORDERS)
        any_found = False
        for stays, ways in ((self._paged, orders), (self._stationary(), list(ORDERS))):
            for order in ways:
                if any_found and self._request.remaining_s() <= 0:
                    return
                found = self._packed(stays, order)
                if found is not None:
                    any_found = True
                    yield found
            if any_found:
                return

    def _packed(self, stays: list[Stay], order: str) -> Found | None:
        stays = [replace(stay) for stay in stays]
        self._request.report(f"contiguous addresses, by {order}", None)
        return self._placed(stays) if pack(stays, self._memory(), order) else None

    def _rounds(self, start: Found, most: int) -> Iterator[Found]:
        for number in range(1 if self._large else most):
            if self._request.remaining_s() <= 0:
                return
            self._request.report(f"contiguous addresses, round {number + 1}", None)
            found = self._round(start)
            if found is None:
                return
            yield found
            if found.value > start.value * (1 - _LEAST):
                return
            start = found

    def _round(self, start: Found, *, tie: bool = False) -> Found | None:
        """Fill, then solve; None where the solver was stopped. Where much is kept, only fill."""
        stays, memory, line = [replace(stay) for stay in start.stays], self._memory(), self._line
        for owner, stay in enumerate(stays):
            memory.take(owner, int(stay.base), stay.begin, stay.heights)
        pages = ceil_div(line.size_bytes, self._page)
        fill(stays, memory, self._uses, Again(line=line, pages=pages, worth=self._worth))
        if self._large:
            return self._placed(stays)
        built = stack(self._case, stays, memory, tie=tie)
        answer = highs.solve(
            built.program,
            options=_SIMPLEX,
            time_limit_s=self._request.remaining_s(),
            stop=self._request.stop,
        )
        if not answer.feasible or answer.primal is None:
            return None
        resident, dirty, bases = values(built, answer.primal)
        in_whole = in_pages(built.context, resident)
        return self._found(built.context, built.stay, (in_whole, dirty), bases)

    def _placed(self, stays: list[Stay]) -> Found:
        """What ``stays`` say, every store at the latest."""
        context, owner = cells_of(self._case, stays, own_spans(stays))
        cells = context.cells
        first = np.cumsum([0, *(stay.heights.size for stay in stays)])[:-1]
        begin = np.array([stay.begin for stay in stays], np.int64)
        heights = np.concatenate([np.empty(0, np.int64), *(stay.heights for stay in stays)])
        there = np.flatnonzero(owner >= 0)
        row = owner[there]
        resident = np.zeros(len(cells), np.int64)
        pages = heights[first[row] + cells.step[there] - begin[row]]
        resident[there] = np.minimum(pages * self._page, context.size[there])
        bases = np.array([stay.base for stay in stays], np.int64)
        return self._found(context, owner, (resident, np.full(len(cells), np.inf)), bases)

    def _found(
        self, c: Context, owner: Ints, held: tuple[Ints, Floats], bases: Ints | Floats
    ) -> Found:
        """From the resident and the dirty bytes of each cell."""
        resident, dirty = held
        stays = stays_now(c, owner, bases, resident, self._uses)
        if bases.dtype == np.float64:
            settle(stays, self._memory())
        plan = plan_of(c, resident, dirty, stays)
        value = plan_value(self._instance, plan, self._request.objective)
        return Found(plan=plan, value=value, stays=stays)

    def _memory(self) -> Memory:
        scratch = ceil_div(self._line.scratch_bytes, self._page)
        return Memory(self._instance.machine.spm_pages, scratch)

    def _stationary(self) -> list[Stay]:
        """Only what must be resident, only while it must."""
        line = self._line
        found: list[Stay] = []
        order = np.lexsort((line.step, line.tensor))
        for access in order[line.stationary[order]].tolist():
            tensor, step = int(line.tensor[access]), int(line.step[access])
            pages = -(-int(line.size_bytes[tensor]) // self._page)
            here = np.array([step], np.int64)
            last = found[-1] if found else None
            if last is not None and last.tensor == tensor and last.end == step:
                last.heights = np.append(last.heights, pages)
                last.uses = last.stationary = np.append(last.uses, step)
                continue
            heights = np.array([pages], np.int64)
            found.append(
                Stay(tensor=tensor, begin=step, heights=heights, uses=here, stationary=here)
            )
        return found


def _better(best: Found | None, found: Found) -> Found:
    return found if best is None or found.value < best.value else best


def _worth(line: Timeline, prices: Certificate | None) -> Floats:
    """(a,) What a byte kept from an access to the next one saves, at the prices of the bound."""
    into = np.ones(line.steps)
    out = into
    if prices is not None and prices.order is None:
        into, out = prices.dram_in.astype(np.float64), prices.dram_out.astype(np.float64)
    following = np.maximum(line.next, 0)
    read = np.where(line.next >= 0, into[line.step[following]] * line.passes[following], 0.0)
    written = np.where(line.kind != Access.READ, out[line.step] * line.passes, 0.0)
    worth = np.where(line.next >= 0, read + written, 0.0)
    result: Floats = np.maximum(worth, _TINY * worth.max(initial=1.0) * (line.next >= 0))
    return result
