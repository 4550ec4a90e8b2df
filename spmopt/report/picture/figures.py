"""The headline: what a schedule costs, how good that is known to be, how busy the machine is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import Result, Totals
from spmopt.metrics import in_unit, metrics
from spmopt.report.quantities import duration, percent, share, si
from spmopt.report.spent import area_split, bank_names, bank_uses, energy_split
from spmopt.report.view import spoken, standing, transfer_counts

PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
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


def figures(instance: Instance, result: Result, totals: Totals) -> tuple[Figure, ...]:
    """Return the headline of a verified schedule; ``totals`` are the verifier's."""
    return (
        *_costs(instance, totals),
        *_quality(instance, result),
        *_use(instance, totals),
        *_making(result, totals),
    )


def _costs(instance: Instance, totals: Totals) -> Iterator[Figure]:
    found = metrics(instance.machine, totals)
    yield Figure(
        key="makespan",
        label="time",
        value=found.time_s,
        text=si(found.time_s, "s"),
        unit="s",
        note=f"{totals.makespan_cycles:,} cycles",
    )
    yield Figure(
        key="replay",
        label="replay",
        value=found.replay_s,
        text=si(found.replay_s, "s"),
        unit="s",
        note=f"{totals.replay_cycles:,} cycles, without barriers between steps",
    )
    sides = f"{si(totals.dram_in_bytes, 'B')} in, {si(totals.dram_out_bytes, 'B')} out"
    yield Figure(
        key="traffic",
        label="traffic",
        value=totals.traffic_bytes,
        text=si(totals.traffic_bytes, "B"),
        unit="B",
        note=sides,
    )
    yield Figure(
        key="energy",
        label="energy",
        value=found.energy_j,
        text=si(found.energy_j, "J"),
        unit="J",
        note="; ".join(
            filter(
                None,
                (energy_split(found.energy), f"{si(found.energy.power_w, 'W')} on average"),
            )
        ),
    )
    split, area = area_split(found.energy), found.energy.area.total_mm2
    if split and area is not None:
        text = f"{area:.4g} mm2"
        yield Figure(key="area", label="area", value=area, text=text, unit="mm2", note=split)


def _quality(instance: Instance, result: Result) -> Iterator[Figure]:
    name = spoken(result.objective)
    if result.value is not None:
        value, unit = in_unit(result.objective, instance.machine, result.value)
        text = f"{name} {si(value, unit)}"
        yield Figure(key="objective", label="objective", value=value, text=text, unit=unit)
    if result.bound is not None:
        value, unit = in_unit(result.objective, instance.machine, result.bound)
        note = f"of {name}, certified, in this order of operations"
        yield Figure(
            key="bound", label="bound", value=value, text=si(value, unit), unit=unit, note=note
        )
    else:
        yield Figure(key="bound", label="bound", value=None, text="none")
    gap = "none" if result.gap is None else percent(result.gap)
    note = f"of {name}, above the bound"
    yield Figure(key="gap", label="gap to bound", value=result.gap, text=gap, unit=PART, note=note)
    yield Figure(key="status", label="status", value=None, text=standing(result))


def _use(instance: Instance, totals: Totals) -> Iterator[Figure]:
    found = metrics(instance.machine, totals)
    busy = (
        ("compute_busy", "compute busy", found.compute_busy, "of the makespan"),
        ("dma_busy", "DMA busy", found.dma_busy, "of the makespan"),
        (
            "spm_peak",
            "SPM peak",
            found.spm_peak,
            f"{si(totals.peak_spm_bytes, 'B')} of {si(instance.machine.spm_bytes, 'B')}",
        ),
    )
    for key, label, value, note in busy:
        yield Figure(key=key, label=label, value=value, text=share(value), unit=PART, note=note)
    yield from _banks(instance.machine, totals)


def _banks(machine: Machine, totals: Totals) -> Iterator[Figure]:
    """What each bank does, and what moves on chip; nothing for a uniform scratchpad."""
    named = zip(bank_names(machine), bank_uses(machine, totals), strict=True)
    for number, (name, use) in enumerate(named):
        yield Figure(key=f"bank-{number}", label=f"bank {number}", value=None, text=use, note=name)
    if machine.banks:
        yield Figure(
            key="moved",
            label="moved on chip",
            value=totals.moved_bytes,
            text=si(totals.moved_bytes, "B"),
            unit="B",
            note="between addresses, without the DRAM",
        )


def _making(result: Result, totals: Totals) -> Iterator[Figure]:
    yield Figure(
        key="verified",
        label="verified",
        value=None,
        text="yes",
        note="by every rule and by replay, when this was made",
    )
    count = totals.dma_commands
    shown = "" if count is None else f"{count:,}"
    note = "".join(transfer_counts(totals))
    yield Figure(key="transfers", label="DMA commands", value=count, text=shown, note=note)
    yield Figure(
        key="seconds",
        label="seconds of solving",
        value=result.solve_s,
        text=duration(result.solve_s),
        unit="s",
        note=f"{result.scheduler}, CPU {duration(result.cpu_s)}",
    )
