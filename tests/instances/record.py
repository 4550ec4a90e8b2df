"""Build golden problems and record what is known of them.

``python -m tests.instances.record NAME ...`` writes ``instances/NAME.json`` and its entry in
``instances/index.json`` for sources of ``tests/instances/sources.py``; without names, for all.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from formulations.residency import page
from spmopt.assemble import assemble
from spmopt.core.errors import InfeasibleError
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.io.files import write_problem
from spmopt.policies.belady import belady
from spmopt.verifier import bound, require_legal
from tests.brute_force import optimum
from tests.formulations.plain.values import plain_value
from tests.instances import golden
from tests.instances.golden import Entry, Known
from tests.instances.sources import SOURCES, Source


def page_values(problem: Problem, objective: Objective) -> tuple[float, Fraction]:
    """Bound and value of ``page``, both recomputed by the verifier."""
    start = belady(problem, Request(objective=objective)).residency_plan
    outcome = page.schedule(problem, Request(objective=objective, start=start, threads=1))
    if outcome.residency_plan is None or outcome.certificate is None:
        raise ValueError(f"problem {problem.name}: page returned no schedule or no bound")
    totals = require_legal(problem, assemble(problem, outcome.residency_plan)).totals
    if totals is None:
        raise ValueError(f"problem {problem.name}: the verifier gave no totals")
    return float(bound(problem, outcome.certificate)), totals.value(objective)


def brute_force(problem: Problem, objective: Objective, residency: str) -> Fraction | None:
    """The optimum, or None if the problem is infeasible."""
    found = optimum(problem, objective, residency=residency)
    return None if found is None else found.value


def plain_pages(problem: Problem, objective: Objective) -> Fraction:
    """The optimum of the plain model in whole pages, which is a whole number here."""
    return Fraction(round(plain_value(problem, objective, pages=True)))


def known(source: Source, problem: Problem, objective_name: str) -> Known:
    """Prove what can be proved."""
    objective = objective_named(objective_name, problem.machine)
    lower, value = page_values(problem, objective)
    best, whole, proof = None, None, source.proof
    if proof == golden.BRUTE_FORCE:
        best, whole = (brute_force(problem, objective, kind) for kind in ("page", "whole"))
    elif proof == golden.MILP:
        best = plain_pages(problem, objective)
    by_hand = source.optima.get(objective_name)
    if by_hand is not None:
        if by_hand != best:
            raise ValueError(f"{source.text}: {objective_name} is {best}, by hand {by_hand}")
        proof = f"by hand, and {proof}"
    return Known(
        optimum=None if best is None else str(best),
        whole_optimum=None if whole is None else str(whole),
        proved_by=proof,
        bound=lower,
        page=str(value),
    )


def record(name: str, folder: Path = golden.FOLDER) -> Entry:
    """Write the problem and return its entry."""
    source = SOURCES[name]
    problem = source.build()
    write_problem(folder / f"{name}.json", problem)
    try:
        found = {o: known(source, problem, o) for o in source.objectives}
    except InfeasibleError:
        return Entry(source=source.text, feasible=False)
    return Entry(source=source.text, objectives=found)


def main(names: list[str]) -> None:
    """Record ``names``, or all."""
    index = golden.FOLDER / golden.INDEX
    entries = golden.read_index() if index.exists() else {}
    for name in names or SOURCES:
        entries[name] = record(name)
        figures = {o: (k.bound, k.optimum, k.page) for o, k in entries[name].objectives.items()}
        print(name, figures or "infeasible")
    golden.write_index({name: entries[name] for name in SOURCES if name in entries})


if __name__ == "__main__":
    main(sys.argv[1:])
