"""Lower bound on every schedule in any order of the operations: no dual values, no solver.

**Claim.** Every legal schedule of a problem, in any order that its predecessors allow (R8), costs
at least what :func:`any_order_bound` returns (PROBLEM.md, section 5).

**Proof.** Where predecessors name all that the accesses of a tensor must wait for (read after
write, write after read or write), as in every problem made from a graph, each operation reads the
same contents of it in any order: so the same writes are live afterwards, and initial DRAM contents
are read before they are overwritten, or never. Of other, *loose*, tensors less is known: one that
is read by some operation and written by none enters, and the last contents leave if they are kept.

* *Once in, once out.* Bytes in DRAM that are read before anything overwrites them enter once at
  least, by loads and streams (R2, R3). Final contents that are kept leave once at least (R4, R5,
  R7).
* *Excess.* Of the operands that an operation reads, and the results that are live after
  it, at most the room beside its scratch is resident (R1); each other byte crosses the channel in
  its step, as often as the least of the mappings' fetches asks for (R3, R4). Least crosses where
  those are resident that would cross most often, required-resident operands, which must be, before
  all.

Operations take turns on the engine, transfers on the channel: with ``c`` the least cycles of an
operation's mappings, ``f`` the bytes that cross so, and ``beta`` the bytes per cycle, steps take at
least ``max(c, f / beta)`` by R6, and all of them at least the bytes that enter and leave over
``beta``. On a duplex machine ``f`` may be shared by both channels, and the larger of the two
directions counts. The same holds without barriers between steps: the excess is streamed, and
streams begin when their operation has started and end before it does; so from its start to its end
there are at least ``max(c, f / beta)`` cycles, and no other operation runs. Bypassing tensors are
counted apart, as in :mod:`spmopt.verifier.bound`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from spmopt.core.bypass import without_bypass
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, relax_timeline
from spmopt.verifier.lookup import StepIndex

_MUST = 2**62
"""Times that a required-resident operand would cross: it cannot."""


def any_order_bound(problem: Problem, objective: Objective) -> Fraction:
    """Return the exact lower bound in any order, in units of the objective."""
    loose = _loose(problem)
    remainder = without_bypass(problem)
    machine, line = remainder.problem.machine, relax_timeline(remainder.problem)
    into, out = _once(line, loose)
    setup = machine.dma_setup_cycles
    # R1: beside the scratch of the step, in whole pages.
    room = machine.page_bytes * (machine.spm_pages + (-line.scratch_bytes // machine.page_bytes))
    forced = _crossing(line, room, loose)
    all_forced = sum(forced)
    beta = machine.bytes_per_cycle
    # Crossing bytes may be shared by both channels: the bound is of their mean.
    channels = 2 if machine.duplex else 1
    moved_in, moved_out = (each.size_bytes / beta + setup * each.tensors for each in (into, out))
    moved = max(moved_in, moved_out) if machine.duplex else moved_in + moved_out
    crossing = sum(map(bool, forced))
    transfers = max(moved, (all_forced / beta + setup * crossing) / channels)
    # Whole numbers of 1 / (channels * beta's numerator) cycles are quicker than fractions.
    unit, per_byte = channels * beta.numerator, beta.denominator
    each = zip(line.compute_cycles.tolist(), forced, strict=True)
    once = setup * beta.numerator  # of a step in which something crosses
    computing = Fraction(sum(max(c * unit, f * per_byte + once if f else 0) for c, f in each), unit)
    of_moved = objective.of_moved(machine.most_moved)
    in_byte, out_byte = of_moved.dram_in_byte, of_moved.dram_out_byte
    # The excess crosses in at least one of the two directions: the cheaper weight bounds it.
    transferred = max(
        in_byte * into.size_bytes + out_byte * out.size_bytes, min(in_byte, out_byte) * all_forced
    )
    of_mappings = (line.spm_read_bytes, line.spm_write_bytes, line.macs, line.own_picojoules)
    # A loose tensor that bypasses may be read before it is written in another order: its streams
    # are not known.
    bypassed = None if loose[list(problem.bypassing)].any() else remainder.streams
    return (
        objective.cycle * max(computing, transfers)
        + transferred
        + objective.of_mappings(*(sum(column.tolist()) for column in of_mappings))
        + (Fraction() if bypassed is None else bypassed.value(objective))
    )


def _loose(problem: Problem) -> Bools:
    """Return (m,) tensors of which an access may come before one that it must wait for."""
    table, count = problem.operands, len(problem.operations)
    operation, tensor = np.repeat(np.arange(count), np.diff(table.first)), table.tensor
    written = np.flatnonzero(table.kind != int(Access.READ))
    read = np.flatnonzero(table.kind == int(Access.READ))
    writes = StepIndex.of(tensor[written], operation[written], count)
    # All wait for the last write, a write for all that have read since.
    last = writes.last(tensor, operation - 1)
    following = writes.next(tensor[read], operation[read])
    waiting, read = np.flatnonzero(last >= 0), read[following >= 0]
    following = following[following >= 0]
    before = np.concatenate((operation[written[last[waiting]]], operation[read]))
    after = np.concatenate((operation[waiting], operation[written[following]]))
    stated = np.repeat(np.arange(count), [len(each.predecessors) for each in problem.operations])
    predecessor = [p for each in problem.operations for p in each.predecessors]
    known = stated * count + np.array(predecessor, np.int64)
    # A dependence that no predecessor states: the order may break it.
    free = ~np.isin(after * count + before, known)
    found = np.zeros(len(problem.tensors), bool)
    found[np.concatenate((tensor[waiting], tensor[read]))[free]] = True
    return found


class _Moved(NamedTuple):
    """Bytes, and of how many tensors: each needs a command."""

    size_bytes: int
    tensors: int


def moved_once(problem: Problem) -> tuple[int, int]:
    """Return the bytes that enter and leave in every legal schedule, whatever is kept on chip."""
    into, out = _once(relax_timeline(problem), _loose(problem))
    return into.size_bytes, out.size_bytes


def _once(line: Timeline, loose: Bools) -> tuple[_Moved, _Moved]:
    """Return bytes that enter and leave once at least."""
    read, written = np.zeros((2, line.size_bytes.size), bool)
    read[line.tensor[line.kind != int(Access.WRITE)]] = True
    written[line.tensor[line.kind != int(Access.READ)]] = True
    enters = line.in_dram & read & np.where(loose, ~written, line.live_before)
    every = line.moved.of(np.arange(line.size_bytes.size), line.size_bytes)
    entering, leaving = (every[each].tolist() for each in (enters, written & line.keep))
    return _Moved(sum(entering), len(entering)), _Moved(sum(leaving), len(leaving))


def _crossing(line: Timeline, room: Ints, loose: Bools) -> list[int]:
    """Return, of each step, the least bytes that cross because its operands do not fit.

    Room goes to those first of which a byte would cross most often: required-resident operands must
    be resident, another crosses once a fetch, into the SPM, out of it, or both. A byte of a
    compressed tensor crosses as a part of one.
    """
    read, written = line.kind != int(Access.WRITE), line.kind != int(Access.READ)
    live = written & line.live_after & ~loose[line.tensor]
    into = np.where(read, line.fetches, np.where(live, line.fetches - 1, 0))
    # R3, R4: how often a byte that is not resident crosses.
    times = np.where(
        line.required_resident, np.where(read | live, _MUST, 0), into + live * line.fetches
    )
    # In parts of a byte, as many as the ratios of compressed tensors have.
    times = np.where(times == _MUST, _MUST, times * line.moved.numerator[line.tensor])
    found, taken, at = [0] * line.compute_cycles.size, 0, -1
    size = line.size_bytes[line.tensor]
    # In most steps of most networks everything fits; these sums are nearly right, and in floats
    # since exact ones may pass 64 bits.
    asked = np.bincount(line.step, size.astype(np.float64), room.size)
    (some,) = np.nonzero((asked >= 0.999 * room)[line.step])
    order = some[np.lexsort((-times[some], line.step[some]))]
    rows = (line.step, times, size)
    for step, count, asks in zip(*(column[order].tolist() for column in rows), strict=True):
        taken = taken if step == at else 0
        at, absent = step, min(asks, max(taken + asks - room[step], 0))
        taken += asks
        found[step] += 0 if count == _MUST else count * int(absent)
    return [-(-parts // line.moved.denominator) for parts in found]
