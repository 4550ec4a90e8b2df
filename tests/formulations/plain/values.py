"""Values of the plain (tensor, step) model, to compare other formulations with.

That model is compared with the brute force itself (``test_program``).
"""

from __future__ import annotations

from dataclasses import replace

from formulations.residency.plain.columns import Families
from formulations.residency.plain.model import PlainModel
from formulations.solver import highs
from formulations.solver.program import SolverStatus
from spmopt.assemble.cost import unavoidable
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.timeline import relax_timeline


def plain_value(problem: Problem, objective: Objective, *, pages: bool = False) -> float:
    """Return the optimum in bytes or whole pages, of the least of each figure of all mappings.

    Set-ups and whole cycles are left out.
    """
    families = Families(pages=pages)
    model = PlainModel(problem, relax_timeline(problem), objective, families=families)
    program = model.program if pages else replace(model.program, integer=None)
    options: dict[str, highs.Option] = (
        {"presolve": "off", "mip_rel_gap": 0.0} if pages else {"solver": "simplex"}
    )
    answer = highs.solve(program, options=options, threads=1)
    assert answer.status is SolverStatus.OPTIMAL
    assert answer.objective is not None
    return model.value_of(answer.objective) + float(unavoidable(objective, model.line))
