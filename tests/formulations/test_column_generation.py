"""Column generation: at which prices each round looks for columns."""

from __future__ import annotations

from formulations.residency.bound.duals import Multipliers
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.program.columns import PathColumns
from formulations.residency.program.master import Master
from formulations.solver.program import SolverResult
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from tests.strategies import random_problem


class Watched(ColumnGeneration):
    """Notes of each program whether its duals proved more, and how many duals were tried then."""

    rounds: list[tuple[bool, int]]

    def take(self, built: Master, answer: SolverResult) -> None:
        before = self.bound
        super().take(built, answer)
        self.rounds.append((self.bound > before, 0))

    def price(self, duals: Multipliers) -> PathColumns:
        if self.rounds:
            proved, count = self.rounds[-1]
            self.rounds[-1] = proved, count + 1
        return super().price(duals)


def test_columns_are_sought_between_duals_only_where_a_program_proved_nothing() -> None:
    found = set()
    for seed in range(12):
        problem = random_problem(seed, max_operations=14, max_tensors=8, duplex=True)
        search = Watched(problem, Request(objective=MAKESPAN, threads=1), fluid=True)
        search.rounds = []
        search.run(1e-9)
        found |= set(search.rounds)
    # None after the last program of a search.
    assert {count for proved, count in found if proved} == {0, 2}
    assert {count for proved, count in found if not proved} == {0, 5}
