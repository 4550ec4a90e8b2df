"""One result as figures: for people, for pages, and as flat JSON records for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from spmopt.analysis.floor import Floor
from spmopt.core.errors import Conflict
from spmopt.core.machine import Machine
from spmopt.core.mappings import unfit
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.problem import ASSUMED, Problem
from spmopt.core.result import End, Result, Status, Totals, relative_gap
from spmopt.hardware.energy import EnergyReport, area_report
from spmopt.hardware.machines import has_default_energies
from spmopt.io.codec import encode
from spmopt.metrics import directions_busy, in_unit, metrics, tensor_bytes
from spmopt.reporting.fusion_plans import fusion_plan_words, places
from spmopt.reporting.headings import (
    ASYNC_TIME,
    bank_names,
    heading,
    name_of,
    optimal_of_class,
    problem_notes,
    remarks,
    speak,
    standing,
)
from spmopt.reporting.quantities import PART, duration, percent, share, si, usage
from spmopt.reporting.tables import NamedValues, Part
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.any_order import any_order_bound
from spmopt.verifier.durations import durations

Record = dict[str, object]
DEFAULTS = "default energies where the machine states none"
# Kinds of operations whose every cost is assumed, whatever the operator.
_ASSUMED_ALL = ("AssumedPointwise", "AssumedPointwiseGradient")
_ENERGY = (
    *("energy_j", "dram_j", "spm_read_j", "spm_write_j", "mac_j", "leakage_j"),
    *("power_w", "edp_js", "edap_js_mm2"),
)
_CONFLICT = (
    *("where", "step", "time", "required_bytes", "available_bytes", "missing_bytes"),
    "irreducible",
)

_TIMES = (MAKESPAN, REPLAY)
_OFTEN, _WAITS = 2, 0.5
"""Traffic, of the floor, that is worth a note, and how busy DMA is where it decides the time."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: ``value`` as a number where it is one, ``text`` as people read it.

    ``unit`` is s, B, J or mm2, :data:`PART` of a share or a relative distance, or empty.
    """

    key: str
    label: str
    value: float | None
    text: str
    unit: str = ""
    note: str = ""


def _figure(key: str, label: str, value: float, unit: str, note: str = "") -> Figure:
    """Return a figure written with its unit, a share in percent."""
    text = share(value) if unit == PART else si(value, unit)
    return Figure(key, label, value, text, unit, note)


def figures(problem: Problem, result: Result, totals: Totals | None) -> tuple[Figure, ...]:
    """Return costs and quality of a schedule, and how busy the machine is.

    ``totals`` are the verifier's; None: there is no schedule.
    """
    machine, quality = problem.machine, _quality(problem, result)
    # Counted work is the same at any load; a fast machine has done it before its clock is up.
    counted = ", by clock or counted work" * (result.end is End.LIMIT)
    ended = f"; ended: {result.end}{counted}" * bool(result.end)
    seconds = Figure(
        *("seconds", "solve time", result.solve_s, duration(result.solve_s), "s"),
        f"CPU {duration(result.cpu_s)}{ended}",
    )
    if totals is None:
        return (*quality, seconds)
    use = _use(problem, result, totals)
    return (*_costs(machine, totals), *quality, *use, *_check(result, totals), seconds)


def result_parts(problem: Problem, result: Result) -> Iterator[Part]:
    """Yield the text of a result."""
    yield heading(problem, result)
    yield ""
    rows = [("scheduler", result.scheduler)]
    for each in figures(problem, result, result.totals):
        rows.append((each.label, each.text + f" ({each.note})" * bool(each.note)))
    assumed = shares_assumed(problem, result)
    if assumed:
        shares = ", ".join(f"{name} {share(part)}" for name, part in assumed.items())
        rows += [("assumed", f"{shares} of the time, by classes in place of rules")]
    said = (*remarks(result), *problem_notes(problem, [result]), *_traffic_notes(problem, result))
    yield NamedValues(rows=[*rows, *(("note", text) for text in said)])


def results_record(
    problem: Problem, results: Sequence[Result], not_run: Sequence[str] = ()
) -> Record:
    """Return the JSON of ``solve`` and ``compare``.

    ``not_run`` names schedulers that were asked for, but that an interrupt left out; ``conflict``
    says why no schedule exists, if none does.
    """
    infeasible = any(result.status is Status.INFEASIBLE for result in results)
    return {
        "problem": problem_record(problem),
        "results": comparison_rows(problem, results),
        "not_run": list(not_run),
        "conflict": conflict_record(unfit(problem) if infeasible else None),
    }


def comparison_rows(problem: Problem, results: Sequence[Result]) -> list[Record]:
    """Return the figures of results; ``of`` says whether they are layer by layer."""
    rows = [result_record(problem, result) for result in results]
    for row, where, result in zip(rows, places(results), results, strict=False):
        row["of"] = where
        if result.instead is not None:
            row["mapper"] = result.instead.mapper
        if result.fused is None:
            of = result.problem_of(problem)
            row["any_order_bound"] = as_number(any_order_bound(of, result.objective))
        assumed = shares_assumed(problem, result)
        if assumed:
            row["assumed"] = assumed
    return rows


def shares_assumed(problem: Problem, result: Result) -> dict[str, float]:
    """Return the operators whose costs are assumed, and the share of the steps' time of each."""
    owner = result.problem_of(problem)
    kinds = [operation.kind for operation in owner.operations]
    marked = {kind for kind in kinds if kind.endswith(ASSUMED) or kind in _ASSUMED_ALL}
    if not marked or result.schedule is None:
        return {}
    cycles = durations(ScheduleArrays.of(owner, result.schedule)).step
    found = dict.fromkeys(sorted(marked), 0)
    for operation, time in zip(result.schedule.steps.operation, cycles, strict=True):
        if kinds[operation] in found:
            found[kinds[operation]] += int(time)
    # A schedule may take no time: then all shares are 0.
    whole = int(cycles.sum()) or 1
    return {kind.removesuffix(ASSUMED): time / whole for kind, time in found.items()}


def problem_record(problem: Problem) -> Record:
    """Return the name and size of a problem, its lowering and its machine."""
    area = area_report(problem.machine)
    return {
        **fields_by_name(problem, "name", "source", "mapper"),
        "operations": len(problem.operations),
        "tensors": len(problem.tensors),
        "tensor_bytes": tensor_bytes(problem),
        "machine": encode(problem.machine),
        "area": {**asdict(area), "total_mm2": area.total_mm2},
        "floor": floor_record(problem),
    }


def result_record(problem: Problem, result: Result) -> Record:
    """Return the figures of a result; those that it does not have are null.

    ``value`` and ``bound`` are in ``unit``, that of the objective, rounded to doubles; the result
    file has them exact. Of two objectives in order they may be weighted sums; ``objectives`` has
    each in its own unit.
    """
    totals, inward, outward, known = result.totals, None, None, result.class_bound
    machine = problem.machine
    found = None if totals is None else metrics(machine, totals)
    if totals is not None and result.schedule is not None:
        inward, outward = directions_busy(result.problem_of(problem), result.schedule, totals)
    record: Record = {
        "scheduler": result.scheduler,
        "objective": speak(result.objective),
        "unit": result.objective.value_unit,
        "value": as_number(result.value),
        "bound": as_number(result.best_bound),
        "gap": result.gap,
        "own_order": result.order is None,
        "status": str(result.status),
        "end": str(result.end),
        "verified": result.verified,
        **fields_by_name(totals, "makespan_cycles", "replay_cycles"),
        **fields_by_name(found, "time_s", "replay_s"),
        **fields_by_name(totals, "traffic_bytes", "dram_in_bytes", "dram_out_bytes"),
        **fields_by_name(None if found is None else found.energy, *_ENERGY),
        **fields_by_name(found, "compute_busy", "dma_busy"),
        "dma_in_busy": inward,
        "dma_out_busy": outward,
        **fields_by_name(totals, "peak_spm_bytes", "dma_commands", "dma_descriptors"),
        **fields_by_name(result, "solve_s", "cpu_s"),
        "class_bound": None
        if known is None
        else fields_by_name(known, "value", "holds_for", "proved_by", "certified")
        | {"gap": result.class_gap},
        "notes": list(result.notes),
    }
    if result.fusion_bound is not None:
        record |= {"fusion_bound": as_number(result.fusion_bound), "fusion_gap": result.fusion_gap}
    if result.fused is not None:
        record["fusion_plan"] = [asdict(fused_group) for fused_group in result.fused.fusion_plan]
    for other in result.beside:
        record["listed" if other.fused is None else "best_fusion_plan"] = {
            **fields_by_name(other, "scheduler", "status", "gap"),
            "value": as_number(other.value),
            "bound": as_number(other.best_bound),
        }
    if result.in_order:
        record["objectives"] = [
            {"objective": speak(each.objective), "unit": each.objective.unit}
            | {name: as_number(getattr(each, name)) for name in ("value", "limit", "bound")}
            | {"gap": each.gap}
            for each in result.in_order
        ]
    if machine.banks:
        record |= fields_by_name(totals, "moved_bytes")
        for name in ("bank_read_bytes", "bank_write_bytes"):
            record[name] = [float(size) for size in getattr(totals, name, ())]
    return record


def conflict_record(conflict: Conflict | None) -> Record | None:
    """Return the figures of a conflict; None where there is none."""
    if conflict is None:
        return None
    members = [asdict(member) for member in conflict.members]
    return {"line": str(conflict), **fields_by_name(conflict, *_CONFLICT), "members": members}


def as_number(value: Fraction | None) -> float | None:
    """Round an exact value to a double."""
    return None if value is None else float(value)


def fields_by_name(source: object, *names: str) -> Record:
    """Return attributes of a record by name; all null without one."""
    return {name: getattr(source, name, None) for name in names}


def _costs(machine: Machine, totals: Totals) -> Iterator[Figure]:
    found = metrics(machine, totals)
    energy, area = found.energy, found.energy.area
    yield _figure("makespan", "time", found.time_s, "s", f"{totals.makespan_cycles:,} cycles")
    cycles = f"{totals.replay_cycles:,} cycles, without barriers between steps"
    yield _figure("replay", ASYNC_TIME, found.replay_s, "s", cycles)
    ways = f"{si(totals.dram_in_bytes, 'B')} in, {si(totals.dram_out_bytes, 'B')} out"
    ways += "; compressed tensors as moved" * bool(machine.compression)
    yield _figure("traffic", "traffic", totals.traffic_bytes, "B", ways)
    note = f"{_energy_note(energy)}{f'; {DEFAULTS}' * has_default_energies(machine)}"
    yield _figure("energy", "energy", found.energy_j, "J", note)
    if area.total_mm2 is not None and area.spm_mm2 is not None and energy.edap_js_mm2 is not None:
        interface = f", DRAM interface {area.interface_mm2:.4g}" if area.interface_mm2 else ""
        note = (
            f"SPM {area.spm_mm2:.4g}, engine {area.engine_mm2:.4g}{interface}; "
            f"EDP {energy.edp_js:.4g} J s, EDAP {energy.edap_js_mm2:.4g} J s mm2"
        )
        yield Figure("area", "area", area.total_mm2, f"{area.total_mm2:.4g} mm2", "mm2", note)


def _energy_note(report: EnergyReport) -> str:
    """Return the shares of the energy, and the power."""
    power = f"{si(report.power_w, 'W')} on average"
    if not report.energy_j:
        return power
    parts = {
        "DRAM": report.dram_j,
        "SPM reads": report.spm_read_j,
        "SPM writes": report.spm_write_j,
        "MACs": report.mac_j,
        "leakage": report.leakage_j,
    }
    split = ", ".join(f"{name} {share(part / report.energy_j)}" for name, part in parts.items())
    return f"{split}; {power}"


def _quality(problem: Problem, result: Result) -> Iterator[Figure]:
    name, fusion = name_of(result.objective), result.fused

    def quantity(value: Fraction) -> tuple[float, str]:
        return in_unit(result.objective, problem.machine, value)

    if result.value is not None:
        value, unit = quantity(result.value)
        note = "weighted sum" * result.objective.is_weighed
        yield Figure("objective", "objective", value, f"{name} {si(value, unit)}", unit, note)
    if result.best_bound is not None:
        where = "in this order of operations" if fusion is None else "of this fusion plan"
        note = f"on {name} {where}, certified"
        yield _figure("bound", "bound", *quantity(result.best_bound), note)
    else:
        yield Figure("bound", "bound", None, "none")
    yield _gap("gap", "gap to bound", result.gap)
    if fusion is None:
        least = any_order_bound(problem, result.objective)
        above = None if result.value is None else relative_gap(result.value, least)
        over = "" if above is None else f"; this schedule {percent(above, of='the bound')}"
        note = f"bound on {name} in any order of these operations, certified{over}"
        yield _figure("any_order_bound", "any order", *quantity(least), note)
    yield floor_figure(problem, result)
    if result.fusion_bound is not None:
        note = f"on {name} of any fusion plan, certified"
        label = "bound, all fusion plans"
        yield _figure("fusion_bound", label, *quantity(result.fusion_bound), note)
        yield _gap("fusion_gap", "gap, fusion space", result.fusion_gap)
    if fusion is not None:
        words = fusion_plan_words(fusion)
        yield Figure("fused_groups", "fusion plan", len(fusion.fusion_plan), words)
    for other in result.beside:
        if other.value is not None:
            yield _beside(result, other, *quantity(other.value))
    yield Figure("status", "status", None, standing(result), note=optimal_of_class(result))


def floor_figure(problem: Problem, result: Result) -> Figure:
    """Return the floor: in bytes where traffic is the objective, else in time."""
    least, clock, totals = Floor.of(problem), problem.machine.clock_hz, result.totals
    moved = f"moving {si(least.traffic_bytes, 'B')} once"
    by_traffic = result.objective.unit == "bytes"
    value, unit = (least.traffic_bytes, "B") if by_traffic else (least.cycles / clock, "s")
    full = f"computing at full rates takes {si(least.compute_cycles / clock, 's')}"
    parts = [moved if by_traffic else f"{full}, {moved} {si(least.moving_cycles / clock, 's')}"]
    if totals is not None and value:
        own = totals.traffic_bytes if by_traffic else totals.makespan_cycles / clock
        of = "the time of " * (result.objective.unit == "joules")
        parts += [f"{of}this schedule {percent(own / value - 1, of='the floor')}"]
    return _figure("floor", "floor", value, unit, "; ".join(parts))


def _traffic_notes(problem: Problem, result: Result) -> list[str]:
    """Say that bytes move again and again where that costs no time, as the objective is time."""
    least, totals = Floor.of(problem).traffic_bytes, result.totals
    if totals is None or result.objective not in _TIMES or totals.traffic_bytes < _OFTEN * least:
        return []
    if metrics(problem.machine, totals).dma_busy >= _WAITS:
        return []
    times = f"{si(totals.traffic_bytes, 'B')} move where {si(least, 'B')} must: DMA has the time"
    return [f"{times}; --objective time,traffic looks for fewer bytes in about the same"]


def floor_record(problem: Problem) -> Record:
    """Return the JSON of the floor."""
    least = Floor.of(problem)
    return {
        "time_s": least.cycles / problem.machine.clock_hz,
        "compute_s": least.compute_cycles / problem.machine.clock_hz,
        **fields_by_name(least, "traffic_bytes", "dram_in_bytes", "dram_out_bytes"),
    }


def _gap(key: str, label: str, gap: float | None) -> Figure:
    return Figure(key, label, gap, "none" if gap is None else percent(gap, of="the bound"), PART)


def _beside(result: Result, other: Result, value: float, unit: str) -> Figure:
    """Return the value of the layer-by-layer plan, or of the best fusion plan found."""
    if other.fused is None:
        over = "" if other.gap is None else f", {percent(other.gap, by='over', of='its bound')}"
        claim = optimal_of_class(other)
        proved = f", {claim}" if claim else ""
        note = f"{other.scheduler} layer by layer{over}{proved}"
        key, label = "listed", "as listed"
    else:
        key, label = "best_fusion_plan", "best fusion plan"
        note = f"{other.scheduler}: {fusion_plan_words(other.fused)}"
    if result.value is not None and other.value:
        note += f"; this schedule {percent(float(result.value / other.value - 1), of='that')}"
    return _figure(key, label, value, unit, note)


def _use(problem: Problem, result: Result, totals: Totals) -> Iterator[Figure]:
    machine, ways = problem.machine, ""
    found = metrics(machine, totals)
    if machine.duplex and result.schedule is not None:
        inward, outward = directions_busy(result.problem_of(problem), result.schedule, totals)
        ways = f"{share(inward)} in, {share(outward)} out; "
    peak = usage(totals.peak_spm_bytes, machine.spm_bytes)
    yield _figure("compute_busy", "compute busy", found.compute_busy, PART, "of the makespan")
    yield _figure("dma_busy", "DMA busy", found.dma_busy, PART, f"{ways}of the makespan")
    yield _figure("spm_peak", "SPM peak", found.spm_peak, PART, peak)
    uses = zip(bank_names(machine), totals.bank_read_bytes, totals.bank_write_bytes, strict=True)
    for number, (name, read, write) in enumerate(uses):
        use = f"{si(float(read), 'B')} read, {si(float(write), 'B')} written"
        yield Figure(f"bank-{number}", f"bank {number}", None, use, note=name)
    if machine.banks:
        note = "between addresses on chip, without the DRAM"
        yield _figure("moved", "moved", totals.moved_bytes, "B", note)


def _check(result: Result, totals: Totals) -> Iterator[Figure]:
    said, note = ("yes", "every rule, and by replay") if result.verified else ("no", "")
    yield Figure("verified", "verified", None, said, note=note)
    count, descriptors = totals.dma_commands, totals.dma_descriptors
    note = "" if descriptors is None else f"in {descriptors:,} DMA descriptors"
    shown = "not counted" if count is None else f"{count:,}"
    yield Figure("transfers", "DMA commands", count, shown, note=note)
