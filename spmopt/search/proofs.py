"""Why a machine need not be solved: bounds without a solver, and what they exclude."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import energy_objective
from spmopt.core.result import Certificate
from spmopt.core.timeline import Access, Timeline, relaxed_timeline
from spmopt.search.cuts import Cut, fingerprint, free_prices
from spmopt.search.figures import Constraint, Spent


@dataclass(frozen=True, kw_only=True)
class CutBound:
    """A bound on the makespan, in cycles of the machine, and the cut that it is from."""

    cycles: Fraction
    cut: Cut


class CutPool:
    """Cuts by the operations that they are of.

    Every cut is a bound for all legal schedules in the listed order of every machine that lowers
    to its operations; the largest one holds too.
    """

    def __init__(self) -> None:
        self._cuts: dict[bytes, list[Cut]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._cuts.values()))

    def add(
        self, instance: Instance, certificate: Certificate, proved: Fraction | None = None
    ) -> Cut:
        """Keep the cut of a solved machine's prices; arguments and errors of :meth:`Cut.of`."""
        return self.put(Cut.of(instance, certificate, proved))

    def put(self, cut: Cut) -> Cut:
        """Keep a cut."""
        self._cuts.setdefault(cut.fingerprint, []).append(cut)
        return cut

    def alike(self, instance: Instance, line: Timeline | None = None) -> list[Cut]:
        """Cuts of the instance's operations; those that need no solve are made when missing.

        ``line`` is the relaxed timeline of ``instance``, where it is at hand.
        """
        own = fingerprint(instance, line)
        if own not in self._cuts:
            self._cuts[own] = [Cut.of(instance, each) for each in free_prices(instance)]
        return self._cuts[own]

    def unused(self, mark: bytes, steps: int) -> list[Cut]:
        """Cuts whose prices were not evaluated on the operations of a fingerprint, but could be.

        Parameters
        ----------
        steps
            How many operations they are.
        """
        known = {id(cut.certificate) for cut in self._cuts.get(mark, [])}
        others = (cut for other, cuts in self._cuts.items() if other != mark for cut in cuts)
        found = {id(cut.certificate): cut for cut in others if cut.scratch_bytes.size == steps}
        return [cut for name, cut in found.items() if name not in known]

    def elsewhere(self, instance: Instance, count: int) -> list[Cut]:
        """Prices found on other operations and evaluated on these: the ``count`` most promising.

        How they promise is what their cuts would prove here if they were for these operations.
        The new cuts are kept.
        """
        mark, compute_cycles = fingerprint(instance), relaxed_timeline(instance).compute_cycles

        def promise(cut: Cut) -> Fraction:
            return cut.least_cycles(compute_cycles, instance.machine)

        others = self.unused(mark, compute_cycles.size)
        best = sorted(others, key=promise, reverse=True)[:count]
        return [self.put(cut.on(instance)) for cut in best]

    def best(self, instance: Instance, *, elsewhere: int = 0) -> CutBound:
        """The best bound on the makespan; at least the computing and the compulsory traffic.

        Parameters
        ----------
        elsewhere
            Evaluate so many prices more that were found on other operations.
        """
        if elsewhere:
            self.elsewhere(instance, elsewhere)
        compute_cycles = relaxed_timeline(instance).compute_cycles
        return best_of(
            (cut.least_cycles(compute_cycles, instance.machine), cut)
            for cut in self.alike(instance)
        )


def best_of(found: Iterable[tuple[Fraction, Cut]]) -> CutBound:
    """The largest of several bounds, of equals the first."""
    cycles, cut = max(found, key=lambda each: each[0])
    return CutBound(cycles=cycles, cut=cut)


@dataclass(frozen=True, kw_only=True)
class Least:
    """Lower bounds; ``energy_j`` where one is known beside what follows from the others."""

    cycles: Fraction
    in_bytes: int
    out_bytes: int
    traffic_bytes: Fraction
    spm_read_bytes: int
    spm_write_bytes: int
    macs: int
    energy_j: Fraction = Fraction(0)

    def spent(self, machine: Machine) -> Spent:
        """In physical units; cycles and bytes are whole, so that bounds are rounded up.

        Whichever banks are read and written, it takes no less than the cheapest ones do.
        """
        cycles, traffic = ceil(self.cycles), ceil(self.traffic_bytes)
        joules = energy_objective(machine)
        read, write = min(joules.bank_read_byte, default=0), min(joules.bank_write_byte, default=0)
        inward, outward = joules.dram_in_byte + write, joules.dram_out_byte + read
        more = max(0, traffic - self.in_bytes - self.out_bytes)
        energy = (
            joules.cycle * cycles
            + inward * self.in_bytes
            + outward * self.out_bytes
            + min(inward, outward) * more
            + (joules.spm_read_byte + read) * self.spm_read_bytes
            + (joules.spm_write_byte + write) * self.spm_write_bytes
            + joules.mac * self.macs
        )
        return Spent(
            time_s=cycles / machine.clock_hz,
            energy_j=float(max(energy, self.energy_j)),
            traffic_bytes=float(traffic),
        )


def least_of(instance: Instance, cuts: CutPool | None = None) -> Least:
    """Bounds for every legal schedule of ``instance``, those of ``cuts`` among them."""
    line, machine = relaxed_timeline(instance), instance.machine
    touched = line.first_access >= 0
    kinds = line.kind[np.where(touched, line.first_access, 0)]
    comes_in = touched & line.in_dram & (kinds != Access.WRITE)
    written = np.zeros(line.size_bytes.size, bool)
    written[line.tensor[line.kind != Access.READ]] = True
    in_bytes = int(line.size_bytes[comes_in].sum())
    out_bytes = int(line.size_bytes[written & line.keep].sum())
    busiest = max(in_bytes, out_bytes) if machine.duplex else in_bytes + out_bytes
    cycles = max(Fraction(int(line.compute_cycles.sum())), busiest / machine.bytes_per_cycle)
    traffic = Fraction(in_bytes + out_bytes)
    for cut in () if cuts is None else cuts.alike(instance, line):
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
    )


@dataclass(frozen=True, kw_only=True)
class KnownTrial:
    """A solved trial that holds all constraints, with its objectives."""

    number: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ExclusionProof:
    """Bounds that exclude a machine.

    Attributes
    ----------
    bounds
        Figures that no schedule on it is below.
    by
        The trial that is better in one objective and as good in all others than the bounds;
        None where a constraint excludes it.
    values
        Objectives of that trial.
    constraint, excess
        What no schedule holds, and how far it is beyond it at least.
    """

    bounds: Mapping[str, float]
    by: int | None = None
    values: tuple[float, ...] = ()
    constraint: str = ""
    excess: float = 0.0

    def record(self) -> dict[str, object]:
        """For the storage of a study."""
        if self.constraint:
            return {"bounds": dict(self.bounds), "constraint": self.constraint}
        return {"bounds": dict(self.bounds), "by": self.by, "values": list(self.values)}


def excluded(
    constraints: Iterable[Constraint], least: Mapping[str, float]
) -> ExclusionProof | None:
    """A constraint that no schedule holds whose figures are at least ``least``."""
    for constraint in constraints:
        if constraint.excluded(least):
            bound = {constraint.figure: least[constraint.figure]}
            excess = constraint.excess(least)
            return ExclusionProof(bounds=bound, constraint=str(constraint), excess=excess)
    return None


def dominated(
    objectives: Sequence[str], least: Mapping[str, float], known: Iterable[KnownTrial]
) -> ExclusionProof | None:
    """A trial that every schedule is worse than whose objectives are at least ``least``.

    It is as good in every objective and better in one, so that a point of the front, and one
    equal to such a point, is never excluded. An objective without a bound excludes nothing.
    """
    if any(name not in least for name in objectives):
        return None
    bounds = tuple(least[name] for name in objectives)
    for each in known:
        if _below(each.values, bounds):
            named = dict(zip(objectives, bounds, strict=True))
            return ExclusionProof(bounds=named, by=each.number, values=each.values)
    return None


def _below(values: tuple[float, ...], bounds: tuple[float, ...]) -> bool:
    pairs = list(zip(values, bounds, strict=True))
    return all(value <= bound for value, bound in pairs) and any(v < b for v, b in pairs)
