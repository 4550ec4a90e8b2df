"""Decisions as a table, as JSON, and as the data of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spmopt.core.problem import Problem
from spmopt.reporting.ablation.decisions import Decision, Key
from spmopt.reporting.ablation.sentences import remarks, sentences
from spmopt.reporting.fusion_plans import fusion_plan_words
from spmopt.reporting.headings import heading
from spmopt.reporting.plain import Json, column, table
from spmopt.reporting.quantities import PART, percent, seconds, si
from spmopt.reporting.results import problem_record, result_record
from spmopt.reporting.tables import Grid, Part

# Columns of the table of a page; None: text.
_UNITS = {
    **{"decision": None, "by": None, "time_s": "s", "saved_s": "s", "saved_part": PART},
    **{"compute_s": "s", "waiting_s": "s", "dram_in_bytes": "B", "dram_out_bytes": "B"},
    **{"energy_j": "J", "peak_spm_bytes": "B", "bound_s": "s", "bound_gap": "change"},
    **{"bound_of": None, "solve_s": "s"},
}
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
    """Write the saving of a decision, and its part of the time before."""
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
    """Return the JSON of ``ablate``: the figures of each decision's best schedule."""
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
            **result_record(each.problem, each.result),
        }
        for each in decisions
    ]


def decision_table(decisions: Sequence[Decision]) -> Json:
    """Return the table of a page."""
    records = decision_rows(decisions)
    for record, each in zip(records, decisions, strict=True):
        record |= {"decision": each.key.words, "by": by(each)}
        record["saved_part"] = each.saved_cycles / each.before_cycles if each.before_cycles else 0.0
        record["solve_s"] = None if each.made is None else each.made.solve_s
    heads = [column(name, unit) for name, unit in _UNITS.items()]
    rows = [[record[name] for name in _UNITS] for record in records]
    return table("What each decision is worth", "decisions.csv", heads, rows)
