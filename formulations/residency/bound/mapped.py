"""The dual where operations have several mappings: a byte takes the least arc of all of them.

At given payments of bytes for mappings and rooms (:mod:`spmopt.verifier.mappings`), an access
streams in the mapping in which that costs least, and is resident in another, maybe.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.bound.dual import INFINITE, Arcs, DualFunction, dual_arcs
from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.solver.program import Floats
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, timeline_of_mappings


@dataclass(frozen=True, kw_only=True, eq=False)
class Payments:
    """Payments of all mappings, as a certificate names those of operations that have several.

    Attributes
    ----------
    uses, rooms_listed
        As certificates list them.
    rows : (q,)
        Of a byte, by operation, operand and mapping of all operations.
    rooms : (k,)
        Of a resident byte, by operation and mapping.
    choice : (q,)
        The mapping of each row among all.
    begins : (a,)
        The first row of each access.
    fetches, firm, kind, live : (q,)
        How the mapping uses the operand; ``live``: something needs its contents afterwards.
    earned : (k,)
        By each mapping: all that bytes pay in it, but for its room.
    """

    uses: Floats
    rooms_listed: Floats
    rows: Floats
    rooms: Floats
    choice: Ints
    begins: Ints
    fetches: Ints
    firm: Bools
    kind: Ints
    live: Bools
    earned: Floats

    @classmethod
    def of(cls, problem: Problem, uses: Floats, rooms: Floats) -> Payments:
        """Read payments by mappings of operations that have several, as certificates list them."""
        table, first = timeline_of_mappings(problem), problem.operands.first_mapping
        counts = np.diff(first)
        of_rows, of_mappings = np.zeros(table.step.size), np.zeros(int(first[-1]))
        of_rows[counts[table.step] > 1] = uses
        of_mappings[np.repeat(counts > 1, counts)] = rooms
        number = (np.arange(table.step.size) - table.first[table.step]) % counts[table.step]
        choice = first[table.step] + number
        paid = table.size_bytes[table.tensor] * of_rows
        earned: Floats = np.bincount(choice, paid, of_mappings.size).astype(np.float64)
        return cls(
            uses=uses,
            rooms_listed=rooms,
            rows=of_rows,
            rooms=of_mappings,
            choice=choice,
            begins=np.flatnonzero(number == 0),
            fetches=table.fetches,
            firm=table.required_resident,
            kind=table.kind,
            live=table.live_after,
            earned=earned,
        )

    @classmethod
    def ways(cls, problem: Problem, proof: Certificate) -> list[Payments]:
        """Return those of a certificate, if it names any, and none at all."""
        counts = np.diff(problem.operands.first_mapping)
        several, operands = counts[counts > 1], np.diff(problem.operands.first)[counts > 1]
        none = cls.of(problem, np.zeros(int(several @ operands)), np.zeros(int(several.sum())))
        if proof.uses is None or proof.rooms is None:
            return [none]
        named = (proof.uses.astype(np.float64), proof.rooms.astype(np.float64))
        return [cls.of(problem, *(np.ldexp(each, -proof.bits) for each in named)), none]

    def dual(
        self, intervals: RankedIntervals, coefficients: CostCoefficients, duals: Multipliers
    ) -> DualFunction:
        """Return the dual over intervals; their timeline is in the listed order."""
        # Every access may stream, in some mapping, with the fetches of the cheapest.
        least = copy(intervals)
        least.required_resident = np.zeros_like(intervals.required_resident)
        return DualFunction(least, coefficients, duals, self._arcs)

    def _arcs(self, intervals: RankedIntervals, moves: MoveDuals) -> Arcs:
        of_access, count = intervals.position[:-1], np.diff(self.begins, append=self.rows.size)
        at = np.repeat(intervals.at[of_access], count)
        ratio = np.repeat(intervals.ratio[of_access], count)
        read, written = self.kind != Access.WRITE, self.kind != Access.READ
        # R3, R4: a result of p parts is read back p - 1 times; a dead one is not stored.
        times_in = np.where(read, self.fetches, np.where(self.live, self.fetches - 1, 0))
        times_out = np.where(written & self.live, self.fetches, 0)
        streamed = times_in * moves.loaded[at] + times_out * moves.stored[at] + self.rows
        streamed[self.firm] = INFINITE
        held = self.rows + self.rooms[self.choice]
        load_fixed, store_fixed = moves.fixed(ratio)
        load = np.where(self.firm & read, load_fixed, moves.loaded[at])
        store = np.where(self.firm & written, store_fixed, moves.stored[at])
        columns = (streamed, held, held + load, held + store)
        stream, keep, enter, clean = (np.minimum.reduceat(x, self.begins) for x in columns)
        # The path moves as many bytes as the mapping in which it streams.
        of_rows = np.repeat(stream, count)
        rows = np.where(streamed == of_rows, np.arange(of_rows.size), of_rows.size)
        chosen = np.minimum.reduceat(rows, self.begins)[intervals.access]
        intervals.fetches = self.fetches[chosen]
        arcs = dual_arcs(intervals, moves)
        paid = np.where(self.firm[chosen], INFINITE, self.rows[chosen])
        return replace(
            arcs,
            stream=arcs.stream + paid,
            keep_here=arcs.keep_here + keep[intervals.access],
            load_here=(enter - keep)[intervals.access],
            clean_here=(clean - keep)[intervals.access],
        )
