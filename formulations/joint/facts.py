"""Facts of a problem that do not depend on the order.

Dependences, uses of tensors, versions, segments. Dependences are the predecessors and the hazards
of the listed order. They order every write of a tensor against all its other uses, so that each use
reads and writes a version known beforehand; only the readers of one version are free among
themselves. A *segment* is a chain of versions made by updates in place: it begins with the contents
at the start, or with a blind write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import gcd

import networkx
import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

NONE = -1  # in place of an operation


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandUse:
    """An operation touches a tensor.

    ``place`` is the operand's in the operation; ``reads`` and ``writes`` are versions or -1.
    """

    operation: int
    place: int
    tensor: int
    kind: Access
    segment: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Contents of a tensor.

    ``writer`` and ``next_writer`` are uses or -1 (there at the start; never overwritten),
    ``readers`` the uses that read it, one that updates it included. ``kept``: it must be in
    DRAM at the end.
    """

    tensor: int
    writer: int
    readers: tuple[int, ...]
    next_writer: int
    kept: bool

    @property
    def is_needed(self) -> bool:
        """Whether the contents are of any use (``live_after`` its write)."""
        return bool(self.readers) or self.kept


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFacts:
    """A problem, analyzed.

    Attributes
    ----------
    before : (n, n) bool
        ``before[i, j]``: operation i runs before j in every order allowed.
    chain
        The pairs of ``before`` that imply all others.
    of_tensor, of_operation
        Uses by tensor, in the listed order, and by operation, in the order of its operands.
    """

    problem: Problem
    before: Bools
    chain: tuple[tuple[int, int], ...]
    uses: tuple[OperandUse, ...]
    versions: tuple[Version, ...]
    of_tensor: tuple[tuple[int, ...], ...]
    of_operation: tuple[tuple[int, ...], ...]

    @property
    def operations(self) -> int:
        """Number of operations, and of steps."""
        return len(self.problem.operations)

    def pages(self, size_bytes: int) -> int:
        """Pages that hold so many bytes."""
        return -(-size_bytes // self.problem.machine.page_bytes)

    def size(self, tensor: int) -> int:
        """Bytes of a tensor."""
        return self.problem.tensors[tensor].size_bytes

    def use_before(self, one: int, other: int) -> bool:
        """Whether use ``one`` comes before ``other`` in every order."""
        left, right = self.uses[one].operation, self.uses[other].operation
        return bool(self.before[left, right])


def analyze(
    problem: Problem, order: Ints | None = None, *, pairs: Sequence[tuple[int, int]] = ()
) -> JointFacts:
    """Return facts of ``problem``; with ``order``, of that order of operations only.

    Without one, of those in which the first of each of ``pairs`` runs before the other.
    """
    before = _closure(problem, pairs) if order is None else _total(order)
    # A pair with an operation between follows from the two shorter ones.
    through = (before.astype(np.int64) @ before.astype(np.int64)) > 0
    uses: list[OperandUse] = []
    # Of each version: its tensor, and by number its uses.
    contents = [t for t, tensor in enumerate(problem.tensors) if tensor.in_dram]
    writer, next_writer = dict[int, int](), dict[int, int]()
    readers: defaultdict[int, list[int]] = defaultdict(list)
    current = dict(zip(contents, range(len(contents)), strict=True))
    segment = list(range(len(problem.tensors)))
    segments = count(len(segment))
    for index, operation in enumerate(problem.operations):
        for place, tensor in enumerate(operation.tensors):
            number, reads, writes = len(uses), NONE, NONE
            if place < len(operation.reads):
                reads = current[tensor]
                readers[reads].append(number)
            else:
                # A blind write begins new contents; old intervals end before it.
                segment[tensor] = next(segments)
            if tensor in operation.writes:
                if tensor in current:
                    next_writer[current[tensor]] = number
                writes = current[tensor] = len(contents)
                contents.append(tensor)
                writer[writes] = number
            # R5: an update reads the version that it replaces.
            kind = Access.WRITE if reads == NONE else Access.READ
            uses.append(
                OperandUse(
                    operation=index,
                    place=place,
                    tensor=tensor,
                    kind=Access.UPDATE if NONE not in {reads, writes} else kind,
                    segment=segment[tensor],
                    reads=reads,
                    writes=writes,
                )
            )
    of_tensor: list[list[int]] = [[] for _ in problem.tensors]
    of_operation: list[list[int]] = [[] for _ in problem.operations]
    for number, use in enumerate(uses):
        of_tensor[use.tensor].append(number)
        of_operation[use.operation].append(number)
    return JointFacts(
        problem=problem,
        before=before,
        chain=tuple((int(i), int(j)) for i, j in np.argwhere(before & ~through)),
        uses=tuple(uses),
        versions=tuple(
            Version(
                tensor=tensor,
                writer=writer.get(version, NONE),
                readers=tuple(readers[version]),
                next_writer=next_writer.get(version, NONE),
                kept=problem.tensors[tensor].keep and version not in next_writer,
            )
            for version, tensor in enumerate(contents)
        ),
        of_tensor=tuple(map(tuple, of_tensor)),
        of_operation=tuple(map(tuple, of_operation)),
    )


def _closure(problem: Problem, pairs: Sequence[tuple[int, int]]) -> Bools:
    """Transitive closure of the dependences, and of ``pairs``, earlier to later as listed."""
    needed = dependences(problem)
    graph = networkx.DiGraph(pairs)
    graph.add_nodes_from(range(len(needed)))
    graph.add_edges_from((one, later) for later, before in enumerate(needed) for one in before)
    closure = networkx.transitive_closure_dag(graph)
    before: Bools = networkx.to_numpy_array(closure, range(len(needed)), dtype=bool)
    return before


def _total(order: Ints) -> Bools:
    place = np.argsort(order)
    result: Bools = place[:, None] < place[None, :]
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidencyInterval:
    """An interval that may be, named by its first use; at most one for each use.

    It is a run of steps in which a tensor is resident, whole and at one address. Schedules with
    these need no others:

    * An interval that holds no use of its tensor would load it for nothing.
    * Of one that goes on over a blind write, the parts before and after the write are two: the old
      contents are dead when their last use and store are over.
    * It ends with its last use or store: its contents afterwards are in DRAM or dead.

    Attributes
    ----------
    head
        The first use. Unless it is a blind write, the tensor is loaded for it.
    members
        Uses that may be in the interval, the head included.
    operations
        Operations in whose steps the tensor may be resident, those of the members included.
    issues
        Operations in whose steps the load may be issued.
    """

    head: int
    tensor: int
    pages: int
    loads: bool
    members: tuple[int, ...]
    operations: tuple[int, ...]
    issues: tuple[int, ...]


def possible_intervals(facts: JointFacts) -> tuple[ResidencyInterval, ...]:
    """All intervals of tensors that fit the scratchpad."""
    room = facts.problem.machine.spm_pages
    intervals = []
    for head, use in enumerate(facts.uses):
        pages = facts.pages(facts.size(use.tensor))
        if pages <= room:
            intervals.append(_interval(facts, head, pages))
    return tuple(intervals)


def _interval(facts: JointFacts, head: int, pages: int) -> ResidencyInterval:
    use = facts.uses[head]
    same = facts.of_tensor[use.tensor]
    members = tuple(
        other
        for other in same
        if facts.uses[other].segment == use.segment and not facts.use_before(other, head)
    )
    # A blind write needs no old contents: its interval begins with it.
    loads = use.kind != Access.WRITE
    operations = tuple(
        operation
        for operation in range(facts.operations)
        if _may_hold_in(facts, head, members, operation)
    )
    touching = {facts.uses[other].operation for other in same}
    issues = tuple(
        operation
        for operation in operations
        # A load may be issued with its use, or in any earlier step of no other use of the tensor.
        if operation == use.operation
        or (operation not in touching and not facts.before[use.operation, operation])
    )
    return ResidencyInterval(
        head=head,
        tensor=use.tensor,
        pages=pages,
        loads=loads,
        members=members,
        operations=operations,
        issues=issues if loads else (),
    )


def _may_hold_in(facts: JointFacts, head: int, members: tuple[int, ...], operation: int) -> bool:
    """Whether the tensor may be resident in that step, but in no step of a use outside."""
    begin, before = facts.uses[head].operation, facts.before
    # Contents do not exist before their blind write.
    if before[operation, begin] and facts.uses[head].kind == Access.WRITE:
        return False
    inside = {facts.uses[member].operation for member in members}
    for other in facts.of_tensor[facts.uses[head].tensor]:
        place = facts.uses[other].operation
        if place in inside:
            continue
        earlier = before[place, begin] and (place == operation or before[operation, place])
        later = before[begin, place] and (place == operation or before[place, operation])
        if place == operation or earlier or later:
            return False
    return True


def command_cycles(machine: Machine, size_bytes: int) -> int:
    """Cycles of a command: ``lambda + ceil(x f / beta)``."""
    # Rounded up to whole cycles (R6).
    transfer = -(-size_bytes * machine.clock_hz // machine.dram_bytes_per_s)
    return machine.dma_setup_cycles + transfer


def unit_cycles(facts: JointFacts) -> int:
    """Return cycles of which all computation and all commands take a multiple.

    So do all times of a schedule in which nothing waits without need, its makespan among them.
    """
    problem = facts.problem
    cycles = {
        mapping.compute_cycles for operation in problem.operations for mapping in operation.mappings
    }
    for use in facts.uses:
        for mapping in problem.operations[use.operation].mappings:
            fetches = mapping.operands[use.place].fetches
            # A store or load moves the tensor once, streams p or p - 1 times (R4).
            for times in {1, fetches - 1, fetches} - {0}:
                cycles.add(command_cycles(problem.machine, times * facts.size(use.tensor)))
    # The solver's domains shrink by the unit; no optimum is lost, as every event waits for another.
    return max(1, gcd(*cycles))


def serial_cycles(facts: JointFacts) -> int:
    """A bound on the makespan of serial execution with only required residency.

    Every use moves its tensor in and out as often as any mapping may ask for.
    """
    problem = facts.problem
    total = sum(
        max(mapping.compute_cycles for mapping in operation.mappings)
        for operation in problem.operations
    )
    for use in facts.uses:
        mappings = problem.operations[use.operation].mappings
        fetches = max(mapping.operands[use.place].fetches for mapping in mappings)
        # A read comes in; a write goes out, and may come in again.
        ways = 1 if use.kind == Access.READ else 2
        total += ways * command_cycles(problem.machine, fetches * facts.size(use.tensor))
    return total


def least_cycles(facts: JointFacts) -> int:
    """A bound that needs no search: all computation, and the least transfers of each channel.

    Initial contents that are read come in once at least, kept tensors go out once.
    """
    problem = facts.problem
    compute = sum(
        min(mapping.compute_cycles for mapping in operation.mappings)
        for operation in problem.operations
    )
    inward = outward = 0
    for version in facts.versions:
        cycles = command_cycles(problem.machine, facts.size(version.tensor))
        # Contents at the start that are read enter at least once, whatever the order.
        if version.writer == NONE and version.readers:
            inward += cycles
        if version.writer != NONE and version.kept:
            outward += cycles
    if problem.machine.duplex:
        return max(compute, inward, outward)
    return max(compute, inward + outward)
