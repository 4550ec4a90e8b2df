"""Decisions as a table, as JSON, and as the data of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spmopt.core.problem import Problem
from spmopt.reporting.ablation.decisions import Decision, Key
from spmopt.reporting.ablation.sentences import remarks, sentences
from spmopt.reporting.fusion_plans import fusion_plan_words
from spmopt.reporting.headings import heading
from spmopt.reporting.plain import Json, column, table
from spmopt.reporting.quantities import percent, seconds, si
from spmopt.reporting.results import problem_record, result_record
from spmopt.reporting.tables import Grid, Part

_COLUMNS: dict[str, tuple[Any, ...]] = {
    "decision": (None, "", "What is decided, one after the other."),
    "by": (None, "", "Who made the schedule, or why nothing is saved."),
    "time_s": ("s", "", "What the best schedule takes once this is decided, step after step."),
    "saved_s": ("s", "saves", "Time less than the best schedule took before."),
    "saved_part": ("part", "saved part", "The same, as a part of the time before."),
    "compute_s": ("s", "computes", "Time in which the engine computes."),
    "waiting_s": ("s", "waits", "Time in which it does not: it waits for DRAM, or a bank's port."),
    "dram_in_bytes": ("B", "DRAM in", "Bytes that cross the DRAM boundary inward."),
    "dram_out_bytes": ("B", "DRAM out", "Bytes that cross the DRAM boundary outward."),
    "energy_j": (
        "J",
        "energy",
        "DRAM, scratchpad, arithmetic and leakage, by the machine's figures.",
    ),
    "peak_spm_bytes": ("B", "SPM peak", "Most bytes of the scratchpad in use at once."),
    "bound_s": ("s", "bound", "Certified: no schedule of those searched so far takes less."),
    "bound_gap": ("change", "gap", "How far the best schedule is above that bound."),
    "bound_of": (None, "the bound is of", "Schedules that were searched so far."),
    "solve_s": ("s", "solve time", "Wall time of the search for this decision."),
}
"""Of the table of a page: unit, title and what it means, by name."""
COLUMNS = ("decision", "by", "time", "saves", "computes", "waits", "traffic", "bound", "gap")
_LEFT = ("decision", "by")


def ablation_parts(problem: Problem, decisions: Sequence[Decision]) -> Iterator[Part]:
    """Yield heading, a table with a row for each decision, and sentences."""
    yield heading(problem, decisions[0].result)
    yield ""
    yield Grid(
        columns=(*COLUMNS, "seconds"),
        rows=[_row(each) for each in decisions],
        left=_LEFT,
        words=("by",),
        dispensable=("seconds", "bound", "computes", "traffic", "waits"),
        ruled=True,
    )
    yield ""
    yield from (*sentences(decisions), *remarks(problem))


def _row(decision: Decision) -> tuple[str, ...]:
    def time(cycles: float) -> str:
        return si(decision.seconds(cycles), "s", fill=True)

    totals, made = decision.totals, decision.made
    bound, gap = decision.bound, decision.gap
    return (
        decision.key.words,
        by(decision),
        time(decision.cycles),
        saving(decision),
        time(totals.compute_cycles),
        time(decision.waiting_cycles),
        si(totals.traffic_bytes, "B", fill=True),
        "-" if bound is None else time(float(bound)),
        "-" if gap is None else percent(gap, fill=True),
        "-" if made is None else seconds(made.solve_s),
    )


def saving(decision: Decision) -> str:
    """Write what a decision saves, and which part of the time before that is."""
    if decision.key is Key.START:
        return "-"
    if not decision.saved_cycles:
        return "0"
    part = percent(decision.saved_cycles / decision.before_cycles).removeprefix("+")
    return f"{si(decision.seconds(decision.saved_cycles), 's')} ({part})"


def by(decision: Decision) -> str:
    """Say who made the schedule, or why nothing is saved."""
    if decision.why:
        return decision.why
    fusion, name = decision.result.fused, decision.result.scheduler
    if fusion is not None:
        name = f"{name}: {fusion_plan_words(fusion)}"
    return f"searched order, {name}" if decision.is_reordered else name


def ablation_record(problem: Problem, decisions: Sequence[Decision]) -> Json:
    """Return what ``--json`` prints: the figures of each decision's best schedule."""
    return {
        "problem": problem_record(problem),
        "sentences": sentences(decisions),
        "remarks": remarks(problem),
        "decisions": decision_rows(decisions),
    }


def decision_rows(decisions: Sequence[Decision]) -> list[Json]:
    """Return a row for each decision; ``bound_s`` and ``bound_gap`` hold for ``bound_of``."""
    return [
        {
            "decision": str(each.key),
            "why": each.why,
            "saved_s": each.seconds(each.saved_cycles),
            "saved_cycles": each.saved_cycles,
            "tried": each.made is not None,
            "compute_s": each.seconds(each.totals.compute_cycles),
            "waiting_s": each.seconds(each.waiting_cycles),
            "bound_s": None if each.bound is None else each.seconds(each.bound),
            "bound_of": each.bound_of,
            "bound_gap": each.gap,
            **result_record(each.problem.machine, each.result),
        }
        for each in decisions
    ]


def decision_table(decisions: Sequence[Decision]) -> Json:
    """Return the table of a page."""
    heads = [column(name, *about, help=said) for name, (*about, said) in _COLUMNS.items()]
    records = decision_rows(decisions)
    for record, each in zip(records, decisions, strict=True):
        record |= {"decision": each.key.words, "by": by(each)}
        record["saved_part"] = each.saved_cycles / each.before_cycles if each.before_cycles else 0.0
        record["solve_s"] = None if each.made is None else each.made.solve_s
    rows = [[record[name] for name in _COLUMNS] for record in records]
    return table("What each decision is worth", "decisions.csv", heads, rows)
