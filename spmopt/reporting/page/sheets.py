"""The pages of a sweep, of a search of machines, and of an ablation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from spmopt.core.problem import Problem
from spmopt.reporting.ablation import Decision, decision_table, sentences
from spmopt.reporting.ablation.sentences import remarks
from spmopt.reporting.curves import Curves, curves_tables
from spmopt.reporting.headings import describe, heading
from spmopt.reporting.page.sheet import sheet
from spmopt.reporting.plain import column, table
from spmopt.reporting.plots.ablation import ablation_figures
from spmopt.reporting.plots.curves import curves_figure
from spmopt.reporting.plots.fronts import front_figure
from spmopt.reporting.plots.style import data_uri
from spmopt.reporting.search.front import Front, front_table

_COMMAND = "Writes the schedule of the trial, and its page."
Command = tuple[int, str, str]
"""A trial, a network, and the command that shows its schedule."""


def curves_page(curves: Curves) -> str:
    """Return a page of a sweep: the first chart, the gaps over the same axis, and the rows."""
    first = curves.views[0]
    # A gap is read beside its quantity; other charts have commands of their own.
    keys = first.y.key, "gap"
    shown = [each for each in curves.views if each.x == first.x and each.y.key in keys]
    names = [f"{each.y.label} over {each.x.label}" for each in shown]
    others = [f"--x {e.x.key} --y {e.y.key}" for e in curves.views if e not in shown]
    more = [f"Other charts: spmopt plot FILE.csv with {' or '.join(others)}."] if others else []
    return sheet(
        title=f"{curves.subject}: {names[0]}",
        subtitle=curves.conditions,
        lines=curves.remarks,
        figures={n: data_uri(curves_figure(each)) for n, each in zip(names, shown, strict=True)},
        tables=curves_tables(curves),
        remarks=more,
    )


def front_page(front: Front, commands: Sequence[Command] = ()) -> str:
    """Return a page of a search: trials by its objectives, settings that matter, and tables.

    ``commands`` show the schedules of the front.
    """
    # A single objective is drawn over the first other figure.
    planes = list(pairwise(front.objectives)) or [front.pair()]
    columns = [column("trial"), column("network", None), column("command", None, help=_COMMAND)]
    figures = {f"{y.label} over {x.label}": front_figure(front, x.key, y.key) for x, y in planes}
    return sheet(
        title=f"{front.name}: {front.subject}",
        subtitle=front.lines[0],
        lines=tuple(front.lines[1:]),
        figures={name: data_uri(each) for name, each in figures.items()},
        tables=[
            front_table(front),
            table("Commands that show a schedule of the front", "commands.csv", columns, commands),
        ],
    )


def ablation_page(problem: Problem, decisions: Sequence[Decision]) -> str:
    """Return a page of the savings of each decision about a network."""
    return sheet(
        title=f"{problem.name}: what each decision is worth",
        subtitle=f"{describe(problem.machine)}; mapper {problem.mapper}; objective time",
        lines=sentences(decisions),
        figures={name: data_uri(each) for name, each in ablation_figures(decisions).items()},
        tables=[decision_table(decisions)],
        remarks=[heading(problem, decisions[0].result), *remarks(problem)],
    )
