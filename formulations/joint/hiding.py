"""Transfers that each operation's computation hides, and bytes in the SPM meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import LinearExpr

from formulations.joint.program import JointProgram, Literal, Move, Number

START, END = 0, 1
"""Instants of an operation: just after its start, just before its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Pages that a tensor has if ``literal`` holds.

    If the operation does not use them, then also while the first, or last, of ``others`` runs, of
    whichever tensors that have pages at the same time.
    """

    tensor: int
    pages: int
    literal: Literal
    others: tuple[int, ...]


class Hiding:
    """Collects the pages and the hidden work of every operation; then adds the rows."""

    def __init__(self, program: JointProgram) -> None:
        self._program = program
        operations = program.facts.problem.operations
        self._most = [
            max(mapping.compute_cycles for mapping in each.mappings) for each in operations
        ]
        # Two instants of all steps suffice: bytes resident at both are resident between.
        self._taken: list[list[list[_Taken]]] = [[[] for _ in operations] for _ in (START, END)]
        # By operation: how much each term hides.
        self._hidden: list[list[tuple[Move, Number]]] = [[] for _ in operations]
        for use, moves in program.streams.items():
            operation = program.facts.uses[use].operation
            for move in moves if self._most[operation] else ():
                self.hide(operation, move, move.present)

    @property
    def computing(self) -> list[int]:
        """Operations with computation to be hidden."""
        return [operation for operation, most in enumerate(self._most) if most]

    def computation(self, operation: int) -> LinearExpr:
        """Its cycles, by the mapping."""
        mappings = self._program.facts.problem.operations[operation].mappings
        cycles = [mapping.compute_cycles for mapping in mappings]
        return LinearExpr.weighted_sum(self._program.mapping[operation], cycles)

    def must_be_resident(self, use: int) -> bool:
        """Whether the operand is required-resident in every mapping."""
        mappings = self._program.mapping[self._program.facts.uses[use].operation]
        return all(
            self._program.operand(use, mapping).required_resident
            for mapping in range(len(mappings))
        )

    def takes(
        self,
        operation: int,
        tensor: int,
        literal: Literal,
        instants: Sequence[int],
        others: Iterable[int] = (),
    ) -> None:
        """At these instants the tensor has pages if ``literal`` holds."""
        pages = self._program.facts.pages(self._program.facts.size(tensor))
        taken = _Taken(tensor=tensor, pages=pages, literal=literal, others=tuple(others))
        for instant in instants:
            self._taken[instant][operation].append(taken)

    def has(self, operation: int, tensor: int) -> bool:
        """Whether its pages are counted at the start already."""
        return any(tensor == taken.tensor for taken in self._taken[START][operation])

    def runs(self, move: Move, conditions: Sequence[Literal]) -> Literal | None:
        """A new literal for a move during an operation, if ``conditions`` hold; None: never."""
        program = self._program
        # A literal that never holds would only add a useless variable.
        if any(literal.index == program.false.index for literal in conditions):
            return None
        during = program.boolean()
        for literal in (move.present, *conditions):
            program.cp.add_implication(during, literal)
        return during

    def hide(self, operation: int, move: Move, during: Literal) -> Number:
        """Cycles of the operation's computation that the move hides, if ``during`` holds."""
        # Neither more than the move takes, nor than there is computation.
        most = min(move.cycles, self._most[operation])
        hidden = self._program.integer(0, most)
        self._program.cp.add(hidden <= most * during)
        self._hidden[operation].append((move, hidden))
        return hidden

    def close(self) -> None:
        """Add the rows: pages fit; exposed work and all commands are the makespan."""
        for operation in range(len(self._most)):
            for taken in self._taken:
                self._fit(operation, taken[operation])
            self._large(operation)
        for channel in self._program.channels:
            self._sum(channel)

    def _tensors_in_full(self, operation: int) -> set[int]:
        """Tensors that are in the SPM in full while it runs, in every schedule."""
        facts = self._program.facts
        uses = [use for use in facts.of_operation[operation] if self.must_be_resident(use)]
        return {facts.uses[use].tensor for use in uses}

    def _free(self, operation: int, besides: Collection[int] = ()) -> int:
        """Pages left beside those that it takes in every schedule, but for tensors ``besides``."""
        facts = self._program.facts
        tensors = self._tensors_in_full(operation).difference(besides)
        mappings = facts.problem.operations[operation].mappings
        scratch = min(facts.pages(mapping.scratch_bytes) for mapping in mappings)
        taken = scratch + sum(facts.pages(facts.size(tensor)) for tensor in tensors)
        return facts.problem.machine.spm_pages - taken

    def _fit(self, operation: int, taken: Sequence[_Taken]) -> None:
        """Pages taken together fit; of tensors larger than half of the free pages, one at most."""
        program = self._program
        room = program.facts.problem.machine.spm_pages
        held = LinearExpr.sum([each.pages * each.literal for each in taken])
        program.cp.add(held + program.scratch_pages(operation) <= room)
        fixed, free = self._tensors_in_full(operation), self._free(operation)
        # Two tensors of more than half of the free pages each do not fit together: a clique row,
        # which the relaxation does not see in the sum.
        program.cp.add_at_most_one(
            each.literal for each in taken if 2 * each.pages > free and each.tensor not in fixed
        )
        self._fit_elsewhere([each for each in taken if each.others])

    def _fit_elsewhere(self, taken: Sequence[_Taken]) -> None:
        """The same where the first, or last, of ``others`` runs; for as many as that allows."""
        for pages in sorted({each.pages for each in taken}):
            large = [each for each in taken if each.pages >= pages]
            tensors = {each.tensor for each in large}
            others = {other for each in large for other in each.others}
            if 2 * pages > max(self._free(other, tensors) for other in others):
                self._program.cp.add_at_most_one(each.literal for each in large)
                return

    def _large(self, operation: int) -> None:
        """A large operand that was there before does not come, and leaves no room for large loads.

        This follows from integrality, but not in a linear relaxation.
        """
        program, facts, free = self._program, self._program.facts, self._free(operation)
        large = {t for t in range(len(facts.of_tensor)) if 2 * facts.pages(facts.size(t)) > free}
        loads = {id(load) for load in program.load.values() if load.tensor in large}
        most = self._most[operation]
        for use in facts.of_operation[operation]:
            if facts.uses[use].tensor not in large or self.must_be_resident(use):
                continue
            kept = LinearExpr.sum(
                [
                    program.member[use, interval]
                    for interval in program.intervals_of(use)
                    if program.intervals[interval].head != use
                ]
            )
            out = loads.union(id(stream) for stream in program.streams[use])
            for channel in program.channels:
                hidden = [
                    cycles
                    for move, cycles in self._hidden[operation]
                    if id(move) in out and program.channel(move) == channel
                ]
                program.cp.add(LinearExpr.sum(hidden) + most * kept <= most)

    def _sum(self, channel: int) -> None:
        """No more is hidden than there is; all else takes its time one after the other."""
        program = self._program
        terms = [
            move.cycles * move.present
            for move in program.moves()
            if program.channel(move) == channel
        ]
        for operation, parts in enumerate(self._hidden):
            hidden = LinearExpr.sum([h for move, h in parts if program.channel(move) == channel])
            computation = self.computation(operation)
            # One channel hides one cycle at a time.
            program.cp.add(hidden <= computation)
            terms.append(computation - hidden)
        program.cp.add(LinearExpr.sum(terms) <= program.makespan)
