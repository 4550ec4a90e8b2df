"""What the verifier makes of a result file, in lines or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

from spmopt.audit import Audit
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.pieces.listing import Pieces
from spmopt.core.result import LARGEST_TOLERANCE, UNFINISHED, Result, Status, relative_gap
from spmopt.metrics import in_unit
from spmopt.reporting.covers import tile_words
from spmopt.reporting.headings import heading, spoken, standing, transfer_counts
from spmopt.reporting.quantities import percent, si
from spmopt.reporting.results import as_number, conflict_record, conflict_rows, named_fields
from spmopt.schedulers.registry import find
from spmopt.verifier.any_order import any_order_bound

SHOWN = 5


def verification_lines(instance: Instance, result: Result, found: Audit) -> list[str]:
    """Return lines for people: what holds, or what does not."""
    lines = [heading(instance, result)]
    shown = [f"  {violation}" for violation in found.violations[:SHOWN]]
    more = len(found.violations) - len(shown)
    if shown:
        rest = [f"  and {more} more"] if more else []
        return [*lines, f"{result.scheduler}: not verified", *shown, *rest]
    lines.append(f"{result.scheduler}: verified")

    def quantity(value: Fraction) -> str:
        return si(*in_unit(result.objective, instance.machine, value))

    if result.objective.is_weighed:
        lines.append("  objective a weighted sum of both; what follows is of this sum")
    if found.value is not None:
        lines.append(f"  schedule  legal by every rule and by replay; {quantity(found.value)}")
        lines += [f"  transfers {text}" for text in transfer_counts(found.totals)]
    if found.best_bound is not None:
        order = "" if result.order is None else ", for the schedule's order of operations"
        cover = "" if result.pieces is None else ", for this cover"
        least = quantity(found.best_bound)
        lines.append(f"  bound     {least}, proved by the prices in the file{cover}{order}")
    if result.pieces is None and found.value is not None:
        least = quantity(any_order_bound(instance, result.objective))
        lines.append(f"  any order {least} at least, whatever the order of operations")
    if result.pieces is not None:
        lines += _cover_lines(instance, result.pieces)
    if found.cover_bound is not None:
        least = quantity(found.cover_bound)
        proof = None if result.pieces is None else result.pieces.certificate
        few = (
            "" if proof is None or proof.family.name == "all" else f" of pieces={proof.family.name}"
        )
        lines.append(
            f"  covers    {least} at least over all covers{few}, recomputed from the duals"
        )
    gap, cover_gap = _gap(found), _gap(found, covers=True)
    if cover_gap is not None:
        own = "" if gap is None else f"; for this cover {percent(gap)}"
        lines.append(f"  gap       {percent(cover_gap)} over all covers{own}")
    elif gap is not None:
        lines.append(f"  gap       {percent(gap)}")
    elif found.value is not None and found.bound is not None:
        lines.append("  gap       none: the bound is 0, or next to it")
    lines.append(f"  status    {_status(result, found)}")
    if found.infeasible is not None:
        lines.append(f"  proof     {found.infeasible}")
        lines += [f"  {row}" for row in conflict_rows(found.infeasible)]
    elif found.value is None and found.bound is None:
        lines.append("  nothing to verify: there is neither a schedule nor a bound")
    return [*lines, *(f"  {text}" for text in _remarks(instance, result, found))]


def verification_record(instance: Instance, result: Result, found: Audit) -> dict[str, object]:
    """Return the same for programs; ``value`` and ``bound`` are the recomputed ones."""
    return {
        "instance": instance.name,
        "scheduler": result.scheduler,
        "objective": spoken(result.objective),
        "unit": result.objective.unit,
        "verified": not found.violations,
        "violations": [asdict(violation) for violation in found.violations],
        "value": as_number(found.value),
        "bound": as_number(found.best_bound),
        "gap": _gap(found),
        **_cover_record(instance, result, found),
        **named_fields(found.totals, "dma_commands", "dma_descriptors"),
        "status": _unchecked(result, found) or str(result.status),
        "infeasible": None if found.infeasible is None else str(found.infeasible),
        "conflict": conflict_record(found.infeasible),
        "remarks": _remarks(instance, result, found),
    }


def _cover_record(instance: Instance, result: Result, found: Audit) -> dict[str, object]:
    """Return the bound over all covers, its gap and the cover of a result in pieces.

    Of another the bound on any order.
    """
    if result.pieces is None:
        return {"any_order_bound": as_number(any_order_bound(instance, result.objective))}
    return {
        "cover_bound": as_number(found.cover_bound),
        "cover_gap": _gap(found, covers=True),
        "cover": [asdict(segment) for segment in result.pieces.cover],
    }


def _unchecked(result: Result, found: Audit) -> str:
    """Return a claim of optimality that only a solver can repeat; '' if there is none."""
    known = result.class_bound
    if known is None or not result.claims_enumeration or found.repeated:
        return ""
    return f"claimed by {result.scheduler} ({known.proved_by}), not checked"


def _status(result: Result, found: Audit) -> str:
    if unchecked := _unchecked(result, found):
        return unchecked
    if result.claims_enumeration:
        return f"{result.status}: an enumeration proves it here too"
    if result.status is Status.OPTIMAL and result.tolerance is not None:
        tolerance, which = result.tolerance, "the tolerance asked for"
        if tolerance > LARGEST_TOLERANCE:
            tolerance, which = LARGEST_TOLERANCE, "the largest tolerance that counts"
        return f"{result.status}: the gap is within {which}, {tolerance:g}"
    return standing(result)


def _remarks(instance: Instance, result: Result, found: Audit) -> list[str]:
    """Say what the file says that nothing here can check, or that is odd."""
    lines = []
    known = None if found.repeated else result.class_bound
    if known is not None:
        shown = si(*in_unit(result.objective, instance.machine, Fraction(known.value)))
        what = f"the bound for {known.holds_for}, {shown}, is"
        lines.append(
            f"{what} what its prices prove"
            if known.certified
            else f"not checked: {what} as the solver reported it ({known.proved_by})"
        )
    if result.schedule is not None and not result.verified:
        lines.append("the file says of its schedule that it was not verified; now it is")
    try:
        find(result.scheduler)
    except InputError:
        lines.append(f"not checked: no scheduler of this program is called {result.scheduler!r}")
    return [*lines, *(note for note in result.notes if note in UNFINISHED)]


def _cover_lines(instance: Instance, pieces: Pieces) -> list[str]:
    """Return a line on the fusion plan, and on the operations that it expands to."""
    listed, count = len(pieces.listing.operations), len(pieces.cover)
    most = max(segment.pieces for segment in pieces.cover)
    stripes = max(segment.bands for segment in pieces.cover)
    groups = "1 group" if count == 1 else f"{count:,} groups"
    tiles = f", up to {tile_words(most, stripes)}" if max(most, stripes) > 1 else ""
    return [
        f"  pieces    {listed:,} operations, {groups}{tiles}; expands to the file's "
        f"{len(instance.operations):,} operations"
    ]


def _gap(found: Audit, *, covers: bool = False) -> float | None:
    bound = found.cover_bound if covers else found.best_bound
    if found.value is None or bound is None:
        return None
    return relative_gap(found.value, bound)
