"""A front is checked against itself: every proof again, from its duals, on the machine it is of.

No solver and nothing that the search computed is trusted but the times of the verified schedules.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from results.shared.exact_front import ExactFront, SolvedMachine
from results.shared.front_bounds import BoundedMachine, MachineOption, evaluate_on, seconds
from spmopt.core.mappings import unfit
from spmopt.core.timeline import relax_timeline
from spmopt.search.cuts import Cut


def complaints(front: ExactFront) -> tuple[str, ...]:
    """List what of ``front`` is not so, a line each; empty when all is well."""
    return tuple(_Check(front).run())


class _Check:
    """A front, and the cuts evaluated anew."""

    def __init__(self, front: ExactFront) -> None:
        self._front = front
        self._cuts: dict[tuple[int, int, bool], Cut] = {}
        self._seconds: dict[int, Fraction] = {}

    def run(self) -> Iterator[str]:
        """Check where everything is, then every bound, then what follows from them."""
        front = self._front
        every = [*front.solved, *front.excluded, *front.infeasible, *front.open]
        if sorted(every) != list(range(len(front.options))):
            yield "not every machine is solved, excluded, infeasible or open, and one of them only"
        for index in front.infeasible:
            if unfit(front.options[index].problem) is None:
                yield f"machine {index}: said to be infeasible, but its operations fit"
        proved: dict[int, BoundedMachine] = {**front.solved, **front.excluded, **front.open}
        for index, found in proved.items():
            yield from self._bound(index, found)
        for index, excluded in front.excluded.items():
            if not self._beats(excluded.by, index):
                yield f"machine {index}: excluded, but machine {excluded.by} does not dominate it"
        for index in front.solved:
            yield from self._solved(index)

    def _bound(self, index: int, found: BoundedMachine) -> Iterator[str]:
        option = self._front.options[index]
        cut, machine = self._anew(found.cut, option), option.machine
        cycles = cut.least_cycles(relax_timeline(option.lowered).compute_cycles, machine)
        self._seconds[index] = seconds(cycles, machine)
        if self._seconds[index] < found.least:
            yield f"machine {index}: its cut proves less than is said"
        if isinstance(found, SolvedMachine) and found.time < self._seconds[index]:
            yield f"machine {index}: its cut is above its schedule"

    def _anew(self, cut: Cut, option: MachineOption) -> Cut:
        """Evaluate the same dual values on the option's own operations."""
        key = (id(cut.certificate), id(option.lowered), option.machine.duplex)
        if key not in self._cuts:
            self._cuts[key] = evaluate_on(cut, option.problem)
        return self._cuts[key]

    def _beats(self, by: int, index: int) -> bool:
        """Return whether ``by`` was solved and, by bounds, dominates ``index``."""
        known, options = self._front.solved.get(by), self._front.options
        if known is None:
            return False
        cost, other = options[index].cost, options[by].cost
        least = self._seconds[index]
        return (other < cost and known.time <= least) or (other == cost and known.time < least)

    def _may_beat(self, by: int, index: int) -> bool:
        """Return whether bounds leave it possible that ``by`` dominates the solved ``index``."""
        options, time = self._front.options, self._front.solved[index].time
        if options[by].cost > options[index].cost:
            return False
        least = self._seconds[by]
        return least <= time if options[by].cost < options[index].cost else least < time

    def _solved(self, index: int) -> Iterator[str]:
        front = self._front
        others = [by for by in (*front.solved, *front.open) if by != index]
        beaten = any(self._beats(by, index) for by in others)
        unsure = any(self._may_beat(by, index) for by in others)
        if index in front.members and unsure:
            yield f"machine {index}: on the front, but bounds do not prove it"
        if index in front.undecided and beaten:
            yield f"machine {index}: undecided, but dominated"
        if index not in (*front.members, *front.undecided) and not beaten:
            yield f"machine {index}: not on the front, but bounds do not prove it"
