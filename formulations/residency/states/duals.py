"""A bound that knows commands and pages: each tensor by itself, at dual values of room and time.

As the bound of :mod:`formulations.residency.bound` it charges room and the time of the channel,
but a tensor's cheapest path is one over whole pages, and each of its commands pays its set-up and
whole cycles. With several mappings each tensor of a step chooses one, and *tolls* on these choices
make them agree. Stored bytes are not rounded to cycles: then stores of a version cost a fixed part
and an even rate, so that some cheapest path stores whole pages, as paths over pages need; and
rounding only adds to the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.residency.states.facts import Facts, MappingFacts, StepFacts
from formulations.solver.program import Floats
from spmopt.core.table import Ints

POINT = 16
"""Binary digits of dual values behind the point."""
NEVER = 2**59
"""More than any cost, at that scale; two of them still fit 64 bits."""
_DEAREST = 2.0**38
"""Most that a page or a toll costs: sums over 12 steps and 16 pages still fit 64 bits."""
_LENGTH = 1.0
"""Of the first steps, in the distance that there would be to the best schedule's cost."""
_PATIENCE = 10
"""Steps without a better bound after which they begin at the best again, half as long."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StateDuals:
    """Dual values in units of ``2**-POINT`` of a cost.

    Attributes
    ----------
    page : (n,)
        Of a page held in a step.
    into, out : (n,)
        Of a cycle of each direction of the channel; the same where there is one channel.
    toll
        By step (mappings, m): of a tensor that chooses the mapping; any sign.
    """

    page: Ints
    into: Ints
    out: Ints
    toll: tuple[Ints, ...]


class MappingCosts(NamedTuple):
    """Costs of a step in a mapping at dual values.

    ``change`` (m, k, k): pages before by pages in the step. ``store`` (m, k, k): dirty pages by
    those left dirty. ``kept`` (m, k, k): pages in the step by dirty ones, the best continuation,
    the store in the step included. ``base``: the part that does not depend on tensors.
    """

    change: Ints
    store: Ints
    kept: Ints
    base: int


class CostsToGo:
    """Least costs from each state of each tensor on, at some dual values.

    Attributes
    ----------
    to_go
        By step (m, k, k): from pages and dirty pages before the step to the end; after the last
        step too.
    base
        By step: the rest of the bound from there on.
    mappings
        By step: of each mapping.
    """

    def __init__(self, facts: Facts, duals: StateDuals) -> None:
        """Sum up from the last step to the first."""
        self.facts, self.duals = facts, duals
        layout = facts.layout
        dirty = np.arange(layout.size.shape[1])
        shape = (*layout.size.shape, layout.size.shape[1])
        # Of what must be in DRAM at the end nothing may be dirty.
        end = np.where(facts.steps[-1].live_after[:, None, None] & (dirty > 0), NEVER, 0)
        self.to_go: list[Ints] = [np.broadcast_to(end, shape)]
        self.base = [0]
        self.mappings: list[list[MappingCosts]] = []
        for step in reversed(range(len(facts.steps))):
            of_step = facts.steps[step]
            costs = [self._mapping(step, mapping) for mapping in of_step.mappings]
            self.mappings.append(costs)
            paths = [_cheapest(of_step, each) for each in costs]
            least = np.minimum.reduce(
                [
                    each + toll[:, None, None]
                    for each, toll in zip(paths, duals.toll[step], strict=True)
                ]
            )
            self.to_go.append(np.minimum(least, NEVER))
            rest = min(
                each.base - int(toll.sum())
                for each, toll in zip(costs, duals.toll[step], strict=True)
            )
            self.base.append(self.base[-1] + rest - int(duals.page[step]) * layout.capacity)
        self.to_go.reverse()
        self.base.reverse()
        self.mappings.reverse()

    @property
    def bound(self) -> int:
        """Lower bound on every schedule, in the units of dual values."""
        return self.base[0] + int(self.to_go[0][:, 0, 0].sum())

    def _mapping(self, step: int, mapping: MappingFacts) -> MappingCosts:
        facts, duals = self.facts, self.duals
        into, out = int(duals.into[step]), int(duals.out[step])
        full = facts.layout.cycle << POINT
        rest = full - (into + out if facts.layout.duplex else into)
        store = self._stores(np.where(mapping.after, full, out))
        pages = np.arange(store.shape[1])
        after = self.to_go[-1]
        # Pages, dirty pages; those left dirty come first, as sums over whole tables are quicker.
        left = store.transpose(2, 0, 1)[:, :, None] + after.transpose(2, 0, 1)[..., None]
        best = left.min(axis=0)
        dead = ~facts.steps[step].live_after
        best[dead] = after[dead, 0, 0][:, None, None]
        change = into * mapping.into + out * mapping.out + full * mapping.before
        change = change + (mapping.dual << POINT) + int(duals.page[step]) * pages
        return MappingCosts(
            change=np.where(mapping.allowed, change, NEVER),
            store=store,
            kept=np.minimum(best, NEVER),
            base=rest * mapping.compute_cycles
            + (mapping.fixed << POINT)
            + int(duals.page[step]) * mapping.scratch_pages,
        )

    def _stores(self, dual: Ints) -> Ints:
        """Return (m, k, k) costs of a store, from dirty pages to those left; dual (m,) a cycle."""
        layout = self.facts.layout
        moved = np.maximum(layout.size[:, :, None] - layout.size[:, None, :], 0)
        each = dual[:, None, None]
        cost = each * layout.setup + each * moved * layout.per // layout.rate
        cost += (layout.out_byte << POINT) * moved
        dirty, left = np.triu_indices(layout.size.shape[1], 1)
        cost[:, dirty, left] = NEVER  # nothing gets dirty by a store
        cost[:, range(len(cost[0])), range(len(cost[0]))] = 0
        result: Ints = cost
        return result


def arrivals(step: StepFacts, costs: MappingCosts) -> Ints:
    """Return (m, k, k, k) costs to go by pages before, dirty pages before and pages in the step."""
    kept = _keep(step, costs).transpose(0, 2, 1)
    result: Ints = np.minimum(costs.change[:, :, None] + kept[:, None], NEVER)
    return result


def _keep(step: StepFacts, costs: MappingCosts) -> Ints:
    """Return (m, k, k) costs to go, by pages in the step and dirty pages before it.

    Dirty bytes have to remain (R5); bytes written in the step are dirty after it.
    """
    pages = np.arange(costs.kept.shape[1])
    written = np.diagonal(costs.kept, axis1=1, axis2=2)[:, :, None]
    kept = np.where(step.written[:, None, None], written, costs.kept)
    lost = (pages[:, None] < pages) & step.live[:, None, None]
    result: Ints = np.where(lost, NEVER, kept)
    return result


def _cheapest(step: StepFacts, costs: MappingCosts) -> Ints:
    """Return (m, k, k) costs to go by pages before and dirty pages before."""
    # Pages in the step come first, as sums over whole tables are quicker.
    change, kept = costs.change.transpose(2, 0, 1), _keep(step, costs).transpose(1, 0, 2)
    result: Ints = np.minimum((change[..., None] + kept[:, :, None]).min(axis=0), NEVER)
    return result


def _from_state(step: StepFacts, costs: MappingCosts, pages: Ints, dirty: Ints) -> Ints:
    """Return (m, k) costs to go by pages in the step, from the state of each tensor before it."""
    tensors = np.arange(len(pages))
    total = costs.change[tensors, pages] + _keep(step, costs)[tensors, :, dirty]
    result: Ints = np.minimum(total, NEVER)
    return result


class Usage(NamedTuple):
    """Excess of the cheapest paths over the capacities: slopes of the bound along the duals."""

    page: Floats
    into: Floats
    out: Floats
    toll: list[Floats]


def usage(costs: CostsToGo) -> Usage:
    """Follow the cheapest path of every tensor."""
    facts, duals = costs.facts, costs.duals
    layout, count = facts.layout, len(facts.steps)
    tensors = np.arange(layout.pages.size)
    pages, dirty = np.zeros_like(tensors), np.zeros_like(tensors)
    found = Usage(np.zeros(count), np.zeros(count), np.zeros(count), [])
    for step, of_step in enumerate(facts.steps):
        mappings, tolls = costs.mappings[step], duals.toll[step]
        bases = [each.base - int(toll.sum()) for each, toll in zip(mappings, tolls, strict=True)]
        common = int(np.argmin(bases))
        ahead = [_from_state(of_step, each, pages, dirty) for each in mappings]
        own = np.argmin(
            [each.min(axis=1) + toll for each, toll in zip(ahead, tolls, strict=True)], axis=0
        )
        found.toll.append(
            np.array(
                [of_step.used * ((own == m) - float(m == common)) for m in range(len(mappings))]
            )
        )
        held = np.array([each.argmin(axis=1) for each in ahead])[own, tensors]
        dirty = np.where(of_step.written, held, dirty)
        left = _dirty_after(costs, step, own, held, dirty)
        into, out = _move(costs, step, own, pages, held)
        stored = layout.size[tensors, dirty] - layout.size[tensors, left]
        after = np.array([mapping.after for mapping in of_step.mappings])[own, tensors]
        out = out + np.where(
            after | (stored == 0), 0, layout.setup + stored * layout.per / layout.rate
        )
        mapping = of_step.mappings[common]
        found.page[step] = held.sum() + mapping.scratch_pages - layout.capacity
        found.into[step] = into.sum() - mapping.compute_cycles
        found.out[step] = out.sum() - mapping.compute_cycles
        pages = np.where(of_step.live_after, held, 0)
        dirty = np.where(of_step.live_after, left, 0)
    return found


def _dirty_after(costs: CostsToGo, step: int, own: Ints, held: Ints, dirty: Ints) -> Ints:
    """Return (m,) dirty pages after the best store."""
    tensors = np.arange(own.size)
    store = np.array([each.store for each in costs.mappings[step]])[own, tensors, dirty]
    left: Ints = (store + costs.to_go[step + 1][tensors, held]).argmin(axis=1)
    return left


def _move(costs: CostsToGo, step: int, own: Ints, pages: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Return (m,) cycles of each direction that the operation does not wait for."""
    tensors, mappings = np.arange(own.size), costs.facts.steps[step].mappings
    into, out = (
        np.array([getattr(mapping, name) for mapping in mappings])[own, tensors, pages, held]
        for name in ("into", "out")
    )
    return into, out


class Ascent:
    """Subgradient steps on the dual values, as long as the best schedule known lets hope (Polyak).

    A page's dual value counts in costs of moving one, a cycle's in those of one, a toll in those of
    a step, so that all of them matter alike.
    """

    def __init__(self, facts: Facts, start: Sequence[Floats]) -> None:
        """Begin with costs of a page held and of a cycle in and out in each step (n,)."""
        self.facts = facts
        layout = facts.layout
        self._cycle = float(layout.cycle)
        moved = max(layout.in_byte, layout.out_byte) + self._cycle * layout.per / layout.rate
        self._page = moved * layout.page
        self._at = [np.asarray(each, np.float64) for each in start]
        shape = layout.pages.size
        self._tolls = [np.zeros((len(step.mappings), shape)) for step in facts.steps]
        self.best = CostsToGo(facts, self._legal())
        self._best_at = self._here()

    def climb(self, most: int, count: int) -> CostsToGo:
        """Take at most ``count`` steps; ``most`` is the cost of a known schedule."""
        goal = float(most << POINT)
        length, idle, costs = _LENGTH, 0, self.best
        self._at, self._tolls = (list(each) for each in self._best_at)
        for _ in range(count):
            if self.best.bound > (most - 1) << POINT or length < 1e-3:
                break
            slope = usage(costs)
            if not self._square(slope):
                break  # no dual values are better
            self._move(slope, length * (goal - costs.bound) / (1 << POINT))
            costs = CostsToGo(self.facts, self._legal())
            idle += 1
            if costs.bound > self.best.bound:
                self.best, self._best_at, idle = costs, self._here(), 0
            elif idle == _PATIENCE:
                length, idle, costs = length / 2, 0, self.best
                self._at, self._tolls = (list(each) for each in self._best_at)
        return self.best

    def _here(self) -> tuple[list[Floats], list[Floats]]:
        return list(self._at), list(self._tolls)

    def _move(self, slope: Usage, hope: float) -> None:
        step = hope / self._square(slope)
        slopes = (slope.page, slope.into, slope.out)
        scales = (self._page, self._cycle, self._cycle)
        for row, (each, scale) in enumerate(zip(slopes, scales, strict=True)):
            self._at[row] = self._at[row] + step * scale**2 * each
        for row, each in enumerate(slope.toll):
            self._tolls[row] = self._tolls[row] + step * self._toll**2 * each
        self._clamp()

    def _square(self, slope: Usage) -> float:
        tolls = sum(float((each**2).sum()) for each in slope.toll)
        time = float((slope.into**2).sum())
        time += float((slope.out**2).sum()) if self.facts.layout.duplex else 0.0
        held = float((slope.page**2).sum())
        return self._page**2 * held + self._cycle**2 * time + self._toll**2 * tolls

    @property
    def _toll(self) -> float:
        return self._page

    def _clamp(self) -> None:
        page, into, out = self._at
        page = np.clip(page, 0.0, _DEAREST)
        self._tolls = [np.clip(each, -_DEAREST, _DEAREST) for each in self._tolls]
        into, out = np.maximum(into, 0.0), np.maximum(out, 0.0)
        if not self.facts.layout.duplex:
            into = np.minimum(into, self._cycle)
            self._at = [page, into, into]
            return
        most = np.maximum((into + out) / max(self._cycle, 1e-300), 1.0)
        self._at = [page, into / most, out / most]

    def _legal(self) -> StateDuals:
        """Return the dual values in whole units; quotients are rounded down."""
        self._clamp()
        page, into, out = (np.floor(each * (1 << POINT)).astype(np.int64) for each in self._at)
        tolls = tuple(np.rint(each * (1 << POINT)).astype(np.int64) for each in self._tolls)
        return StateDuals(page=page, into=into, out=out, toll=tolls)
