"""The cuts of all machines solved so far, and the best that they prove of another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.result import Certificate
from spmopt.core.timeline import Timeline, relaxed_timeline
from spmopt.search.proofs.cuts import Cut, fingerprint, free_prices


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A bound on the makespan, in cycles of the machine, and the cut that it is from."""

    cycles: Fraction
    cut: Cut


class Pool:
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

    def best(self, instance: Instance, *, elsewhere: int = 0) -> Proof:
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


def best_of(found: Iterable[tuple[Fraction, Cut]]) -> Proof:
    """The largest of several bounds, of equals the first."""
    cycles, cut = max(found, key=lambda each: each[0])
    return Proof(cycles=cycles, cut=cut)
