"""The Lagrangian dual: shortest paths of all tensors at given prices (problem statement, 5).

States of a byte after an access: ``D`` in SPM only (dirty), ``R`` in SPM and DRAM, ``N`` in
DRAM only. Given prices the tensors part company, and each byte of a tensor takes a cheapest
path through its accesses. ``Gaps`` lets one slice operation advance the k-th access of every
tensor, and range minima give the best step within each gap for a load or a store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import Floats, RangeMinimum
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

INFINITE = np.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class Arcs:
    """Costs per byte of what may happen in each gap and at each access, all (a,).

    ``hold``: stay resident through the gap. ``load``: enter within the gap at step
    ``load_at`` and stay. ``drop``: store at ``drop_at`` and leave. ``clean``: store at
    ``clean_at`` and stay. ``load_here``, ``clean_here``: the same in the access's own step.
    ``stream``: pass by the SPM. ``keep_here``: the byte of SPM in the access's step.
    ``final_drop`` (f,): store after the last access at ``final_at``.
    """

    hold: Floats
    load: Floats
    load_at: Ints
    drop: Floats
    drop_at: Ints
    clean: Floats
    clean_at: Ints
    keep_here: Floats
    load_here: Floats
    clean_here: Floats
    stream: Floats
    final_drop: Floats
    final_at: Ints


def arcs(gaps: Gaps, economy: Economy, prices: Multipliers) -> Arcs:
    """Cost of every arc at ``prices``."""
    into, out, held = step_prices(economy, prices)
    upto = np.concatenate(([0.0], np.cumsum(held)))
    begin, step = gaps.begin, gaps.step
    loads = RangeMinimum(into - upto[:-1])
    drops = RangeMinimum(out + upto[1:])
    cleans = RangeMinimum(out)
    load_at, drop_at = loads.argmin(gaps.inner), drops.argmin(gaps.inner)
    clean_at, final_at = cleans.argmin(gaps.inner), drops.argmin(gaps.final)
    hold = upto[step] - upto[np.minimum(begin, step)]
    fixed = gaps.stationary
    store_time = economy.byte_time + economy.out_byte
    load_time = economy.byte_time + economy.in_byte
    return Arcs(
        hold=hold,
        load=loads.at(load_at) + upto[step],
        load_at=load_at,
        drop=drops.at(drop_at) - upto[begin],
        drop_at=drop_at,
        clean=cleans.at(clean_at) + hold,
        clean_at=clean_at,
        keep_here=held[step],
        load_here=np.where(fixed, load_time, into[step]),
        clean_here=np.where(fixed & (gaps.kind != Access.READ), store_time, out[step]),
        stream=np.where(fixed, INFINITE, _stream(gaps, into[step], out[step])),
        final_drop=drops.at(final_at) - upto[gaps.step[gaps.last] + 1],
        final_at=final_at,
    )


def step_prices(economy: Economy, prices: Multipliers) -> tuple[Floats, Floats, Floats]:
    """Price of a byte loaded, stored and held in each step, the objective's included."""
    return prices.load + economy.in_byte, prices.store + economy.out_byte, prices.spm


def _stream(gaps: Gaps, into: Floats, out: Floats) -> Floats:
    """Price of not being resident at an access (table of section 5)."""
    passes = gaps.passes.astype(np.float64)
    write = np.where(gaps.dead, 0.0, passes * out + (passes - 1) * into)
    update = passes * into + np.where(gaps.dead, 0.0, passes * out)
    return np.select(
        [gaps.kind == Access.READ, gaps.kind == Access.WRITE], [passes * into, write], update
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Costs:
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Forward(Costs):
    """To reach each state; ``best``, valid at each tensor's last access: of its whole path."""

    best: Floats


class Backward(Costs):
    """To go on from each state."""


def forward(gaps: Gaps, arc: Arcs) -> Forward:
    """Advance all tensors access by access."""
    size = gaps.step.size
    dirty, clean, gone = (np.full(size, INFINITE) for _ in range(3))
    dirty_in, clean_in, gone_in = (np.full(size, INFINITE) for _ in range(3))
    bypass = np.zeros(size)
    start = 0
    for begin, end in gaps.slices:
        here = slice(begin, end)
        before = slice(start, start + end - begin)
        live = gaps.live[here]
        if begin == 0:
            gone_in[here] = np.where(gaps.from_dram[here], 0.0, INFINITE)
            clean_in[here] = gone_in[here] + arc.load[here]
        else:
            d, r, n = dirty[before], clean[before], gone[before]
            bypass[here] = np.minimum(np.minimum(d, r), n)
            dirty_in[here] = np.where(live, d + arc.hold[here], INFINITE)
            left = np.minimum(np.minimum(n, r), d + arc.drop[here])
            gone_in[here] = np.where(live, left, INFINITE)
            kept = np.minimum(r + arc.hold[here], d + arc.clean[here])
            clean_in[here] = np.where(live, np.minimum(kept, left + arc.load[here]), INFINITE)
        _access(gaps, arc, here, (dirty_in, clean_in, gone_in, bypass), (dirty, clean, gone))
        start = begin
    best = np.minimum(np.minimum(dirty, clean), gone)
    ended = np.minimum(clean, gone)[gaps.last]
    best[gaps.last] = np.minimum(ended, dirty[gaps.last] + arc.final_drop)
    return Forward(
        dirty_in=dirty_in,
        clean_in=clean_in,
        gone_in=gone_in,
        dirty=dirty,
        clean=clean,
        gone=gone,
        bypass=bypass,
        best=best,
    )


def _access(
    gaps: Gaps,
    arc: Arcs,
    here: slice,
    arriving: tuple[Floats, Floats, Floats, Floats],
    leaving: tuple[Floats, Floats, Floats],
) -> None:
    """One slice of accesses: arrival costs in, departure costs written."""
    d, r, n, bypass = (column[here] for column in arriving)
    held, dead = arc.keep_here[here], gaps.dead[here]
    load, store, stream = arc.load_here[here], arc.clean_here[here], arc.stream[here]
    kind = gaps.kind[here]
    read, write = kind == Access.READ, kind == Access.WRITE
    inside = np.minimum(np.minimum(r, d), n + load) + held
    past = n + stream
    # Blind writes start from anything; dead results end in N, which then stands for U.
    w_dirty = bypass + held
    u_dead, w_dead = np.minimum(inside, past), bypass + np.where(gaps.stationary[here], held, 0.0)
    leaving[0][here] = np.where(read, d + held, np.where(write, w_dirty, inside))
    leaving[1][here] = np.where(
        read,
        np.minimum(np.minimum(r, n + load), d + store) + held,
        np.where(write, w_dirty, inside) + store,
    )
    leaving[2][here] = np.where(write, bypass + stream, past)
    ends = dead & ~read
    leaving[0][here][ends] = INFINITE
    leaving[1][here][ends] = INFINITE
    leaving[2][here] = np.where(ends, np.where(write, w_dead, u_dead), leaving[2][here])


def backward(gaps: Gaps, arc: Arcs) -> Backward:
    """Walk back from the end; mirrors :func:`forward`."""
    size = gaps.step.size
    dirty, clean, gone = (np.zeros(size) for _ in range(3))
    dirty[gaps.last] = arc.final_drop
    dirty_in, clean_in, gone_in, bypass = (np.full(size, INFINITE) for _ in range(4))
    starts = [*gaps.slices[1:], None]
    for (begin, end), later in reversed(list(zip(gaps.slices, starts, strict=True))):
        if later is not None:
            there = slice(*later)
            before = slice(begin, begin + later[1] - later[0])
            live, hold = gaps.live[there], arc.hold[there]
            d, r, n = dirty_in[there], clean_in[there], gone_in[there]
            n = np.minimum(n, arc.load[there] + r)
            other = bypass[there]
            to_clean = np.minimum(hold + r, n)
            to_dirty = np.minimum(np.minimum(hold + d, arc.clean[there] + r), arc.drop[there] + n)
            dirty[before] = np.where(live, to_dirty, other)
            clean[before] = np.where(live, to_clean, other)
            gone[before] = np.where(live, n, other)
        here = slice(begin, end)
        _access_back(gaps, arc, here, (dirty, clean, gone), (dirty_in, clean_in, gone_in, bypass))
    return Backward(
        dirty_in=dirty_in,
        clean_in=clean_in,
        gone_in=gone_in,
        dirty=dirty,
        clean=clean,
        gone=gone,
        bypass=bypass,
    )


def _access_back(
    gaps: Gaps,
    arc: Arcs,
    here: slice,
    leaving: tuple[Floats, Floats, Floats],
    arriving: tuple[Floats, Floats, Floats, Floats],
) -> None:
    """One slice of accesses, backwards: departure costs in, arrival costs written."""
    d, r, n = (column[here] for column in leaving)
    held, dead = arc.keep_here[here], gaps.dead[here]
    load, store, stream = arc.load_here[here], arc.clean_here[here], arc.stream[here]
    kind = gaps.kind[here]
    read, write = kind == Access.READ, kind == Access.WRITE
    ends = dead & ~read
    written = np.where(ends, n, np.minimum(d, r + store)) + held
    arriving[0][here] = np.where(read, np.minimum(d, r + store) + held, written)
    arriving[1][here] = np.where(read, r + held, written)
    kept = np.where(read, r + held, written) + load
    arriving[2][here] = np.minimum(kept, stream + n)
    stay = np.where(gaps.stationary[here], held, 0.0)
    arriving[3][here] = np.where(
        write, np.where(ends, stay + n, np.minimum(written, stream + n)), INFINITE
    )


def dual_value(gaps: Gaps, economy: Economy, prices: Multipliers, best: Floats) -> float:
    """The Lagrangian bound in objective units, in floating point (for steering only)."""
    ends: Bools = gaps.next < 0
    # Not np.dot: its threads wait for each other longer than these sums take.
    paths = float((gaps.size_bytes[ends] * best[ends]).sum())
    computing = float((prices.slack_price(economy) * economy.compute_cycles).sum())
    held = float((prices.spm * economy.capacity_bytes).sum())
    return economy.constant + computing + paths - held
