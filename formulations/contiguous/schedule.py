"""A paged plan made contiguous at little cost.

1. Its blocks get bases, all at once if they fit (:mod:`formulations.contiguous.packing`), else one
   after the other, in several orders; one that does not fit is cut
   (:mod:`formulations.contiguous.packing`).
2. Room that is left over is filled (:mod:`formulations.contiguous.packing`).
3. With the neighbors so found, a linear program finds the best residency and bases of all blocks
   at once (:mod:`formulations.contiguous.stack`).
4. Its blocks leave other room over: 2 and 3 again, until little is gained.
5. The blocks of some steps get other bases, by chance, and 2 to 4 follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from formulations.contiguous.blocks import Block, blocks_of
from formulations.contiguous.packing import ORDERS, Order, fit, pack, reuses, shake
from formulations.contiguous.rounds import ContiguousPlan, Rounds, WindowSweep
from formulations.contiguous.stack import ContiguousCase
from formulations.contiguous.window import whole
from formulations.residency import page
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.schedule import Residency, ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Access, Timeline, timeline

_SHARE = 16  # of the steps, at most, in which they differ from the best
_FAR = Fraction(3, 1000)  # from the best, after one round
_TINY = 1e-6  # gain of a page that saves time nowhere, of the largest


class Repair:
    """Plans with contiguous addresses, from a paged one on."""

    def __init__(
        self,
        problem: Problem,
        request: Request,
        residency_plan: ResidencyPlan,
        duals: Certificate | None,
    ) -> None:
        self._request, self._params = request, request.params.contiguous
        self._rounds_each, self._rounds_best = self._params.rounds
        line = timeline(problem, residency_plan.steps)
        case, self._whole = ContiguousCase(problem, line, request.objective), whole(line)
        self._uses = case.uses
        self._paged = blocks_of(residency_plan.residency, problem.machine)
        self._rounds = Rounds(
            case=case,
            request=request,
            again=reuses(line, problem.machine.pages(line.size_bytes), _gain(line, duals)),
        )
        # Contiguous plans hardly beat the paged one: within the tolerance of it none is sought.
        self._goal = residency_plan_value(problem, residency_plan, request.objective)
        self._goal *= 1 + Fraction(request.tolerance)
        self._large = sum(block.heights.size for block in self._paged) > self._params.program_cells
        self._best: ContiguousPlan | None = None
        self._least = Fraction(str(self._params.least_gain))

    def residency_plans(self) -> Iterator[ContiguousPlan]:
        """One after the other, mostly better ones; all are legal."""
        for found in self._attempts():
            if self._best is None or found.value < self._best.value:
                self._best = found
            yield found

    def _attempts(self) -> Iterator[ContiguousPlan]:
        for start in self._begin():
            yield start
            yield from self._after(start, self._rounds_each)
        if self._best is not None:
            yield from self._sweep(self._best) if self._large else self._search(self._best)

    def _search(self, best: ContiguousPlan) -> Iterator[ContiguousPlan]:
        """Rounds while they help; of the solutions that cost the same, one that moves less."""
        while not self._request.is_over():
            before = best
            yield from self._after(before, self._rounds_best)
            for order in ORDERS.values():  # its blocks placed anew
                start = self._pack(before.blocks, order)
                if start is not None:
                    yield from self._after(start, self._rounds_each)
            best = self._best or before
            if best.value > before.value * (1 - self._least):
                break
        yield from self._shake(best)
        last = self._rounds.solve((self._best or best).blocks, self._whole, tie=True)
        if last is not None:
            yield last

    def _shake(self, best: ContiguousPlan) -> Iterator[ContiguousPlan]:
        """Yield rounds from the best blocks, some placed anew at random, while they gain."""
        random, vain = np.random.default_rng(0), 0
        while (
            best.value > self._goal
            and vain < self._params.failed_starts
            and not self._request.is_over()
        ):
            start = self._partly(best.blocks, random)
            for found in () if start is None else self._after(start, self._rounds_each):
                yield found
                # Where the first round ends far from the best there is no second one.
                if found.value > best.value * (1 + _FAR):
                    break
            before, best = best, self._best or best
            vain = vain + 1 if best is before else 0

    def _partly(self, blocks: list[Block], random: np.random.Generator) -> ContiguousPlan | None:
        """Those that are there in some steps placed anew, the others where they are."""
        steps = self._whole.steps
        begin, count = random.integers(steps), 1 + random.integers(steps // _SHARE + 1)
        there = [block.begin < begin + count and block.end > begin for block in blocks]
        return self._pack(blocks, shake(random), np.flatnonzero(there).tolist())

    def _sweep(self, best: ContiguousPlan) -> Iterator[ContiguousPlan]:
        """Sweep after sweep over windows, those of one between those of the one before."""
        best = self._fill(best.blocks)
        yield best
        sweep = WindowSweep(self._rounds, best)
        while sweep.promising and not self._request.is_over():
            best = self._fill(sweep.over(best.blocks))
            yield best

    def _fill(self, blocks: list[Block]) -> ContiguousPlan:
        """With more kept where room is left over, which moves less in the same time."""
        blocks, _ = self._rounds.fill(blocks, self._whole)
        return self._rounds.evaluate(blocks, self._whole)

    def _begin(self) -> Iterator[ContiguousPlan]:
        """The paged blocks, if they fit; else cut to fit; else required-resident operands alone."""
        fitted = None if self._large else self._fit()
        if fitted is not None:
            yield fitted
            return
        any_found = False
        for blocks in (self._paged, self._blocks_of_operands()):
            for order in ORDERS.values():
                if any_found and (self._large or self._request.is_over()):
                    return
                found = self._pack(blocks, order)
                if found is not None:
                    any_found = True
                    yield found
            if any_found:
                return

    def _fit(self) -> ContiguousPlan | None:
        blocks = self._uses.mark(self._paged)
        request, case = self._request, self._rounds.case
        request.report("contiguous addresses, nothing cut", None)
        machine = case.problem.machine
        scratch = machine.pages(case.line.scratch_bytes)
        if len(blocks) > self._params.fitted_blocks:
            return None
        if not fit(blocks, machine.spm_pages, scratch, request):
            return None
        return self._rounds.evaluate(blocks, self._whole)

    def _pack(
        self, blocks: list[Block], order: Order, owners: list[int] | None = None
    ) -> ContiguousPlan | None:
        """Blocks placed anew, or only ``owners``; None if a required operand does not fit."""
        self._request.report("contiguous addresses, placed anew", None)
        blocks = self._uses.mark(blocks)
        moved = range(len(blocks)) if owners is None else owners
        others = {owner: blocks[owner] for owner in {*range(len(blocks))} - {*moved}}
        if not pack(blocks, self._rounds.case.memory(self._whole, others), order, moved):
            return None
        return self._rounds.evaluate(blocks, self._whole)

    def _after(self, start: ContiguousPlan, most: int) -> Iterator[ContiguousPlan]:
        """Rounds while they help; none where a program of all steps would take too long."""
        if self._large:
            return
        for number in range(most):
            if self._request.is_over():
                return
            self._request.report(f"contiguous addresses, round {number + 1}", None)
            found = self._rounds.solve(start.blocks, self._whole)
            if found is None:
                return
            yield found
            if found.value > start.value * (1 - self._least):
                return
            start = found

    def _blocks_of_operands(self) -> list[Block]:
        """Only required bytes, only while required."""
        line = self._rounds.case.line
        access = np.lexsort((line.step, line.tensor))
        access = access[line.required_resident[access]]
        tensor, step = line.tensor[access], line.step[access]
        needed = Residency(
            tensor=tensor, begin=step, end=step + 1, size_bytes=line.size_bytes[tensor]
        )
        return blocks_of(needed, self._rounds.case.problem.machine)


def _gain(line: Timeline, duals: Certificate | None) -> Floats:
    """(a,) Saving of a byte kept from an access to the next one, at the duals of the bound."""
    into = np.ones(line.steps)
    out = into
    if duals is not None and duals.order is None:
        # Saved transfers count most where the channel is short.
        into, out = duals.dram_in.astype(np.float64), duals.dram_out.astype(np.float64)
    following = np.maximum(line.next, 0)
    read = np.where(line.next >= 0, into[line.step[following]] * line.fetches[following], 0.0)
    written = np.where(line.kind != Access.READ, out[line.step] * line.fetches, 0.0)
    gain = np.where(line.next >= 0, read + written, 0.0)
    result: Floats = np.maximum(gain, _TINY * gain.max(initial=1.0) * (line.next >= 0))
    return result


_NONE = "found no schedule in which each tensor has one range of addresses"


def schedule(problem: Problem, request: Request) -> Result:
    """Good schedule with contiguous addresses; its bound is that of any addresses.

    The paged optimum, for which half of the time limit is, is repaired first; then those of the
    residency plans to start from that are better than its result.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    paged = page.round_values(problem, request.part(bounds=True).share(0.5))
    best: ContiguousPlan | None = None

    def value(residency_plan: ResidencyPlan) -> Fraction:
        return residency_plan_value(problem, residency_plan, request.objective)

    starts = [
        residency_plan
        for residency_plan in (request.start, *request.others)
        if residency_plan is not None
    ]
    residency_plans = [*([] if paged.residency_plan is None else [paged.residency_plan]), *starts]
    for residency_plan in residency_plans:
        if best is not None and value(residency_plan) >= best.value:
            continue
        late = best is not None and request.is_over()
        for found in Repair(problem, request, residency_plan, paged.certificate).residency_plans():
            if best is None or found.value < best.value:
                best = found
                request.report_incumbent(value=best.value)
            if late:  # a start that can be placed must not be better than the answer
                break
    return Result(
        residency_plan=None if best is None else best.residency_plan,
        certificate=paged.certificate,
        notes=paged.notes if best is not None else (*paged.notes, _NONE),
        cut_short=paged.cut_short,
    )
