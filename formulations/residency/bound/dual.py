"""The Lagrangian dual: shortest paths of all tensors at given dual values (PROBLEM.md, section 5).

States of a byte after an access: ``D`` in SPM only (dirty), ``R`` in SPM and DRAM, ``N`` in
DRAM only. Given dual values the tensors do not interact, and each byte of a tensor takes a cheapest
path through its accesses. ``RankedIntervals`` lets one slice operation advance the k-th access of
every tensor, and range minima give the best step within each interval for a load or a store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.residency.bound.compiled import kernel_of
from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

INFINITE = np.inf


class DualFunction:
    """The dual at given dual values: its values, computed when a search reads them.

    Attributes
    ----------
    at_step, arc
        Dual values in each step, and the cost of every arc.
    """

    def __init__(
        self,
        intervals: RankedIntervals,
        coefficients: CostCoefficients,
        duals: Multipliers,
        arcs: Callable[[RankedIntervals, MoveDuals], Arcs] | None = None,
    ) -> None:
        """Take dual values; ``arcs`` of accesses that do not cost as their records say."""
        self.intervals, self.coefficients, self.duals = intervals, coefficients, duals
        self.at_step, self._arcs = MoveDuals(coefficients, duals), arcs or dual_arcs
        self.kernel = None if arcs else kernel_of(intervals)

    @cached_property
    def arc(self) -> Arcs:
        """The cost of every arc."""
        if self.kernel is None:
            return self._arcs(self.intervals, self.at_step)
        drop, at = final_drops(self.intervals, self.at_step)
        return Arcs(**self.kernel.arcs(self.at_step), final_drop=drop, final_at=at)

    @cached_property
    def ahead(self) -> Forward:
        """Cheapest paths up to each access."""
        if self.kernel is None:
            return forward(self.intervals, self.arc)
        return Forward(**self.kernel.ahead(self.at_step))

    @cached_property
    def back(self) -> PathCosts:
        """Cheapest paths from each access on."""
        if self.kernel is None:
            return backward(self.intervals, self.arc)
        return PathCosts(**self.kernel.back(self.at_step))

    @cached_property
    def _at_ends(self) -> Floats:
        """Cost of the cheapest path of each tensor, in the order of its last access."""
        ends = self.intervals.ends
        if self.kernel is None or "ahead" in self.__dict__:
            return self.ahead.best[ends]
        self.kernel.evaluate(self.at_step)
        return self.kernel.best[ends]

    @cached_property
    def value(self) -> float:
        """The Lagrangian bound in objective units, in floating point (for steering only)."""
        coefficients, duals = self.coefficients, self.duals
        # Not np.dot: its threads wait for each other longer than these sums take.
        paths = float((self.intervals.size_bytes[self.intervals.ends] * self._at_ends).sum())
        held = float((duals.spm * coefficients.capacity_bytes).sum())
        return coefficients.constant + duals.computing(coefficients) + paths - held

    @property
    def best(self) -> Floats:
        """(a,) Cost of the best path of the access's tensor."""
        intervals = self.intervals
        of_tensor = np.zeros(int(intervals.tensor.max()) + 1)
        of_tensor[intervals.tensor[intervals.ends]] = self._at_ends
        result: Floats = of_tensor[intervals.tensor]
        return result


@dataclass(frozen=True, kw_only=True, eq=False)
class Arcs:
    """Costs per byte of events in each interval and at each access, all (a,).

    ``hold``: remain resident through the interval. ``load``: enter within it at step
    ``load_at`` and remain. ``drop``: store at ``drop_at`` and leave. ``clean``: store at
    ``clean_at`` and remain. ``load_here``, ``clean_here``: the same in the access's own step.
    ``stream``: pass by the SPM. ``keep_here``: the byte of SPM in the access's step, infinite
    where none may be resident (``RankedIntervals.absent``).
    ``final_drop`` (f,): store after the last access at ``final_at``.
    """

    hold: Floats
    load: Floats
    drop: Floats
    clean: Floats
    keep_here: Floats
    load_here: Floats
    clean_here: Floats
    stream: Floats
    load_at: Ints
    drop_at: Ints
    clean_at: Ints
    final_drop: Floats
    final_at: Ints


def dual_arcs(intervals: RankedIntervals, duals: MoveDuals) -> Arcs:
    """Compute the costs of all arcs at dual values."""
    upto, step, inner = duals.cost_before, intervals.at, intervals.inner
    begin, (load_fixed, store_fixed) = (
        intervals.begin + intervals.offset,
        duals.fixed(intervals.ratio),
    )
    fixed, written = intervals.required_resident, ~intervals.read
    loaded, stored = duals.loaded[step], duals.stored[step]
    # Prefix sums: the untouched steps of the interval.
    hold = upto[step] - upto[np.minimum(begin, step)]
    here = duals.held[step]
    here = np.where(intervals.early, here + duals.held[step - 1], here)
    # Where no byte may be resident the arc does not exist.
    keep_here = np.where(intervals.absent, INFINITE, here)
    load_at, drop_at = duals.loads.argmin(inner), duals.drops.argmin(inner)
    clean_at = duals.cleans.argmin(inner)
    final_drop, final_at = final_drops(intervals, duals)
    arcs = Arcs(
        hold=hold,
        # Loaded at q, held from q to the access: the part that depends on q is in the range
        # minimum.
        load=duals.loads.at(load_at) + upto[step],
        drop=duals.drops.at(drop_at) - upto[begin],
        clean=duals.cleans.at(clean_at) + hold,
        keep_here=keep_here,
        load_here=np.where(fixed, load_fixed, loaded),
        clean_here=np.where(fixed & written, store_fixed, stored),
        # R3: a required-resident operand is never streamed.
        stream=np.where(fixed, INFINITE, _stream(intervals, loaded, stored)),
        load_at=load_at - intervals.offset,
        drop_at=drop_at - intervals.offset,
        clean_at=clean_at - intervals.offset,
        final_drop=final_drop,
        final_at=final_at,
    )
    return arcs if intervals.setups is None else _with_setups(arcs, intervals, duals)


def _with_setups(arcs: Arcs, intervals: RankedIntervals, duals: MoveDuals) -> Arcs:
    """Add shares of the set-ups of commands, at the dual value of their time alone."""
    setups, inner = intervals.setups, intervals.inner
    assert setups is not None
    moved, streamed, step = setups.moved, setups.streamed, intervals.at
    in_byte, out_byte = duals.alone(intervals.ratio)
    entered = duals.entries.at(duals.entries.argmin(inner)) - in_byte
    stored = duals.cleans.at(duals.cleans.argmin(inner)) - out_byte
    # Of no steps both are infinite, as is what they would be added to.
    entered, stored = (np.where(inner.empty, 0.0, each) for each in (entered, stored))
    into = np.where(_crosses_in(intervals), duals.loaded[step] - in_byte, 0.0)
    crosses_out = ~(intervals.read | intervals.dead)
    out = np.where(crosses_out, duals.stored[step] - out_byte, 0.0)
    return replace(
        arcs,
        load=arcs.load + moved * entered,
        drop=arcs.drop + moved * stored,
        clean=arcs.clean + moved * stored,
        load_here=arcs.load_here + moved * (arcs.load_here - in_byte),
        clean_here=arcs.clean_here + moved * (arcs.clean_here - out_byte),
        stream=arcs.stream + streamed * into + streamed * out,
    )


def _crosses_in(intervals: RankedIntervals) -> Bools:
    """Return (a,) whether bytes streamed at an access come in."""
    partial = (intervals.fetches > 1) & ~intervals.dead
    result: Bools = np.where(intervals.write, partial, True)
    return result


def final_drops(intervals: RankedIntervals, duals: MoveDuals) -> tuple[Floats, Ints]:
    """Return (f,) the least cost of a store after each ``last`` access, and its step."""
    at, last = duals.drops.argmin(intervals.after_last), intervals.last
    held = duals.cost_before[intervals.at[last] + 1]
    drop, step = duals.drops.at(at) - held, at - intervals.offset[last]
    if intervals.setups is None:
        return drop, step
    stored = duals.cleans.at(duals.cleans.argmin(intervals.after_last))
    stored -= duals.alone(intervals.ratio[last])[1]
    stored = np.where(intervals.after_last.empty, 0.0, stored)
    return drop + intervals.setups.moved[last] * stored, step


def _stream(intervals: RankedIntervals, into: Floats, out: Floats) -> Floats:
    """Return (a,) the cost of not being resident at an access (table of section 5)."""
    fetches = intervals.fetches.astype(np.float64)
    stored = np.where(intervals.dead, 0.0, fetches * out)
    partial = np.where(intervals.dead, 0.0, (fetches - 1) * into)
    into = np.where(intervals.write, partial, fetches * into)
    return into + np.where(intervals.read, 0.0, stored)


@dataclass(frozen=True, eq=False)
class PathCosts:
    """Cheapest cost (a,) to one side of each state: arriving (``*_in``) and after each access.

    ``bypass`` is that of "anything", which a blind write may come from.
    """

    dirty_in: Floats
    clean_in: Floats
    gone_in: Floats
    dirty: Floats
    clean: Floats
    gone: Floats
    bypass: Floats


@dataclass(frozen=True, eq=False)
class Forward(PathCosts):
    """To reach each state; ``best``, valid at each tensor's last access: of its whole path."""

    best: Floats


def forward(intervals: RankedIntervals, arc: Arcs) -> Forward:
    """Advance all tensors access by access."""
    cost = Forward(*np.full((8, intervals.step.size), INFINITE))
    cost.bypass[:] = 0.0
    start = 0
    for begin, end in intervals.slices:
        here = slice(begin, end)
        before = slice(start, start + end - begin)
        live = intervals.live[here]
        if begin == 0:
            # Before its first access a tensor is in DRAM, or nowhere.
            cost.gone_in[here] = np.where(intervals.from_dram[here], 0.0, INFINITE)
            cost.clean_in[here] = cost.gone_in[here] + arc.load[here]
        else:
            d, r, n = cost.dirty[before], cost.clean[before], cost.gone[before]
            # A blind write may follow any state: the old contents are dead.
            cost.bypass[here] = np.minimum(np.minimum(d, r), n)
            cost.dirty_in[here] = np.where(live, d + arc.hold[here], INFINITE)
            # N costs no more than R: clean bytes leave for nothing (R5).
            left = np.minimum(np.minimum(n, r), d + arc.drop[here])
            cost.gone_in[here] = np.where(live, left, INFINITE)
            kept = np.minimum(r + arc.hold[here], d + arc.clean[here])
            cost.clean_in[here] = np.where(live, np.minimum(kept, left + arc.load[here]), INFINITE)
        _access(intervals, arc, here, cost)
        start = begin
    last = intervals.last
    cost.best[:] = np.minimum(np.minimum(cost.dirty, cost.clean), cost.gone)
    # R7: dirty bytes of a kept tensor are stored at last.
    ended = np.minimum(cost.clean, cost.gone)[last]
    cost.best[last] = np.minimum(ended, cost.dirty[last] + arc.final_drop)
    return cost


def _access(intervals: RankedIntervals, arc: Arcs, here: slice, cost: PathCosts) -> None:
    """Advance a slice of accesses: arrival costs in, departure costs written."""
    d, r, n = cost.dirty_in[here], cost.clean_in[here], cost.gone_in[here]
    bypass, held, dead = cost.bypass[here], arc.keep_here[here], intervals.dead[here]
    load, store, stream = arc.load_here[here], arc.clean_here[here], arc.stream[here]
    read, write = intervals.read[here], intervals.write[here]
    inside = np.minimum(np.minimum(r, d), n + load) + held
    past = n + stream
    # Blind writes start from anything; dead results end in N, which then stands for U.
    w_dirty = bypass + held
    u_dead = np.minimum(inside, past)
    # Dead results stream for nothing, unless a mapping has a price, or they are required-resident.
    w_dead = bypass + np.minimum(held, stream)
    cleaned = np.minimum(np.minimum(r, n + load), d + store) + held
    written = np.where(write, w_dirty, inside)
    ends = dead & ~read
    cost.dirty[here] = np.where(ends, INFINITE, np.where(read, d + held, written))
    cost.clean[here] = np.where(ends, INFINITE, np.where(read, cleaned, written + store))
    gone = np.where(write, bypass + stream, past)
    cost.gone[here] = np.where(ends, np.where(write, w_dead, u_dead), gone)


def backward(intervals: RankedIntervals, arc: Arcs) -> PathCosts:
    """Return the cheapest cost to go on from each state; mirrors :func:`forward`."""
    cost = PathCosts(*np.full((7, intervals.step.size), INFINITE))
    for after in (cost.dirty, cost.clean, cost.gone):
        after[:] = 0.0
    cost.dirty[intervals.last] = arc.final_drop
    starts = [*intervals.slices[1:], None]
    for (begin, end), later in reversed(list(zip(intervals.slices, starts, strict=True))):
        if later is not None:
            there = slice(*later)
            before = slice(begin, begin + later[1] - later[0])
            live, hold, other = intervals.live[there], arc.hold[there], cost.bypass[there]
            d, r = cost.dirty_in[there], cost.clean_in[there]
            n = np.minimum(cost.gone_in[there], arc.load[there] + r)
            to_clean = np.minimum(hold + r, n)
            to_dirty = np.minimum(np.minimum(hold + d, arc.clean[there] + r), arc.drop[there] + n)
            cost.dirty[before] = np.where(live, to_dirty, other)
            cost.clean[before] = np.where(live, to_clean, other)
            cost.gone[before] = np.where(live, n, other)
        _access_back(intervals, arc, slice(begin, end), cost)
    return cost


def _access_back(intervals: RankedIntervals, arc: Arcs, here: slice, cost: PathCosts) -> None:
    """Walk a slice of accesses back: departure costs in, arrival costs written."""
    d, r, n = cost.dirty[here], cost.clean[here], cost.gone[here]
    held, dead = arc.keep_here[here], intervals.dead[here]
    load, store, stream = arc.load_here[here], arc.clean_here[here], arc.stream[here]
    read, write = intervals.read[here], intervals.write[here]
    ends = dead & ~read
    written = np.where(ends, n, np.minimum(d, r + store)) + held
    cost.dirty_in[here] = np.where(read, np.minimum(d, r + store) + held, written)
    cost.clean_in[here] = np.where(read, r + held, written)
    cost.gone_in[here] = np.minimum(cost.clean_in[here] + load, stream + n)
    cost.bypass[here] = np.where(
        write,
        np.where(ends, np.minimum(held, stream) + n, np.minimum(written, stream + n)),
        INFINITE,
    )
