"""One result as a sheet of lines."""

from __future__ import annotations

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.modes import unfit
from spmopt.core.result import Result, Status, Totals
from spmopt.hardware.energy import EnergyReport
from spmopt.metrics import directions_busy, in_unit, metrics
from spmopt.report.conflict import conflict_rows
from spmopt.report.parts import Values
from spmopt.report.quantities import duration, percent, share, si
from spmopt.report.spent import area_split, bank_names, bank_uses, energy_split
from spmopt.report.view import (
    heading,
    order_notes,
    remarks,
    spoken,
    standing,
    transfer_counts,
)

_PROVED = "from its certificate, recomputed in exact arithmetic"


def result_sheet(instance: Instance, result: Result) -> list[str]:
    """Lines for people: what the schedule costs, and how good it is known to be."""
    return [heading(instance, result), "", *result_values(instance, result).lines]


def result_values(instance: Instance, result: Result) -> Values:
    """The same by name, without the heading."""
    machine, totals = instance.machine, result.totals
    rows: list[tuple[str, str]] = [(result.scheduler, _standing(result))]
    if totals is not None:
        figures = metrics(machine, totals)
        replay = f"replay without barriers {si(figures.replay_s, 's')}"
        sides = f"{si(totals.dram_in_bytes, 'B')} in, {si(totals.dram_out_bytes, 'B')} out"
        rows += [
            ("time", f"{si(figures.time_s, 's')} ({totals.makespan_cycles} cycles; {replay})"),
            ("traffic", f"{si(totals.traffic_bytes, 'B')} ({sides})"),
            ("energy", _energy(figures.energy)),
            ("power", f"{si(figures.energy.power_w, 'W')} on average"),
            *(("area", text) for text in _area(figures.energy)),
            ("busy", f"compute {share(figures.compute_busy)}, DMA {_dma(machine, result, totals)}"),
            ("SPM peak", f"{si(totals.peak_spm_bytes, 'B')} ({share(figures.spm_peak)})"),
            *(("transfers", text) for text in transfer_counts(totals)),
            *_of_banks(machine, totals),
        ]
    if result.bound is not None:
        shown = si(*in_unit(result.objective, machine, result.bound))
        rows.append(("bound", f"{shown} ({spoken(result.objective)}, {_PROVED})"))
    rows.append(("solved in", f"{duration(result.solve_s)} (CPU {duration(result.cpu_s)})"))
    rows += [("note", text) for text in (*remarks(result), *order_notes(instance, [result]))]
    if result.status is Status.INFEASIBLE:
        rows += [("", row) for row in conflict_rows(unfit(instance))]
    return Values(rows=rows)


def _dma(machine: Machine, result: Result, totals: Totals) -> str:
    """How busy the channel is; on a duplex machine, both ways together and each by itself."""
    shown = share(metrics(machine, totals).dma_busy)
    if not machine.duplex or result.schedule is None:
        return shown
    inward, outward = directions_busy(machine, result.schedule, totals)
    return f"{shown} ({share(inward)} in, {share(outward)} out)"


def _of_banks(machine: Machine, totals: Totals) -> list[tuple[str, str]]:
    """What each bank does, and what moves between them."""
    if not machine.banks:
        return []
    named = zip(bank_names(machine), bank_uses(machine, totals), strict=True)
    rows = [(f"bank {number}", f"{name}: {use}") for number, (name, use) in enumerate(named)]
    return [*rows, ("moved", f"{si(totals.moved_bytes, 'B')} between addresses on chip")]


def _energy(report: EnergyReport) -> str:
    shown, split = si(report.energy_j, "J"), energy_split(report)
    return f"{shown} ({split})" if split else shown


def _area(report: EnergyReport) -> list[str]:
    """Only where all of it is known."""
    split, area = area_split(report), report.area
    if not split or area.total_mm2 is None or report.edap_js_mm2 is None:
        return []
    products = f"EDP {report.edp_js:.4g} J s, EDAP {report.edap_js_mm2:.4g} J s mm2"
    return [f"{area.total_mm2:.4g} mm2 ({split}); {products}"]


def _standing(result: Result) -> str:
    parts = [standing(result)]
    if result.gap is not None:
        parts.append(f"gap {percent(result.gap)}")
    if result.verified:
        parts.append("verified (every rule, and by replay)")
    return ", ".join(parts)
