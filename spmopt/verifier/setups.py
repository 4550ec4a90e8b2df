"""Cost of the set-up of DMA commands on the path of a byte.

A command of step i costs ``lambda`` cycles beside its bytes, at the dual value of a cycle of its
channel there. All bytes of a tensor that move in one step in one direction may share a command, so
these costs are no sum over bytes. But let the bytes of a tensor take some paths, and p be the one
of these that costs least by the dual values of bytes: then each byte pays at least the cost of p,
and the commands of p's moves are issued, each once. So the tensor costs at least the least of

    s_t (cost of the bytes on p) + sum of the set-ups of p's moves

over all paths, which is a shortest path where each move costs a ``1 / s_t`` of its set-up more. In
integers that is rounded down, and kept so small that no path overflows.

In a stretch of steps the cheapest move by bytes and the cheapest set-up are taken each by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.dual_check import INFINITE, LARGEST, CheckedDuals
from spmopt.verifier.page_paths import SetupPrices

_DIGITS = 60
"""Of a set-up, at most: in 64 bits with room to spare."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Setups:
    """A command's set-up in each step, (n,), in units of ``2**(shift - bits)``, rounded down.

    ``streams_in``, ``streams_out``: of streams; ``firm``: of transfers that cannot overlap
    computing.
    """

    load: Ints
    store: Ints
    firm: Ints
    streams_in: Ints
    streams_out: Ints
    shift: int


def setups_of_steps(
    problem: Problem, certificate: Certificate, duals: CheckedDuals
) -> Setups | None:
    """Return set-ups at a certificate's duals, with barriers between steps; None without any."""
    if not problem.machine.dma_setup_cycles:
        return None
    exact = exact_setups(problem, certificate, duals)
    columns, shift = _in_64_bits(list(exact.load), list(exact.store), list(exact.firm))
    return Setups(
        load=columns[0],
        store=columns[1],
        firm=columns[2],
        streams_in=columns[0],
        streams_out=columns[1],
        shift=shift,
    )


def exact_setups(problem: Problem, certificate: Certificate, duals: CheckedDuals) -> SetupPrices:
    """Return set-ups at a certificate's duals as Python integers; 0 where commands need none."""
    cycles = problem.machine.dma_setup_cycles
    load, store, channel = _of_channels(problem, certificate)
    firm = [paid + cycles * rho for paid, rho in zip(channel, duals.cycle, strict=True)]
    return SetupPrices(load=load, store=store, firm=firm)


def setups_of_streams(problem: Problem, certificate: Certificate, parts: int) -> Setups | None:
    """Return set-ups of streams by the parts of steps that the replay has, those of loads nothing.

    Accesses are in the last of a step's parts (:mod:`spmopt.core.instants`).
    """
    if not problem.machine.dma_setup_cycles:
        return None
    from spmopt.core.instants import END, PARTS

    load, store, _ = _of_channels(problem, certificate)
    columns, shift = _in_64_bits(load, store)
    nothing, into, out = np.zeros((3, parts), np.int64)
    into[END:-1:PARTS], out[END:-1:PARTS] = columns
    return Setups(
        load=nothing, store=nothing, firm=nothing, streams_in=into, streams_out=out, shift=shift
    )


def _of_channels(
    problem: Problem, certificate: Certificate
) -> tuple[list[int], list[int], list[int]]:
    """Return the cost of a set-up in each step.

    On the way in, out, and on both channels at once.
    """
    machine = problem.machine
    factor = machine.dma_setup_cycles * machine.bytes_per_cycle
    into, out = certificate.dram_in.tolist(), certificate.dram_out.tolist()
    both = zip(into, out, strict=True)
    channel = [a + b if machine.duplex else a for a, b in both]
    load, store, together = ([floor(factor * p) for p in each] for each in (into, out, channel))
    return load, store, together


def _in_64_bits(*columns: list[int]) -> tuple[list[Ints], int]:
    """Return columns without as many of their last digits as make them fit, and how many."""
    most = max(map(max, columns), default=0)
    shift = max(0, most.bit_length() - _DIGITS)
    return [np.array([each >> shift for each in column], np.int64) for column in columns], shift


@dataclass(frozen=True, kw_only=True, eq=False)
class MoveSetups:
    """Payment of a byte for set-ups at its moves, (a,): at an access, and in the stretch before it.

    ``final`` (m,): at a store after the last access of each tensor.
    """

    load: Ints
    store: Ints
    stream_in: Ints
    stream_out: Ints
    load_before: Ints
    store_before: Ints
    final: Ints

    @classmethod
    def of(cls, line: Timeline, duals: CheckedDuals, setups: Setups) -> MoveSetups:
        """Share set-ups out among the bytes of each tensor."""
        size, step = line.size_bytes[line.tensor], line.step
        read, written = line.kind != Access.WRITE, line.kind != Access.READ
        most = _most(line, duals)

        def share_out(values: Ints, bytes_of: Ints) -> Ints:
            shares: Ints = np.minimum(values // bytes_of, most >> setups.shift) << setups.shift
            return shares

        load = np.where(line.required_resident & read, setups.firm[step], setups.load[step])
        store = np.where(line.required_resident & written, setups.firm[step], setups.store[step])
        first = np.where(line.previous < 0, 0, step[line.previous] + 1)
        before = np.stack((setups.load, setups.store))
        load_before, store_before = least_in_ranges(before, first, step)
        used = line.last_access >= 0
        after = np.zeros(used.size, np.int64)
        after[used] = step[line.last_access[used]] + 1
        ends = np.full_like(after, line.steps)
        (final,) = least_in_ranges(setups.store[None], after, ends)
        return cls(
            load=share_out(load, size),
            store=share_out(store, size),
            stream_in=share_out(setups.streams_in[step], size),
            stream_out=share_out(setups.streams_out[step], size),
            load_before=share_out(load_before, size),
            store_before=share_out(store_before, size),
            final=share_out(final, line.size_bytes),
        )


def least_in_ranges(values: Ints, first: Ints, last: Ints) -> Ints:
    """Return (c, k) the least of each row of ``values`` (c, n) over steps [first, last).

    Infinite over no steps. Each range is two of a power of two, which may share steps.
    """
    found = np.full((values.shape[0], first.size), INFINITE, np.int64)
    _, level = np.frexp(last - first)  # 0 where the range is empty
    width, table = 1, values
    for power in range(1, int(level.max(initial=0)) + 1):
        asked = np.flatnonzero(level == power)
        found[:, asked] = np.minimum(table[:, first[asked]], table[:, last[asked] - width])
        table = np.minimum(table[:, :-width], table[:, width:])
        width *= 2
    return found


def _most(line: Timeline, duals: CheckedDuals) -> int:
    """Return the highest cost of a move's set-up for a byte, so that no path overflows.

    A path has at most two moves at each access and two in each stretch.
    """
    fetches = np.ones(line.steps, np.int64)
    np.maximum.at(fetches, line.step, line.fetches)
    moves = zip(duals.firm_load.tolist(), duals.firm_store.tolist(), fetches.tolist(), strict=True)
    paid: int = sum(duals.hold.tolist()) + sum(count * (i + o) for i, o, count in moves)
    uses = int(np.bincount(line.tensor).max(initial=0))
    return max(0, LARGEST - paid - duals.most_uses) // (4 * (uses + 1))
