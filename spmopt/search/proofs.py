"""Proofs that a machine need not be solved: bounds without a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from operator import le, lt
from typing import Any

import numpy as np

from spmopt.core.fusion.stripe_bounds import Striped
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.objective import energy_objective
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.timeline import Timeline, relax_timeline
from spmopt.search.cuts import Cut, fingerprint, free_duals
from spmopt.search.figures import Constraint, Spent


class CutPool:
    """Cuts by the operations that they are of.

    Every cut is a bound for all legal schedules in the listed order of every machine that lowers
    to its operations; the largest one holds too.
    """

    def __init__(self) -> None:
        self.cuts: dict[bytes, list[Cut]] = {}

    def add(self, cut: Cut) -> None:
        """Keep a cut."""
        self.cuts.setdefault(cut.fingerprint, []).append(cut)

    def alike(self, problem: Problem, line: Timeline | None = None) -> list[Cut]:
        """Return cuts of the problem's operations; make those that need no solve when missing.

        ``line`` is the relaxed timeline of ``problem``, where it is at hand.
        """
        own = fingerprint(problem, line)
        if own not in self.cuts:
            self.cuts[own] = [Cut.of(problem, each) for each in free_duals(problem)]
        return self.cuts[own]


@dataclass(frozen=True, kw_only=True)
class Least:
    """Lower bounds of one problem; ``energy_j`` is a bound found on its own, else 0."""

    cycles: Fraction
    in_bytes: int
    out_bytes: int
    traffic_bytes: Fraction
    spm_read_bytes: int
    spm_write_bytes: int
    macs: int
    own_picojoules: int
    energy_j: Fraction = Fraction(0)

    def spend(self, machine: Machine) -> Spent:
        """Convert to physical units; cycles and bytes are whole, so that bounds are rounded up.

        Whichever banks are read and written, it takes no less than the cheapest ones do.
        """
        cycles, traffic = ceil(self.cycles), ceil(self.traffic_bytes)
        joules = energy_objective(machine).of_moved(machine.most_moved)
        read, write = min(joules.bank_read_byte, default=0), min(joules.bank_write_byte, default=0)
        inward, outward = joules.dram_in_byte + write, joules.dram_out_byte + read
        # Bytes beyond the compulsory ones have no known direction: charge the cheaper one.
        more = max(0, traffic - self.in_bytes - self.out_bytes)
        energy = (
            joules.cycle * cycles
            + inward * self.in_bytes
            + outward * self.out_bytes
            + min(inward, outward) * more
            + (joules.spm_read_byte + read) * self.spm_read_bytes
            + (joules.spm_write_byte + write) * self.spm_write_bytes
            + joules.mac * self.macs
            + joules.own_picojoule * self.own_picojoules
        )
        return Spent(
            time_s=cycles / machine.clock_hz,
            energy_j=float(max(energy, self.energy_j)),
            traffic_bytes=float(traffic),
        )


def least_of(problem: Problem, cuts: CutPool | None = None) -> Least:
    """Bound every legal schedule of ``problem``, also by ``cuts``."""
    line, machine = relax_timeline(problem), problem.machine
    # A tensor that is written first is never loaded; one that is read first is loaded once.
    comes_in = (line.first_access >= 0) & line.in_dram & line.live_before
    moved = line.moved.of(np.arange(line.size_bytes.size), line.size_bytes)
    in_bytes = int(moved[comes_in].sum())
    out_bytes = int(moved[line.written & line.keep].sum())
    busiest = max(in_bytes, out_bytes) if machine.duplex else in_bytes + out_bytes
    cycles = max(Fraction(int(line.compute_cycles.sum())), busiest / machine.bytes_per_cycle)
    # The largest of all bounds holds, whichever cut gives it.
    traffic = Fraction(in_bytes + out_bytes)
    for cut in () if cuts is None else cuts.alike(problem, line):
        cycles = max(cycles, cut.least_cycles(line.compute_cycles, machine))
        traffic = max(traffic, cut.least_bytes(machine))
    return Least(
        cycles=cycles,
        in_bytes=in_bytes,
        out_bytes=out_bytes,
        traffic_bytes=traffic,
        spm_read_bytes=int(line.spm_read_bytes.sum()),
        spm_write_bytes=int(line.spm_write_bytes.sum()),
        macs=int(line.macs.sum()),
        own_picojoules=int(line.own_picojoules.sum()),
    )


def least_of_fusion_plans(problem: Problem, tileable: TileableGraph) -> Least:
    """Bound every legal schedule of every fusion plan of the tileable graph of ``problem``.

    Each operation computes in some number of fusion tiles along some axis, stripes among them, and
    no fewer cycles than in the fastest of them. Tensors that are read first are loaded once, whole
    or in parts; kept tensors are stored.
    """
    once, striped = least_of(problem), Striped(tileable, tileable.fusion_space().stripes).tileable
    busiest = once.in_bytes + once.out_bytes
    if problem.machine.duplex:
        busiest = max(once.in_bytes, once.out_bytes)

    def least(figure: Callable[[OpMapping], int]) -> int:
        return sum(
            min(
                # The first fusion tile also loads weights; later ones are alike.
                figure(mappings.first) + (count - 1) * figure(mappings.later)
                for operation in along
                for count, mappings in operation.mappings.items()
            )
            for along in zip(*(each.operations for each in striped.axes), strict=True)
        )

    computing = Fraction(least(lambda mapping: mapping.compute_cycles))
    return replace(
        once,
        cycles=max(computing, busiest / problem.machine.bytes_per_cycle),
        traffic_bytes=Fraction(once.in_bytes + once.out_bytes),
        spm_read_bytes=least(lambda mapping: mapping.spm_read_bytes),
        spm_write_bytes=least(lambda mapping: mapping.spm_write_bytes),
        macs=least(lambda mapping: mapping.macs),
        own_picojoules=least(lambda mapping: mapping.own_picojoules),
    )


@dataclass(frozen=True, kw_only=True)
class ExclusionProof:
    """Bounds that exclude a machine.

    Attributes
    ----------
    record
        For the storage of a study: figures that no schedule is below (``bounds``), with the
        trial ``by`` that is better in one objective and as good in all others, and its
        ``values``; or with the ``constraint`` that no schedule holds.
    constraint, excess
        Constraint that no schedule satisfies, and the least violation.
    """

    record: Mapping[str, Any]
    constraint: str = ""
    excess: float = 0.0


def exclude(constraints: Iterable[Constraint], least: Mapping[str, float]) -> ExclusionProof | None:
    """Find a constraint that no schedule holds whose figures are at least ``least``."""
    for constraint in constraints:
        if constraint.is_excluded(least):
            name, bounds = str(constraint), {constraint.figure: least[constraint.figure]}
            record = {"bounds": bounds, "constraint": name}
            return ExclusionProof(record=record, constraint=name, excess=constraint.excess(least))
    return None


def dominate(
    objectives: Sequence[str],
    least: Mapping[str, float],
    known: Mapping[int, Sequence[float]],
) -> ExclusionProof | None:
    """Find a trial that every schedule is worse than whose objectives are at least ``least``.

    It is as good in every objective and better in one, so that a point of the front, and one
    equal to such a point, is never excluded. An objective without a bound excludes nothing.

    Parameters
    ----------
    known
        Objectives of solved trials that hold all constraints, by number.
    """
    # A figure without a bound may be arbitrarily good.
    if any(name not in least for name in objectives):
        return None
    bounds = [least[name] for name in objectives]
    for number, values in known.items():
        # Strictly better once: an equal machine is a second optimum, not a dominated one.
        if all(map(le, values, bounds)) and any(map(lt, values, bounds)):
            named = dict(zip(objectives, bounds, strict=True))
            return ExclusionProof(record={"bounds": named, "by": number, "values": list(values)})
    return None
