"""The models as text of a file format that other programs read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from formulations.second import timed, traffic
from formulations.second.case import Case
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A program to minimise; ``unit`` says what one of its objective is."""

    text: str
    columns: int
    rows: int
    unit: str


def exported(instance: Instance, objective: Objective, form: str) -> Exported:
    """The program for ``objective`` as ``mps`` (free format) or ``lp`` (CPLEX's).

    Raises
    ------
    InfeasibleError
        Stationary operands and scratch of an operation do not fit the SPM.
    """
    case = Case.of(instance, objective)
    _, problem = traffic.build(case) if objective.cycle == 0 else timed.build(case)
    with TemporaryDirectory(prefix="spmopt-") as folder:
        path = Path(folder) / f"program.{form}"
        if form == "mps":
            problem.writeMPS(str(path))
        else:
            problem.writeLP(str(path))
        text = path.read_text(encoding="utf-8")
    unit = objective.unit if case.unit == 1 else f"{float(case.unit):g} {objective.unit}"
    return Exported(
        text=text, columns=problem.numVariables(), rows=problem.numConstraints(), unit=unit
    )
