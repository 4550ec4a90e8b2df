"""Solve every golden problem by both models: ``python -m tests.formulations.pulp_model.record``.

Writes ``results/pulp_model.md``. Fails where their optima differ by more than 1e-6.
"""

from __future__ import annotations

import resource
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import TypeVar

import pulp

from results.shared.page import environment, where
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.io.document import write_text
from tests.formulations.pulp_model.models import first, second
from tests.instances import golden

T = TypeVar("T")
FILE = Path(__file__).parents[3] / "results" / "pulp_model.md"
RELAXED = ("gnmt-small", "resnet50-small", "transformer-small")  # in the model of time
UNPROVED = ("gnmt-small",)  # by CBC, of traffic
WITHIN = 1e-6
_HEADS = (
    "problem",
    "objective",
    "program",
    "first: optimum",
    "CPU s",
    "second, HiGHS: differs by",
    "CPU s",
    "second, CBC: differs by",
    "CPU s",
    "with least pages of parts",
)


_ABOUT = (
    "Optima of both programs on the golden problems: of traffic in bytes, of time in cycles, of "
    "energy in joules. The first program of time has every step of each gap as a column, and both "
    "spread a tensor's pages over its bytes. Relaxed: the linear relaxations, where the integer "
    "program takes minutes or more. Differences are relative; CPU seconds hold building and "
    "solving on one thread, to the optimum. Last column: by how much the optimum falls when a part "
    "takes no more pages than its bytes need (`formulations/README.md`). `-` is not solved: CBC, "
    "on relaxations and where it needs over a minute; the last column, on relaxations and where "
    "time has no dual value, so that the program knows no parts of tensors."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table; of some problems only, print it."""
    known = [name for name, entry in golden.read_index().items() if entry.objectives]
    parser = _parser(known)
    chosen: list[str] = parser.parse_args(arguments).problem
    for name in chosen:
        if name not in known:
            parser.error(f"no problem {name!r}; use one of {', '.join(known)}")
    text = page(_stamp(), list(_rows(chosen or known)))
    if chosen:
        print(text, end="")
    else:
        write_text(FILE, text)


def _parser(known: Sequence[str]) -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.formulations.pulp_model.record",
        description="Solve every golden problem by both models of whole tensors, which takes "
        f"minutes, and write {FILE.parent.name}/{FILE.name}.",
    )
    parser.add_argument(
        "problem",
        nargs="*",
        metavar="INSTANCE",
        help="only these, in seconds for small ones: the table is printed, the file stays; one of "
        f"{', '.join(known)}",
    )
    return parser


def page(stamp: str, rows: Sequence[Sequence[str]]) -> str:
    """The command first, then what, what comes out, where, and the table."""
    parts = [
        "    python -m tests.formulations.pulp_model.record",
        "# The two models of whole tensors",
    ]
    table = [_HEADS, (*[":--"] * 3, *["--:"] * (len(_HEADS) - 3)), *rows]
    parts += [_ABOUT, _outcome(rows), stamp]
    return "\n\n".join([*parts, "\n".join(f"| {' | '.join(cells)} |" for cells in table)]) + "\n"


def _outcome(rows: Sequence[Sequence[str]]) -> str:
    most = max(float(row[k]) for row in rows for k in (5, 7) if row[k] != "-")
    lower = [f"{row[0]} ({row[1]}, by {row[9]})" for row in rows if row[9] not in ("-", "0")]
    return (
        f"The models agree: of {len(rows)} optima none differs by more than {most:.0e}. Lower with "
        f"least pages of parts: {', '.join(lower) or 'none'}."
    )


def _rows(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name, entry in golden.read_index().items():
        if name not in names:
            continue
        problem = golden.problem(name)
        for objective_name in entry.objectives:
            objective = objective_named(objective_name, problem.machine)
            relaxed = name in RELAXED and objective.cycle > 0
            cells = _row(problem, objective, relaxed, name in UNPROVED)
            yield name, objective_name, "relaxed" if relaxed else "integer", *cells
            print(name, objective_name, *cells, flush=True, file=sys.stderr)


def _row(
    problem: Problem, objective: Objective, relaxed: bool, without_cbc: bool
) -> tuple[str, ...]:
    optimum, seconds = _timed(partial(first, problem, objective, relaxed=relaxed))
    cells = [f"{optimum:.9g}", f"{seconds:.2f}"]
    for solver in ("HiGHS", "PULP_CBC_CMD"):
        if solver != "HiGHS" and (without_cbc or relaxed):
            cells += ["-", "-"]
            continue
        work = partial(second, problem, objective, solver=solver, spread=True, relaxed=relaxed)
        solved, seconds = _timed(work)
        cells += [_difference(solved.value, optimum), f"{seconds:.2f}"]
    if objective.cycle == 0 or relaxed:
        return *cells, "-"
    fall = (optimum - second(problem, objective).value) / (optimum or 1)
    return *cells, f"{fall:.1e}" if fall > WITHIN else "0"


def _difference(value: float, optimum: float) -> str:
    difference = abs(value - optimum) / (optimum or 1)
    if difference > WITHIN:
        raise ValueError(f"optima differ: {value!r} and {optimum!r}")
    return f"{difference:.0e}" if difference else "0"


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Value and CPU seconds, those of programs that were run included."""
    before = _cpu()
    value = work()
    return value, _cpu() - before


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _stamp() -> str:
    return f"{where(environment()).removesuffix('.')}, pulp {pulp.__version__}."


if __name__ == "__main__":
    main()
