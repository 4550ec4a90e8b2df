"""The least that a fused group costs, whatever happens outside: a small linear program.

Variables are sums over the fusion tiles of a class: all of them, or the first, those between and
the last. Every row is a sum over fusion tiles of rules of PROBLEM.md for single steps, or lacks
something of it, so that any schedule of any fusion plan with the fused group is a solution of no
higher cost:

* a tensor that is cut is tracked along one fusion tile, from the fused group's first step to its
  last, and along the next ones where these use it too;
* tensors that all fusion tiles share are tracked around them:
  :mod:`formulations.fusion.shared_tensors`;
* bytes that a fusion tile finds on chip, and leaves there: :mod:`formulations.fusion.boundaries`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from formulations.fusion.boundaries import Boundaries, Inner
from formulations.fusion.rows import OF_TIME, FusedGroupRows
from formulations.fusion.shared_tensors import SharedTensors
from formulations.fusion.steps import Amounts, Spans, Used, UseTable
from formulations.fusion.tileable import REST, Listed
from formulations.fusion.uses import Use
from formulations.fusion.work import CALL_S, ENTRY_S, PROGRAM_S
from formulations.solver.highs import Repeated, solve
from formulations.solver.program import Floats, Program, SolverResult, SolverStatus
from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.table import Bools, Ints

OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "simplex_dual_edge_weight_strategy": 1,  # Devex: a quarter less time than the steepest edge
    "presolve": "off",
}


@dataclass(frozen=True, slots=True)
class FusedGroupValue:
    """Lower bound on a fused group, in objective units.

    Attributes
    ----------
    duals
        Of rows, by the names that ``spmopt.verifier.fused_group_bound`` gives them.
    work_s
        Counted seconds to build and solve its program.
    """

    value: float
    duals: dict[Row, float] = field(default_factory=dict)
    work_s: float = field(default=0.0, compare=False)


def of_alike(found: FusedGroupValue) -> FusedGroupValue:
    """Return the values of a fused group for one like it, which take next to no time."""
    return replace(found, work_s=CALL_S)


def work_s(program: Program, *answers: SolverResult, built: bool = True) -> float:
    """Return about how long it takes to solve a program, once or more often, and to build it."""
    building = PROGRAM_S + ENTRY_S * program.matrix.index.size
    return building * built + sum(CALL_S + answer.work_s for answer in answers)


def classes(micro_batches: int, *, fine: bool) -> list[int]:
    """Return how many tiles each class has, in order: all, or the first, others and the last."""
    if not fine or micro_batches == 1:
        return [micro_batches]
    # A single tile would be first and last; of two, none is between.
    return [1, 1] if micro_batches == 2 else [1, micro_batches - 2, 1]


class FusedGroupProgram(FusedGroupRows):
    """The program of a fused group.

    Parameters
    ----------
    held
        Bytes that may be on chip before and after it: the scratchpad's for a bound; 0 gives
        the value of a group that begins and ends with nothing on chip.
    carried
        Name the bytes carried across both ends, tensor by tensor, so that they can be priced.
    fine
        Tell the first and the last fusion tile from the others.
    inner
        Lower bound on its steps in any fused group of as many fusion tiles that has them: in each
        fusion tile other steps may come before and after, and the bytes that these leave on chip,
        or find there, are unknown.
    """

    def __init__(
        self,
        listed: Listed,
        fused_group: FusedGroup,
        held: float,
        *,
        carried: bool = False,
        fine: bool = False,
        inner: bool = False,
    ) -> None:
        super().__init__(
            listed,
            fused_group,
            held,
            classes(fused_group.micro_batches, fine=fine),
            carried=carried,
        )
        objective = listed.objective
        duals = (float(objective.cycle) / listed.bytes_per_cycle, float(objective.dram_in_byte))
        # In joules a byte's dual value is below the solver's tolerance.
        self.dual = max(*duals, float(objective.dram_out_byte)) or 1.0
        self.ends = Inner(self) if inner else Boundaries(self)
        self._choose()
        cut, whole = self._uses()
        for table in self._tables(cut):
            for number in range(len(self.counts)):
                self._cut(table, number)
        for table in self._tables(whole):
            shared = SharedTensors(self, self.ends, table)
            if inner:
                shared.track_inner()
            else:
                shared.track()
        self.ends.close()
        self._time = self._durations()

    def _uses(self) -> tuple[list[Used], ...]:
        """Return how tensors that are cut, and others, are used; of those used alike only one.

        These are one tensor of their size to the program: parameters of a normalization, states of
        an optimizer. It takes half of its columns, and none of its value.
        """
        uses: tuple[dict[int, list[tuple[int, Use]]], ...] = ({}, {})
        for step in range(self.steps):
            for use in self.listed.mappings(self.fused_group.begin + step, self.micro_batches):
                uses[use.shared].setdefault(use.tensor, []).append((step, use))
        found: tuple[list[Used], ...] = ([], [])
        for several, of_kind in zip(found, uses, strict=True):
            first: dict[object, Used] = {}
            for tensor, touched in of_kind.items():
                for each in self._patterns(tensor, touched):
                    group, ratio = self.group(tensor), self.listed.ratios[tensor]
                    key = group, ratio, *((step, *use.figures) for step, use in each.uses)
                    same = first.setdefault(key, each)
                    if same is each:
                        several.append(each)
                        continue
                    same.owners += each.owners
                    same.size += each.size
                    if same.tiles is not None and each.tiles is not None:
                        same.tiles += each.tiles
        return found

    def _patterns(self, tensor: int, touched: list[tuple[int, Use]]) -> Iterator[Used]:
        """Yield the uses of a tensor's bytes, of stripes by pattern."""
        patterns = self.listed.patterns.get(tensor)
        if patterns is None:
            yield Used([tensor], touched, float(self.listed.sizes[tensor]))
            return
        by_step = dict(touched)
        for each in patterns:
            uses = [(step, by_step[step % self.steps]) for step in each.uses]
            # Steps of a later stripe may come before operations of this one: contents are
            # live if the next use reads them, after the last if they are needed after the group.
            live = [*(use.reads for _, use in uses[1:]), touched[-1][1].live_after]
            yield Used(
                [tensor],
                [(at, replace(use, live_after=x)) for (at, use), x in zip(uses, live, strict=True)],
                float(sum(each.sizes)),
                np.array(each.sizes, float),
            )

    def _tables(self, uses: Sequence[Used]) -> Iterator[UseTable]:
        """Yield tensors by the number of fusion tiles from their first use to their last."""
        spreads = [each.uses[-1][0] // self.steps for each in uses]
        for spread in sorted({*spreads}):
            own = [each for each, tiles in zip(uses, spreads, strict=True) if tiles == spread]
            yield UseTable((spread + 1) * self.steps, own, self.listed.ratios)

    def solve(self) -> FusedGroupValue:
        """Solve it; infinite where required-resident operands do not fit.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program = self.program()
        answer = solve(program, options=OPTIONS, brief=True)
        return replace(self._evaluate(answer, priced=True), work_s=work_s(program, answer))

    def solve_twice(self) -> tuple[FusedGroupValue, FusedGroupValue]:
        """Solve it, then as one that begins and ends with nothing on chip.

        The second, from the basis of the first, has no dual values: it bounds nothing.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program, rows = self.program(), self.ends.caps
        solver = Repeated(program, OPTIONS)
        first = solver.solve()
        held = replace(self._evaluate(first, priced=True), work_s=work_s(program, first))
        if not rows.size:
            return held, held
        # Only the capacities at both ends change, so the last basis stays dual feasible.
        for row in rows.tolist():
            solver.sides(row, -np.inf, 0.0)
        answer = solver.solve()
        both = work_s(program, first, answer)
        return replace(held, work_s=both), self._evaluate(answer, priced=False)

    def _evaluate(self, answer: SolverResult, *, priced: bool) -> FusedGroupValue:
        value = self.value(answer)
        if not np.isfinite(value):
            # No tile fits: the value is infinite, and needs no certificate.
            return FusedGroupValue(value=value)
        return FusedGroupValue(
            value=value,
            duals=self.duals(answer) if priced else {},
        )

    def value(self, answer: SolverResult) -> float:
        """Return the value that a solver found, in objective units.

        Raises
        ------
        ArithmeticError
            It found no optimum.
        """
        # Required-resident operands exceed the capacity rows: the group is in no legal schedule.
        if answer.status is SolverStatus.INFEASIBLE:
            return np.inf
        if answer.status is not SolverStatus.OPTIMAL or answer.objective is None:
            raise ArithmeticError(f"fused group {self.fused_group}: {answer.status}")
        return answer.objective * self.unit * self.dual

    def program(self) -> Program:
        """Return the program as arrays; bytes carried across its ends cost nothing."""
        listed, objective = self.listed, self.listed.objective
        built = self.builder.program()
        cost = built.cost.copy()
        offset = float(
            listed.unavoidable(self.micro_batches)[
                self.fused_group.begin : self.fused_group.end
            ].sum()
        )
        for amounts, constant, weight in (
            (self.into, self.constant_in, float(objective.dram_in_byte)),
            (self.out, self.constant_out, float(objective.dram_out_byte)),
        ):
            _, column, times = Amounts.all(amounts)
            np.add.at(cost, column, weight * times / self.dual)
            offset += weight * float(constant.sum())
        cost[self._time] = float(objective.cycle) / listed.bytes_per_cycle / self.dual
        return replace(built, cost=cost, offset=offset / self.unit / self.dual)

    def duals(self, answer: SolverResult) -> dict[Row, float]:
        """Return the dual values of rows, in objective units."""
        return self.named.duals(self.row_dual(answer))

    def row_dual(self, answer: SolverResult) -> Floats:
        """Return the dual values of rows by number, in objective units."""
        assert answer.row_dual is not None
        row_duals: Floats = answer.row_dual * self.dual
        for rows, below, above in self._sides:
            # The solver's are of the wrong sign by its tolerance.
            row_duals[rows] = np.clip(
                row_duals[rows], 0.0 if below else None, 0.0 if above else None
            )
        return row_duals

    def _cut(self, uses: UseTable, number: int) -> None:
        """Track tensors that are cut along one tile; bytes are those of all tiles of a class."""
        builder = self.builder
        steps = self.at(number, uses.steps)
        share = self.counts[number] / self.micro_batches
        size = uses.size * share
        followed = np.array([self.group(t) != REST for t in uses.tensors], bool)
        spans = Spans(uses, followed)
        now = self.columns(spans.there, size, np.where(uses.fixed, size, 0.0))
        self.room.add(steps, now, 1.0)
        begins = self.columns(uses.begins, size[:, 0])
        before = np.concatenate((begins[:, None], now[:, :-1]), axis=1)
        load = self.columns(spans.loaded, size)
        self.load(number, load, uses.fixed, uses.ratio)
        # (G3) R2: within a tile, bytes on chip grow by loads alone; a blind write, which replaces
        # the contents, has no such row.
        grows = self.rows(spans.grown, (-np.inf, 0.0))
        builder.add(grows, now, 1.0)
        builder.add(np.where(spans.grown, grows, -1), before, -1.0)
        builder.add(grows, load, -1.0)
        newer, store = self.columns(spans.stored, size), self.columns(spans.stored, size)
        self.store(number, store, uses.fixed & uses.writes, uses.ratio)
        newer_before = np.concatenate((np.full_like(now[:, :1], -1), newer[:, :-1]), axis=1)
        # (G4) R7: bytes newer than DRAM stay resident until they are stored; none is lost.
        holds = self.rows(spans.held, (0.0, np.inf))
        builder.add(holds, now, 1.0)
        builder.add(holds, newer_before, -1.0)
        # (G4) R5: a store is all that makes dirty bytes clean; a write makes all resident bytes
        # dirty.
        stores = self.rows(spans.stored, (0.0, 0.0))
        builder.add(stores, newer, 1.0)
        builder.add(stores, store, 1.0)
        builder.add(stores, np.where(uses.writes, now, newer_before), -1.0)
        # R3, R4: a result is written as often as it is fetched, and read back once less; dead ones
        # are neither.
        into = np.where(uses.reads, uses.fetches, (uses.fetches - 1) * uses.live)
        out = uses.fetches * (uses.writes & uses.live)
        self.stream(uses, number, now, (into, out), share)
        self.ends.cut(uses, number, begins, now, newer[:, -1])

    def _choose(self) -> None:
        """Let fusion tiles choose among the mappings of operations that have several in common."""
        listed, objective = self.listed, self.listed.objective
        machine, page = listed.tileable.machine, listed.tileable.machine.page_bytes
        for step in range(self.steps):
            operation = listed.tileable.operations[self.fused_group.begin + step]
            common = operation.common(self.micro_batches)
            if not common:
                continue
            least = operation.mappings[self.micro_batches]
            cost, room, cycles = (
                np.array([figure(each) for each in (*common, least.first, least.later)], float)
                for figure in (
                    lambda mapping: float(objective.of_mappings(*mapping.unchanging)),
                    lambda mapping: page * machine.pages(mapping.scratch_bytes),
                    lambda mapping: mapping.compute_cycles,
                )
            )
            free = listed.capacity - room[:-2]
            for number, count in enumerate(self.counts):
                # Beyond the least of all, which the first tile may have for itself.
                first = int(number == 0) / count
                more, wider, slower = (
                    figure[:-2] - first * figure[-2] - (1 - first) * figure[-1]
                    for figure in (cost, room, cycles)
                )
                self.choose(number, step, more / self.unit / self.dual, wider, slower, free)

    def _durations(self) -> Ints:
        """Rows of the room and of the time of each step; the columns of the time."""
        listed, builder, machine = self.listed, self.builder, self.listed.tileable.machine
        self.named.times |= dict.fromkeys(OF_TIME, float(machine.clock_hz))
        free = listed.capacity * np.repeat(self.counts, self.steps)
        free = free - self._of_fusion(listed.scratch_of(self.micro_batches))
        self._add(self._by_step("capacity", (-np.inf, free)), 1.0, self.room)
        if not listed.objective.cycle:
            return np.empty(0, np.int64)
        computing = listed.bytes_per_cycle * self._of_fusion(listed.cycles_of(self.micro_batches))
        time, serial = self.columns(self.width, np.inf, computing), np.zeros(self.width, bool)
        # (G1) R6: elsewhere the lower bound of the time column states the same, without a row.
        serial[Amounts.all(self.serial_in, self.serial_out, self.slower)[0]] = True
        rows = self._by_step("", (computing, np.inf), serial)
        builder.add(rows, time, 1.0)
        self._add(rows, -1.0, self.serial_in, self.serial_out, self.slower)
        moved = self.constant_in, self.constant_out
        # (G1) One channel carries both directions; on two, each also waits for the serial transfers
        # of the other.
        parts = [("channel time", moved[0] + moved[1], (self.into, self.out))]
        if machine.duplex:
            parts = [
                ("inward time", moved[0], (self.into, self.serial_out)),
                ("outward time", moved[1], (self.out, self.serial_in)),
            ]
        for kind, constant, both in parts:
            rows = self._by_step(kind, (constant, np.inf))
            builder.add(rows, time, 1.0)
            self._add(rows, -1.0, *both)
        return time

    def _by_step(
        self, kind: str, sides: tuple[Floats | float, Floats | float], where: Bools | None = None
    ) -> Ints:
        """Add a row for each step of each class (c * m,)."""
        shape = len(self.counts), self.steps
        some = np.ones(shape, bool) if where is None else where.reshape(shape)
        lower, upper = (np.broadcast_to(side, self.width).reshape(shape) for side in sides)
        return self.rows(some, (lower, upper), kind).ravel()

    def _of_fusion(self, figures: tuple[Floats, Floats]) -> Floats:
        """Add up figures of first and later fusion tiles, by class and step (c * m,)."""
        here = slice(self.fused_group.begin, self.fused_group.end)
        first, later = (figure[here] for figure in figures)
        return np.concatenate(
            [
                first + (count - 1) * later if number == 0 else count * later
                for number, count in enumerate(self.counts)
            ]
        )

    def _add(self, rows: Ints, sign: float, *amounts: Amounts) -> None:
        """Add amounts to the rows of their steps."""
        step, column, times = Amounts.all(*amounts)
        self.builder.add(rows[step], column, sign * times)
