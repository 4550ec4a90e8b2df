"""The verification of a result file, in lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction

from spmopt.audit import Audit
from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import source_graph
from spmopt.core.problem import Problem
from spmopt.core.result import LARGEST_TOLERANCE, UNFINISHED, Result, Status, relative_gap
from spmopt.metrics import in_unit
from spmopt.reporting.fusion_plans import LISTED, axes_of, tile_words
from spmopt.reporting.headings import heading, speak, standing, transfer_counts
from spmopt.reporting.quantities import percent, si
from spmopt.reporting.results import Record, as_number, conflict_record, fields_by_name
from spmopt.schedulers.registry import find
from spmopt.verifier.any_order import any_order_bound

SHOWN = 5  # violations


def verification_lines(problem: Problem, result: Result, found: Audit) -> list[str]:
    """Return the verified figures in lines, or the violations."""
    head, name = heading(problem, result), result.scheduler
    shown = [f"  {violation}" for violation in found.violations[:SHOWN]]
    if shown:
        more = len(found.violations) - len(shown)
        rest = [f"  and {more} more"] if more else []
        return [head, f"{name}: not verified", *shown, *rest]
    rows = [f"  {label:<9} {text}" for label, text in _rows(problem, result, found)]
    if result.objective.is_weighed:
        rows.insert(0, "  objective a weighted sum of both, also of the figures below")
    if found.infeasible is None and found.value is None and found.bound is None:
        rows.append("  nothing to verify: there is neither a schedule nor a bound")
    notes = [f"  {text}" for text in _remarks(problem, result, found)]
    return [head, f"{name}: verified", *rows, *notes]


def _rows(problem: Problem, result: Result, found: Audit) -> Iterator[tuple[str, str]]:
    """Yield checked figures by name."""

    def quantity(value: Fraction) -> str:
        return si(*in_unit(result.objective, problem.machine, value))

    fused = result.fused
    if found.value is not None:
        yield "schedule", f"legal by every rule and by replay; {quantity(found.value)}"
        yield from (("transfers", text) for text in transfer_counts(found.totals))
    if found.best_bound is not None:
        order = "" if result.order is None else ", for the schedule's order of operations"
        fusion_plan = "" if fused is None else ", for this fusion plan"
        least = quantity(found.best_bound)
        yield "bound", f"{least}, proved by the shadow prices in the file{fusion_plan}{order}"
    if fused is None and found.value is not None:
        least = quantity(any_order_bound(problem, result.objective))
        yield "any order", f"{least} at least, whatever the order of operations"
    if fused is not None:
        yield "fusion", _tiles(problem, fused)
    if found.fusion_bound is not None:
        proof = result.fusion_certificate
        space = proof.fusion_space.name if proof else "all"
        few = "" if space == "all" else f" of fusion={space}"
        text = f"at least over the fusion space{few}, recomputed from the duals"
        yield "", f"{quantity(found.fusion_bound)} {text}"
    gap, fusion_gap = _gap(found), _gap(found, fusion_plans=True)
    if fusion_gap is not None:
        own = "" if gap is None else f"; for this fusion plan {percent(gap, of='its bound')}"
        yield "gap", f"{percent(fusion_gap, of='the bound')} over the fusion space{own}"
    elif gap is not None:
        yield "gap", percent(gap, of="the bound")
    elif found.value is not None and found.bound is not None:
        yield "gap", "none: the bound is 0, or next to it"
    yield "status", _status(result, found)
    if found.infeasible is not None:
        yield "proof", str(found.infeasible)


def verification_record(problem: Problem, result: Result, found: Audit) -> Record:
    """Return the same for programs; ``value`` and ``bound`` are the recomputed ones."""
    if result.fused is None:
        of_space: Record = {
            "any_order_bound": as_number(any_order_bound(problem, result.objective))
        }
    else:
        of_space = {
            "fusion_bound": as_number(found.fusion_bound),
            "fusion_gap": _gap(found, fusion_plans=True),
            "fusion_plan": [asdict(group) for group in result.fused.fusion_plan],
        }
    return {
        "problem": problem.name,
        "scheduler": result.scheduler,
        "objective": speak(result.objective),
        "unit": result.objective.value_unit,
        "verified": not found.violations,
        "violations": [asdict(violation) for violation in found.violations],
        "value": as_number(found.value),
        "bound": as_number(found.best_bound),
        "gap": _gap(found),
        **of_space,
        **fields_by_name(found.totals, "dma_commands", "dma_descriptors"),
        "status": str(result.status),
        "infeasible": None if found.infeasible is None else str(found.infeasible),
        "conflict": conflict_record(found.infeasible),
        "remarks": _remarks(problem, result, found),
    }


def _status(result: Result, found: Audit) -> str:
    if result.status is Status.OPTIMAL and result.tolerance is not None:
        tolerance, which = result.tolerance, "the tolerance asked for"
        # However large a tolerance was asked for, this one decided.
        if tolerance > LARGEST_TOLERANCE:
            tolerance, which = LARGEST_TOLERANCE, "the largest tolerance that counts"
        return f"{result.status}: the gap is within {which}, {tolerance:g}"
    return standing(result)


def _remarks(problem: Problem, result: Result, found: Audit) -> list[str]:
    """Return claims of the file that cannot be checked here, and oddities."""
    lines = []
    known = result.class_bound
    if known is not None:
        shown = si(*in_unit(result.objective, problem.machine, Fraction(known.value)))
        bound = f"the bound for {known.holds_for}, {shown}, is"
        lines.append(
            f"{bound} proved by its shadow prices"
            if known.certified
            else _standing(bound, known.proved_by, found)
        )
    if result.schedule is not None and not result.verified:
        lines.append("the file says of its schedule that it was not verified; now it is")
    try:
        find(result.scheduler)
    except InputError:
        lines.append(f"not checked: no scheduler of this program is called {result.scheduler!r}")
    return [*lines, *(note for note in result.notes if note in UNFINISHED)]


def _standing(bound: str, solver: str, found: Audit) -> str:
    """Return the standing of a bound that only a solver claims."""
    again = found.repeated
    if again is None:
        return f"not checked: {bound} as the solver reported it ({solver}); repeat it by --repeat"
    if again.bound is None:
        return f"not checked: {bound} as the solver reported it ({solver}); solved again in vain"
    return f"{bound} a claim of {solver}; {again.solver} finds it again"


def _tiles(problem: Problem, fused: Problem) -> str:
    """Return groups and tiles of a fusion plan, and the operations that it expands to."""
    listed, plan = len(source_graph(fused).operations), fused.fusion_plan
    finest = max(plan, key=lambda each: each.count)
    groups = "1 group" if len(plan) == 1 else f"{len(plan):,} groups"
    words = tile_words(finest, axes_of(fused))
    tiles = f"{groups}, up to {words}" if finest.count > 1 else LISTED
    expanded = f"expands to the file's {len(problem.operations):,} operations"
    return f"{listed:,} operations, {tiles}; {expanded}"


def _gap(found: Audit, *, fusion_plans: bool = False) -> float | None:
    bound = found.fusion_bound if fusion_plans else found.best_bound
    if found.value is None or bound is None:
        return None
    return relative_gap(found.value, bound)
