"""Constraints (P1) to (P9) of the plain model, one function a family.

Variables, in bytes: ``r`` resident prefix of a tensor in a step, ``D`` dirty bytes after it
(``s - Z`` of the next step), ``load`` and ``store`` in it; ``e = beta d``, the bytes that the
channel moves in the step's duration. Streamed bytes follow from ``r``, p (s - r). ``q`` pages
and ``z`` (all of the tensor is resident) are there with whole pages only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from tests.formulations.plain.cells import Cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Column of each variable: (k,) by cell and (n,) by step; -1 where there is none."""

    resident: Ints
    load: Ints
    dirty: Ints
    store: Ints
    pages: Ints
    full: Ints
    duration: Ints
    count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Streams:
    """Bytes streamed in a cell per byte that is not resident (k,); 0 where nothing is."""

    into: Ints
    out: Ints

    @staticmethod
    def of(line: Timeline, cells: Cells) -> Streams:
        """R3 and R4: a reader ``p`` in; a live result ``p`` out, and ``p - 1`` partial sums in."""
        kind, live = line.kind, line.live_after
        streamed = np.where(line.required_resident, 0, line.fetches)
        partial = np.where(line.required_resident | ~live, 0, line.fetches - 1)
        into = np.where(kind == Access.WRITE, partial, streamed)
        out = np.where((kind != Access.READ) & live, streamed, 0)
        used = cells.access >= 0
        return Streams(
            into=np.where(used, into[cells.access], 0), out=np.where(used, out[cells.access], 0)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """Data that every family reads."""

    machine: Machine
    line: Timeline
    cells: Cells
    columns: Columns
    streams: Streams

    @property
    def size(self) -> Ints:
        """(k,) Size of each cell's tensor."""
        return self.line.size_bytes[self.cells.tensor]

    @property
    def required_resident(self) -> Bools:
        """(k,) The step keeps the tensor resident in full."""
        result: Bools = (self.cells.access >= 0) & self.line.required_resident[self.cells.access]
        return result


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """A family: triplets ``value`` at (``row``, ``column``) and the sides of its rows."""

    row: Ints
    column: Ints
    value: Floats
    lower: Floats
    upper: Floats


_Values = Floats | Ints | float
_Term = tuple[Ints, Ints, _Values]


def collect(terms: Sequence[_Term], *, lower: _Values, upper: _Values, count: int) -> Rows:
    """Collect (row, column, value) terms, without those whose column does not exist."""
    row = np.concatenate([term[0] for term in terms])
    column = np.concatenate([term[1] for term in terms])
    value = np.concatenate([np.broadcast_to(np.asarray(v, float), r.shape) for r, _, v in terms])
    there = column >= 0
    return Rows(
        row=row[there],
        column=column[there],
        value=value[there],
        lower=np.broadcast_to(np.asarray(lower, float), count),
        upper=np.broadcast_to(np.asarray(upper, float), count),
    )


def growth(c: Context) -> Rows:
    """(P1) ``r(i) <= r(i-1) + load(i)`` unless ``i`` overwrites the tensor blindly (R2).

    That loaded bytes are valid in DRAM, ``r(i-1) >= s - Z(i) = D(i-1)``, needs no row: (P3) of
    the step before says so, or (P2) where that step has written the tensor.
    """
    k = np.flatnonzero(~c.cells.blind)
    row, columns = np.arange(k.size, dtype=np.int64), c.columns
    before = _at(columns.resident, c.cells.previous[k])
    terms: list[_Term] = [
        (row, columns.resident[k], 1.0),
        (row, before, -1.0),
        (row, columns.load[k], -1.0),
    ]
    return collect(terms, lower=-np.inf, upper=0.0, count=k.size)


def dirt(c: Context) -> Rows:
    """(P2) ``D(i) = D(i-1) - store(i)``; ``D(i) = r(i) - store(i)`` if ``i`` writes (R5)."""
    k = np.flatnonzero(c.cells.dirty)
    row, columns = np.arange(k.size, dtype=np.int64), c.columns
    before = _at(columns.dirty, c.cells.previous[k])
    source = np.where(c.cells.written[k], columns.resident[k], before)
    terms: list[_Term] = [
        (row, columns.dirty[k], 1.0),
        (row, columns.store[k], 1.0),
        (row, source, -1.0),
    ]
    return collect(terms, lower=0.0, upper=0.0, count=k.size)


def no_lost_write(c: Context) -> Rows:
    """(P3) ``r(i) >= D(i-1)`` while the old contents are needed (R5)."""
    before = _at(c.columns.dirty, c.cells.previous)
    k = np.flatnonzero(before >= 0)
    row = np.arange(k.size, dtype=np.int64)
    terms: list[_Term] = [(row, c.columns.resident[k], 1.0), (row, before[k], -1.0)]
    return collect(terms, lower=0.0, upper=np.inf, count=k.size)


def capacity(c: Context) -> Rows:
    """(P4) ``sum_t r_t(i) <= g floor(C/g) - g ceil(b_i/g)`` (R1); ``g q`` for ``r`` in pages."""
    page, paged = c.machine.page_bytes, c.columns.pages
    whole = paged >= 0
    scratch = ceil_div(c.line.scratch_bytes, page)
    column = np.where(whole, paged, c.columns.resident)
    terms: list[_Term] = [(c.cells.step, column, np.where(whole, page, 1.0))]
    room = page * (c.machine.spm_pages - scratch)
    return collect(terms, lower=-np.inf, upper=room, count=c.line.steps)


def channel(c: Context) -> list[Rows]:
    """(P5) ``e >= load + store + streams`` (R6: d >= X).

    With ``duplex`` two rows: ``e >= in + stores of required_resident results`` and
    ``e >= loads of required_resident operands + out``.
    """
    streams = c.streams
    if not c.machine.duplex:
        return [_busy(c, streams.into + streams.out, c.columns.load, c.columns.store)]
    first, last = _serial(c)
    return [
        _busy(c, streams.into, c.columns.load, last),
        _busy(c, streams.out, first, c.columns.store),
    ]


def serial(c: Context) -> Rows:
    """(P6) ``e >= loads of required_resident operands + beta c + stores.

    Of required_resident results`` (R6).
    """
    first, last = _serial(c)
    compute: Floats = c.line.compute_cycles.astype(np.float64) * float(c.machine.bytes_per_cycle)
    return _busy(c, np.zeros_like(c.streams.into), first, last, compute)


def _serial(c: Context) -> tuple[Ints, Ints]:
    """Columns of the loads before the computation and of the stores after it, else -1."""
    required_resident = c.required_resident
    return (
        np.where(required_resident, c.columns.load, -1),
        np.where(required_resident & c.cells.written, c.columns.store, -1),
    )


def _busy(c: Context, fetches: Ints, load: Ints, store: Ints, fixed: _Values = 0.0) -> Rows:
    """``e - load - store + fetches r >= fetches s + fixed`` in every step."""
    step, columns = c.cells.step, c.columns
    streamed = np.flatnonzero(fetches)
    terms: list[_Term] = [
        (np.arange(c.line.steps, dtype=np.int64), columns.duration, 1.0),
        (step, load, -1.0),
        (step, store, -1.0),
        (step[streamed], columns.resident[streamed], fetches[streamed]),
    ]
    weights = (fetches * c.size).astype(np.float64)
    streams = np.bincount(step, weights=weights, minlength=c.line.steps).astype(np.float64)
    return collect(terms, lower=streams + fixed, upper=np.inf, count=c.line.steps)


def whole_pages(c: Context) -> list[Rows]:
    """``r`` in pages, the last one possibly cut: three families, none in the relaxation.

    (P7) ``r = g q - (g ceil(s/g) - s) z``; (P8) ``q <= ceil(s/g) - 1 + z``;
    (P9) ``ceil(s/g) z <= q``; ``q`` integer, ``z`` binary.
    """
    k = np.flatnonzero(c.columns.pages >= 0)
    row, page, columns = np.arange(k.size, dtype=np.int64), c.machine.page_bytes, c.columns
    pages, full = columns.pages[k], columns.full[k]
    pages, full, most = columns.pages[k], columns.full[k], ceil_div(c.size[k], page)
    cut: Ints = page * most - c.size[k]
    prefix: list[_Term] = [(row, columns.resident[k], 1.0), (row, pages, -page), (row, full, cut)]
    reached: list[_Term] = [(row, pages, 1.0), (row, full, -1.0)]
    filled: list[_Term] = [(row, pages, 1.0), (row, full, -most)]
    return [
        collect(prefix, lower=0.0, upper=0.0, count=k.size),
        collect(reached, lower=-np.inf, upper=most - 1, count=k.size),
        collect(filled, lower=0.0, upper=np.inf, count=k.size),
    ]


def ceil_div(size_bytes: Ints, page_bytes: int) -> Ints:
    """Whole pages that hold ``size_bytes``."""
    return -(-size_bytes // page_bytes)


def _at(columns: Ints, index: Ints) -> Ints:
    """``columns[index]``, -1 where there is no index."""
    result: Ints = np.where(index >= 0, columns[index], -1)
    return result
