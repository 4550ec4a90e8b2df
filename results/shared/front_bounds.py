"""Bounds on the times of many machines, kept up as cuts come in, and what to solve next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from operator import mul

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import relax_timeline
from spmopt.search.cuts import Cut, fingerprint
from spmopt.search.proofs import CutPool

Floats = NDArray[np.float64]
_MARGIN = 2.0**-49
"""Of the sum of magnitudes: sixteen roundings of a double, of which at most ten happen."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MachineOption:
    """A machine, its cost, and its operations: one record for all that lower alike."""

    machine: Machine
    cost: float
    lowered: Problem

    @property
    def problem(self) -> Problem:
        """The operations on this machine."""
        return replace(self.lowered, machine=self.machine)


@dataclass(frozen=True, kw_only=True)
class BoundedMachine:
    """A machine takes at least ``least`` seconds, exact; ``cut`` proves it."""

    least: Fraction
    cut: Cut


def evaluate_on(cut: Cut, problem: Problem) -> Cut:
    """Evaluate the duals of a cut on other operations, as many: any duals prove a bound.

    Raises
    ------
    InputError
        Another number of operations, or of channels.
    """
    if problem.machine.duplex != cut.home.duplex:
        raise InputError("cut: its dual values are for a machine with another number of channels")
    home = replace(
        problem.machine,
        dram_bytes_per_s=cut.home.dram_bytes_per_s,
        clock_hz=cut.home.clock_hz,
    )
    return Cut.of(replace(problem, machine=home), cut.certificate)


def least_cycles_of(
    cut: Cut, compute_cycles: Ints, machine: Machine, spm_bytes: Ints, dram_bytes_per_s: Ints
) -> Floats:
    """Bound the makespans on many machines at once, each rounded down safely.

    Parameters
    ----------
    compute_cycles : (n,)
        The same on all of them.
    machine
        Machine with their common clock and page size.
    spm_bytes, dram_bytes_per_s
        Of each machine; shapes that broadcast to that of the result.
    """
    page, unit, spm = machine.page_bytes, 2**cut.certificate.bits, cut.certificate.spm.tolist()
    scratch = (-(-cut.scratch_bytes // page) * page).tolist()
    computing = float(Fraction(sum(map(mul, cut.free.tolist(), compute_cycles.tolist())), unit))
    life = float(cut.beta * (cut.life + sum(map(mul, spm, scratch))) / unit)
    # Sums of int64 duals overflow: add as Python integers, then round once.
    slope = float(cut.beta * sum(spm) / unit)
    room = slope * (spm_bytes // page * page).astype(np.float64)
    cycles = machine.clock_hz / dram_bytes_per_s.astype(np.float64)
    value = computing + cycles * (life - room)
    # Magnitudes, not the value: terms cancel, rounding errors do not.
    result: Floats = value - _MARGIN * (computing + cycles * (abs(life) + room))
    return result


def find_unused(pool: CutPool, mark: bytes, steps: int) -> list[Cut]:
    """List cuts whose duals were not evaluated on operations of a fingerprint, but could be.

    Parameters
    ----------
    steps
        How many operations they are.
    """
    # Identity, not equality: comparing arrays of all pairs would cost more than the cuts save.
    known = {id(cut.certificate) for cut in pool.cuts.get(mark, [])}
    others = (cut for other, cuts in pool.cuts.items() if other != mark for cut in cuts)
    found = {id(cut.certificate): cut for cut in others if cut.scratch_bytes.size == steps}
    return [cut for name, cut in found.items() if name not in known]


def seconds(cycles: Fraction, machine: Machine) -> Fraction:
    """Convert cycles, rounded up to whole ones: no makespan is between two."""
    return Fraction(ceil(cycles), machine.clock_hz)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """Machines (k,) that share operations (by ``mark``) with their cycles, clock and pages."""

    mark: bytes
    index: Ints
    lowered: Problem
    machine: Machine
    compute_cycles: Ints
    spm_bytes: Ints
    dram_bytes_per_s: Ints

    def least_s(self, cut: Cut) -> Floats:
        """(k,) Bound in seconds by a cut, nearly: floats are for choosing."""
        cycles = least_cycles_of(
            cut, self.compute_cycles, self.machine, self.spm_bytes, self.dram_bytes_per_s
        )
        result: Floats = np.ceil(cycles) / self.machine.clock_hz
        return result


class Bounds:
    """For each of ``options`` (n) the best cut so far."""

    def __init__(self, options: Sequence[MachineOption]) -> None:
        self._options = options
        self._cost = np.array([option.cost for option in options], np.float64)
        self._least = np.zeros(len(options))
        self._time = np.full(len(options), np.inf)
        self._cut: dict[int, Cut] = {}
        self._pool = CutPool()
        self._groups: dict[bytes, list[_Group]] = {}
        self._group: dict[int, _Group] = {}
        self._asked: set[int] = set()
        self.borrowed = 0
        for group in _groups(options):
            self._groups.setdefault(group.mark, []).append(group)
            self._group.update(dict.fromkeys(group.index.tolist(), group))
        for groups in self._groups.values():
            for cut in self._pool.alike(groups[0].lowered):
                self._raise(cut)

    def add(self, index: int, cut: Cut) -> None:
        """Take up the cut of a solved machine."""
        self._asked.add(index)
        self._pool.add(cut)
        self._raise(cut)

    def settle(self, index: int, time: Fraction) -> None:
        """Take up the time of a verified schedule, in seconds."""
        self._time[index] = float(time)

    def exact(self, index: int) -> BoundedMachine:
        """Bound in seconds, exact, and the cut that it is from."""
        cut, machine = self._cut[index], self._options[index].machine
        cycles = cut.least_cycles(self._group[index].compute_cycles, machine)
        return BoundedMachine(least=seconds(cycles, machine), cut=cut)

    def near(self, index: int) -> Certificate | None:
        """Return dual values to start from: those of the best cut, unless no solve found them."""
        cut = self._cut[index]
        return cut.duals(self._options[index].machine) if cut.certificate.spm.any() else None

    def borrow(self, index: int) -> bool:
        """Evaluate the most promising dual values of other operations, once; whether it helped."""
        if index in self._asked:
            return False
        self._asked.add(index)
        group, before = self._group[index], self._least[index]
        others = find_unused(self._pool, group.mark, group.compute_cycles.size)
        place = int(np.flatnonzero(group.index == index)[0])
        promise = [group.least_s(cut)[place] for cut in others]
        if not promise or max(promise) <= before:
            return False
        self.borrowed += 1
        self.add(index, evaluate_on(others[int(np.argmax(promise))], group.lowered))
        return bool(self._least[index] > before)

    def dominate(self, left: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield machines whose bound seems no less than the time of a cheaper one, and that one."""
        known = np.flatnonzero(np.isfinite(self._time))
        for index in left:
            cheaper = known[self._cost[known] <= self._cost[index]]
            if cheaper.size:
                # The fastest; of equals the one that costs least.
                by = cheaper[np.lexsort((self._cost[cheaper], self._time[cheaper]))[0]]
                if self._time[by] <= self._least[index] * (1 + 2.0**-50):
                    yield index, int(by)

    def choose(self, left: Sequence[int]) -> int:
        """Choose the machine that would dominate most if it took no longer than its bound.

        How much is an area in logarithms of time and cost: from its bound to the time of the
        fastest solved machine that costs no more, and from its cost to that of the cheapest
        solved one that takes no longer. Those that another one of ``left`` would dominate by
        its bound are not asked.
        """
        index = np.array(left)
        cost, least = self._cost[index], np.maximum(self._least[index], np.finfo(float).tiny)
        known = np.flatnonzero(np.isfinite(self._time))
        dearest, slowest = 2 * self._cost.max(), 2 * max(self._least.max(), least.max())
        time = np.where(self._cost[known] <= cost[:, None], self._time[known], slowest)
        dual = np.where(self._time[known] <= least[:, None], self._cost[known], dearest)
        above = np.minimum(time.min(axis=1, initial=slowest), slowest)
        beyond = np.maximum(dual, cost[:, None]).min(axis=1, initial=dearest)
        gain = np.log(np.maximum(above / least, 1)) * np.log(beyond / cost)
        return int(index[np.argmax(np.where(_drop_dominated(cost, least), gain, -1.0))])

    def _raise(self, cut: Cut) -> None:
        for group in self._groups.get(cut.fingerprint, []):
            least = group.least_s(cut)
            better = group.index[least > self._least[group.index]]
            self._least[group.index] = np.maximum(least, self._least[group.index])
            self._cut.update(dict.fromkeys(better.tolist(), cut))
            for index in group.index.tolist():
                self._cut.setdefault(index, cut)


def _drop_dominated(cost: Floats, least: Floats) -> Bools:
    """Return whether no other machine costs and takes no more, by its bound."""
    order = np.lexsort((least, cost))
    lowest = np.minimum.accumulate(least[order])
    found = np.ones(cost.size, bool)
    found[order[1:]] = least[order[1:]] < lowest[:-1]
    return found


def _groups(options: Sequence[MachineOption]) -> Iterator[_Group]:
    lines: dict[tuple[int, bool], tuple[bytes, Ints]] = {}
    members: dict[tuple[bytes, bytes, int, int], list[int]] = {}
    for index, option in enumerate(options):
        machine, own = option.machine, (id(option.lowered), option.machine.duplex)
        if own not in lines:
            line = relax_timeline(option.lowered)
            lines[own] = fingerprint(option.problem, line), line.compute_cycles
        mark, cycles = lines[own]
        key = (mark, cycles.tobytes(), machine.clock_hz, machine.page_bytes)
        members.setdefault(key, []).append(index)
    for (mark, *_), own_places in members.items():
        first = options[own_places[0]]
        machines = [options[index].machine for index in own_places]
        yield _Group(
            mark=mark,
            index=np.array(own_places, np.int64),
            lowered=first.problem,
            machine=first.machine,
            compute_cycles=lines[id(first.lowered), first.machine.duplex][1],
            spm_bytes=np.array([each.spm_bytes for each in machines], np.int64),
            dram_bytes_per_s=np.array([each.dram_bytes_per_s for each in machines], np.int64),
        )
