"""What a whole-tensor schedule decides, as 0/1 variables, and the rows that both models share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pulp

from formulations.second.case import Case, Gap, Use
from formulations.second.names import named

Rows = Iterator[tuple[str, Any]]
"""Names and constraints."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """``here``: of each use (tensor, step); ``kept``: of each gap (tensor, its last step).

    A gap without an earlier use has no variable: nothing is resident before the first step, and
    what waits to be stored at the end is not kept for a use.
    """

    case: Case
    here: dict[tuple[int, int], Any]
    kept: dict[tuple[int, int], Any]

    @staticmethod
    def of(case: Case) -> Decisions:
        """One 0/1 variable for each decision, 0 for what cannot fit beside what is held fast."""
        label, spare = case.labels, case.spare
        here = {
            (use.tensor, use.step): variable(
                named("here", label[use.tensor], use.step),
                int(use.stationary or case.pages[use.tensor] <= spare[use.step]),
                integer=True,
            )
            for use in case.uses
        }
        kept = {
            (gap.tensor, gap.end): variable(
                named("kept", label[gap.tensor], gap.begin, gap.end),
                int(all(case.pages[gap.tensor] <= spare[step] for step in gap.inside)),
                integer=True,
            )
            for gap in case.gaps
            if gap.before is not None and gap.after is not None
        }
        return Decisions(case=case, here=here, kept=kept)

    def is_here(self, use: Use) -> Any:
        """The tensor is resident in the step of ``use``, all of it."""
        return self.here[use.tensor, use.step]

    def is_kept(self, gap: Gap) -> Any:
        """The tensor stays through ``gap``, all of it; 0 where there is no such choice."""
        return self.kept.get((gap.tensor, gap.end), 0)

    def gap_to(self, use: Use) -> Any:
        """Whether the tensor stays until ``use``."""
        return self.kept.get((use.tensor, use.step), 0)


Model = TypeVar("Model")
Family = Callable[[Model], Rows]


def variable(name: str, upper: float | None = None, *, integer: bool | None = None) -> Any:
    """A variable from 0 to ``upper``, 0/1 unless said otherwise."""
    whole = upper == 1 if integer is None else integer
    with warnings.catch_warnings():  # PuLP 4 will have another way, PuLP 3.0 has this one only
        warnings.simplefilter("ignore", DeprecationWarning)
        return pulp.LpVariable(name, 0, upper, pulp.LpInteger if whole else pulp.LpContinuous)


def share(name: str) -> Any:
    """A variable from 0 to 1."""
    return variable(name, 1, integer=False)


def total(terms: Iterable[Any]) -> Any:
    """A sum that is an expression even where it is empty or of numbers only."""
    return pulp.lpSum([pulp.LpAffineExpression(), *terms])


def problem(case: Case, objective: Any, families: Sequence[Family[Model]], model: Model) -> Any:
    """Minimise ``objective``, and what every schedule costs, subject to rows of ``families``."""
    found = pulp.LpProblem("whole_tensors", pulp.LpMinimize)
    # As a variable: file formats and solvers differ in what they make of a constant.
    constant = variable("constant", 1, integer=False)
    constant.lowBound = 1
    sure = objective.constant + float(case.constant / case.unit)
    paid = pulp.LpAffineExpression((one, price) for one, price in objective.items() if price)
    found += paid + sure * constant, "objective"
    for family in families:
        for name, row in family(model):
            if len(row):
                found += row, name
    return found


def linked(decisions: Decisions) -> Rows:
    """(S1) Kept until a use means resident at both ends: ``kept <= here`` of either use."""
    case = decisions.case
    for gap in case.gaps:
        for end in (gap.before, gap.after):
            if end is not None and gap.before is not None and gap.after is not None:
                name = named("linked", case.labels[gap.tensor], gap.end, end.step)
                yield name, total([decisions.is_kept(gap), -decisions.is_here(end)]) <= 0


def stationary(decisions: Decisions) -> Rows:
    """(S2) What an operation holds fast is resident in its step: ``here = 1``."""
    case = decisions.case
    for use in case.uses:
        if use.stationary:
            name = named("stationary", case.labels[use.tensor], use.step)
            yield name, total([decisions.is_here(use)]) == 1
