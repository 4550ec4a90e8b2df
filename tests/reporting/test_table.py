"""Comparisons as they are drawn, on terminals of any width."""

import re
from dataclasses import replace
from fractions import Fraction
from io import StringIO

import numpy as np
import pytest

from spmopt.core.objective import MAKESPAN, Objective, objective_named
from spmopt.core.result import Certificate, ClassBound, Result, Status
from spmopt.reporting.comparison import COLUMNS, WIDE_COLUMNS, Comparison, compare_view
from spmopt.reporting.tables import draw_parts
from tests.reporting.terminal import Terminal, printed
from tests.strategies import random_problem

PROBLEM = random_problem(5)
GAPS = {"gap (class)", "gap, this fusion"}
NOTE = "operation q: its required-resident operands and scratch do not fit"


def drawn(view: Comparison, width: int, file: StringIO) -> list[str]:
    return printed(lambda console: draw_parts(view.parts(), console), width, file)


def view(objective: Objective = MAKESPAN) -> Comparison:
    figures = ("85.07 ms", "24.92 GB", "7.875 J", "+7.77 %", "+7.77 %", "+8.77 %", "+0.7 %")
    row = ("belady", *figures, "feasible", "0.04")
    fluid = ("lp-bound", "≥ 78.94 ms", "-", "-", "-", "-", "-", "-", "bound", "0.48")
    result = Result(scheduler="belady", objective=objective, status=Status.UNKNOWN, solve_s=0.0)
    empty = compare_view(PROBLEM, [result])
    return Comparison(
        heading="one two three " * 12,
        rows=(row, fluid),
        remarks=("four five six " * 9,),
        dispensable=empty.dispensable,
        columns=WIDE_COLUMNS,
    )


def test_a_comparison_has_five_columns_and_more_where_asked_for() -> None:
    bare = Result(scheduler="lru", objective=MAKESPAN, status=Status.FEASIBLE, solve_s=0.0)
    assert compare_view(PROBLEM, [bare]).columns == COLUMNS
    wide = compare_view(PROBLEM, [bare], wide=True).columns
    assert {*wide} - {*COLUMNS} == {"energy", "vs best", "seconds"}


def test_an_energy_that_is_minimized_has_its_column() -> None:
    energy = objective_named("energy", PROBLEM.machine)
    bare = Result(scheduler="lru", objective=energy, status=Status.FEASIBLE, solve_s=0.0)
    assert "energy" in compare_view(PROBLEM, [bare]).columns


@pytest.mark.parametrize(
    ("width", "hidden"),
    [
        (40, {*GAPS, "seconds", "energy", "traffic", "vs best", "status"}),
        (46, {*GAPS, "seconds", "energy", "traffic", "vs best"}),
        (60, {*GAPS, "seconds", "energy", "traffic"}),
        (80, {*GAPS, "seconds"}),
        (95, GAPS),
        (130, set()),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns(width: int, hidden: set[str]) -> None:
    lines = drawn(view(), width, Terminal())
    assert max(map(len, lines)) <= width
    (head,) = (line for line in lines if line.startswith("scheduler"))
    shown = re.split(r"\s{2,}", head.strip())
    assert {*WIDE_COLUMNS} - {*shown} == hidden
    text = " ".join(" ".join(lines).split())
    named = re.search(r"A wider terminal has room for: ([^.]*)\.", text)
    listed = named[1].replace("gap, this", "gap; this").split(", ") if named else ()
    assert {name.replace(";", ",") for name in listed} == hidden


@pytest.mark.parametrize("certified", [False, True])
def test_the_gap_of_a_class_stands_where_there_is_one(certified: bool) -> None:
    bare = Result(
        scheduler="residency:granularity=tensor",
        objective=MAKESPAN,
        status=Status.FEASIBLE,
        solve_s=0.0,
    )
    assert "gap (class)" not in compare_view(PROBLEM, [bare], wide=True).columns
    zero = np.zeros(1, np.int64)
    duals = Certificate(objective=MAKESPAN, bits=0, spm=zero, dram_in=zero, dram_out=zero)
    known = ClassBound(
        value=10.0,
        holds_for="whole tensors",
        proved_by="it",
        certificate=duals if certified else None,
    )
    found = replace(bare, value=Fraction(11), class_bound=known)
    shown = compare_view(PROBLEM, [found, bare], wide=True)
    place = shown.columns.index("gap (class)")
    assert shown.columns[place - 1] == "gap"
    assert [row[place] for row in shown.rows] == ["+10.0 %" if certified else "~+10.0 %", "-"]
    source = "certified bound" if certified else "bound of it"
    assert (
        f"{bare.scheduler}: at most 10 % above the least for whole tensors ({source})"
        in shown.remarks
    )


def test_a_pipe_gets_all_in_one_line_each() -> None:
    lines = drawn(view(), 40, StringIO())
    assert lines[0] == view().heading
    assert lines[2].split() == " ".join(WIDE_COLUMNS).split()
    assert lines[-1] == view().remarks[0]


def infeasible(scheduler: str, note: str = NOTE) -> Result:
    return Result(
        scheduler=scheduler,
        objective=MAKESPAN,
        status=Status.INFEASIBLE,
        solve_s=0.0,
        notes=(note,),
    )


def test_a_reason_is_given_once() -> None:
    names = ["stream", "belady", "residency:granularity=tensor", "lp-bound"]
    shown = compare_view(PROBLEM, [infeasible(name) for name in names])
    assert shown.remarks == (f"infeasible: {NOTE}",)
    assert [row[0] for row in shown.rows] == names
    open_end = Result(
        scheduler="residency",
        objective=MAKESPAN,
        status=Status.UNKNOWN,
        solve_s=0.0,
        notes=("tried",),
    )
    some = [
        infeasible("lru"),
        open_end,
        infeasible("belady"),
        infeasible("residency:granularity=tensor", "other"),
    ]
    assert compare_view(PROBLEM, some).remarks == (
        f"lru, belady: {NOTE}",
        "residency: tried",
        "residency:granularity=tensor: other",
    )
