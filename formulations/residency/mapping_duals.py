"""Dual values of mappings, by those of bytes in the steps.

A byte of tensor t that is resident before a step is worth something, as is one that DRAM lacks: the
rows of the plain model's relaxation say how much, or the cheapest paths from there on. With these
as potentials of the states N, R and D, ``nu_tim`` is the least number that makes no arc of mapping
m shorter than the potentials allow. Then the shortest path of a byte costs as much as they say, and
its step pays the rest of each mapping (spmopt/verifier/mappings.py). Operands of m fit beside its
scratch: a resident byte pays as much as the first of them that does not fit would gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.solver.program import Floats
from spmopt.core.mappings import fits_alone
from spmopt.core.objective import Objective
from spmopt.core.operation import FIGURES
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, timeline_of_mappings


@dataclass(frozen=True, kw_only=True, eq=False)
class Worth:
    """How much less a byte costs from a state on than one in N, at each access (a,) of a timeline.

    In R and in D before the access: infinite where no byte can be, so that no arc leaves it; and
    after it, ``-inf`` likewise. ``gone``: how much less one in N costs after than before. ``held``:
    the payment of a resident byte in the step, by default the dual value of its room. ``setup``:
    bytes that could move in a byte's part of a command's set-up; ``begun`` (q,): the dual value of
    a stream's command for a byte, by operation, operand and mapping of operations with several.
    """

    clean: Floats
    dirty: Floats
    clean_after: Floats
    dirty_after: Floats
    gone: Floats
    held: Floats | None = None
    setup: Floats | float = 0.0
    begun: Floats | float = 0.0


def worth_on_paths(dual: DualFunction) -> Worth:
    """Return the worth of bytes on the cheapest paths from each access on."""
    intervals, back = dual.intervals, dual.back
    before = np.where(intervals.write, back.bypass, back.gone_in)
    # States that no byte can be in have no cost to go on, or an infinite one.
    columns = (
        np.where(intervals.previous >= 0, before - back.clean_in, np.inf),
        np.where(intervals.dirty, before - back.dirty_in, np.inf),
        back.gone - back.clean,
        back.gone - back.dirty,
        before - back.gone,
    )
    place = intervals.position[:-1]
    clean, dirty, clean_after, dirty_after, gone = (each[place] for each in columns)
    return Worth(
        clean=clean, dirty=dirty, clean_after=clean_after, dirty_after=dirty_after, gone=gone
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class MappingDuals:
    """Dual values of the mappings of all operations.

    Attributes
    ----------
    uses
        ``nu`` by operation, operand and mapping, of operations that have several.
    rooms
        ``kappa`` by operation and mapping, of the same.
    costs, plain : (k,)
        Of each mapping, in objective units: at these dual values, and without them.
    """

    uses: Floats
    rooms: Floats
    costs: Floats
    plain: Floats

    def least(self, problem: Problem) -> Floats:
        """Return (n,) the cost of the cheapest mapping of each operation that fits."""
        costs = np.where(fits_alone(problem), self.costs, np.inf)
        found: Floats = np.minimum.reduceat(costs, problem.operands.first_mapping[:-1])
        return found


class _Rows:
    """Rows by operation, operand and mapping, of operations that have several.

    Attributes
    ----------
    step, access, choice : (q,)
        The operation, the access in a timeline of one mapping each, and the mapping among all.
    streamed, held : (q,)
        The largest difference of potentials less the cost of an arc, by which a byte is streamed,
        and by which it is resident: ``-inf`` where there is none.
    """

    def __init__(
        self, problem: Problem, line: Timeline, moves: MoveDuals, worth: Worth, table: Timeline
    ) -> None:
        first_mapping = problem.operands.first_mapping
        counts = np.diff(first_mapping)
        rows = np.flatnonzero(counts[table.step] > 1)
        self.step = step = table.step[rows]
        operand, mapping = np.divmod(rows - table.first[step], counts[step])
        self.access, self.choice = line.first[step] + operand, first_mapping[step] + mapping
        self.size = table.size_bytes[table.tensor[rows]]
        self.firm, fetches = table.required_resident[rows], table.fetches[rows]
        kind, live = table.kind[rows], table.live_after[rows]
        read, written = kind != Access.WRITE, kind != Access.READ
        moved, tensor = line.moved, table.tensor[rows]
        # Dual values of steps come once for each ratio.
        at, ratio = step + line.steps * moved.ratios[1][tensor], moved.ratio[tensor]
        hold, loaded, stored = (each[at] for each in (moves.held, moves.loaded, moves.stored))
        if worth.held is not None:
            hold = worth.held[self.access]
        # R3, R4: a result of p parts is read back p - 1 times; a dead one is not stored.
        times_in = np.where(read, fetches, np.where(live, fetches - 1, 0))
        stream = times_in * loaded + np.where(written & live, fetches, 0) * stored
        gone = worth.gone[self.access]
        self.streamed = np.where(self.firm, -np.inf, gone - stream)
        (load_fixed, store_fixed), (in_byte, out_byte) = moves.fixed(ratio), moves.alone(ratio)
        load = np.where(self.firm & read, load_fixed, loaded)
        store = np.where(self.firm & written, store_fixed, stored)
        # A command takes its set-up however few bytes it moves: no byte pays less than its part.
        setup = np.broadcast_to(worth.setup, line.step.shape)[self.access] / ratio
        load = load + setup * (load - in_byte)
        store = store + setup * (store - out_byte)
        self.held = gone - hold + self._resident(worth, (read, written, live), load, store)

    def _resident(
        self, worth: Worth, kinds: tuple[Bools, Bools, Bools], load: Floats, store: Floats
    ) -> Floats:
        """Return the largest difference of potentials less moves, of bytes that are resident."""
        (read, written, live), at = kinds, self.access
        # After the step dead contents cost nothing, wherever they are.
        to_clean, to_dirty = worth.clean_after[at], worth.dirty_after[at]
        as_clean = np.where(live, to_clean, 0.0)
        as_dirty = np.where(live, np.maximum(to_dirty, to_clean - store), 0.0)
        after = np.where(written, as_dirty, as_clean)
        # R5: a byte in D keeps its contents, or is stored; a blind write may follow any state.
        arcs = (
            np.where(read, after - load, after),
            np.where(read, after - worth.clean[at], -np.inf),
            np.where(read, as_dirty - worth.dirty[at], -np.inf),
        )
        found: Floats = np.maximum.reduce(arcs)
        return found


def mapping_duals(
    problem: Problem,
    line: Timeline,
    coefficients: CostCoefficients,
    objective: Objective,
    *,
    duals: Multipliers,
    worth: Worth,
    rooms: Floats | None = None,
) -> MappingDuals:
    """Return the dual values of mappings that prove most beside those of capacity and channels.

    Parameters
    ----------
    line
        The listed order, in any mappings: ``worth`` is of its accesses.
    rooms : (k,)
        Dual values of rooms that are known. Of bytes those found here prove no less, of partly
        filled pages they may.
    """
    rows = _Rows(
        problem, line, MoveDuals(coefficients, duals), worth, timeline_of_mappings(problem)
    )
    table = problem.operands
    operation, room, plain = costs_apart(problem, coefficients, objective, duals)
    # More than any byte gains: for mappings that do not fit at all.
    most = 4 * (problem.operands.most_fetches().max(initial=0) + 1) * coefficients.dearest_byte
    most *= float(problem.machine.most_moved)
    kappa = _rooms(rows, room, most) if rooms is None else rooms
    nu = np.maximum(rows.streamed, rows.held - kappa[rows.choice]) - worth.begun
    # The step gives back all that bytes pay in the mapping that it runs.
    earned = np.bincount(rows.choice, rows.size * nu, plain.size) + kappa * room
    several = np.diff(table.first_mapping)[operation] > 1
    return MappingDuals(uses=nu, rooms=kappa[several], costs=plain - earned, plain=plain)


def cheapest_mappings(problem: Problem, costs: Floats) -> Ints:
    """Return (n,) the mapping of each operation whose cost (k,) is the least."""
    first = problem.operands.first_mapping
    operation = np.repeat(np.arange(first.size - 1), np.diff(first))
    order = np.lexsort((costs, operation))
    found: Ints = order[first[:-1]] - first[:-1]
    return found


def costs_apart(
    problem: Problem, coefficients: CostCoefficients, objective: Objective, duals: Multipliers
) -> tuple[Ints, Floats, Floats]:
    """Return (k,) the operation of each mapping, its room, and its cost without its operands."""
    table, machine = problem.operands, problem.machine
    operation = np.repeat(np.arange(len(problem.operations)), np.diff(table.first_mapping))
    figures = dict(zip(FIGURES, table.mappings.figures[:, table.mapping], strict=True))
    pages = machine.pages(figures["scratch_bytes"])
    room = (machine.page_bytes * (machine.spm_pages - pages)).astype(np.float64)
    costs: Floats = duals.slack_dual(coefficients)[operation] * figures["compute_cycles"]
    costs += duals.spm[operation] * (machine.page_bytes * pages)
    if objective.weighs_mappings:
        names = "spm_read_bytes", "spm_write_bytes", "macs", "own_picojoules"
        for unit, name in zip(np.eye(len(names), dtype=int).tolist(), names, strict=True):
            costs += float(objective.of_mappings(*unit)) * figures[name]
    return operation, room, costs


def _rooms(rows: _Rows, room: Floats, most: float) -> Floats:
    """Return (k,) the gain of the first byte that does not fit beside a mapping's scratch.

    Its operands fill the room in the order of the gain of a resident byte.
    """
    # Required operands come first. Infinite differences of both kinds are of no use, and no number.
    with np.errstate(invalid="ignore"):
        gain = np.where(rows.firm, np.inf, rows.held - rows.streamed)
    order = np.lexsort((-gain, rows.choice))
    choice, taken = rows.choice[order], np.cumsum(rows.size[order])
    # Sums begin anew with each mapping.
    begins = np.flatnonzero(np.diff(choice, prepend=-1))
    before = np.repeat(
        taken[begins] - rows.size[order][begins], np.diff(begins, append=choice.size)
    )
    beyond = taken - before > room[choice]
    found = np.zeros(room.size)
    np.maximum.at(found, choice[beyond], np.clip(gain[order][beyond], 0.0, most))
    return found
