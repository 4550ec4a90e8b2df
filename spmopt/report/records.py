"""Results as flat JSON records, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.modes import unfit
from spmopt.core.result import Result, Status, Totals
from spmopt.hardware.energy import EnergyReport, area_report
from spmopt.io.instance import encode_machine
from spmopt.metrics import directions_busy, metrics, tensor_bytes
from spmopt.report.conflict import conflict_record
from spmopt.report.view import spoken

Record = dict[str, object]


def results_record(
    instance: Instance, results: Sequence[Result], not_run: Sequence[str] = ()
) -> Record:
    """Return what ``--json`` prints for ``solve`` and ``compare``.

    ``not_run`` names schedulers that were asked for, but that an interrupt left out; ``conflict``
    says why no schedule exists, if none does.
    """
    infeasible = any(result.status is Status.INFEASIBLE for result in results)
    return {
        "instance": instance_record(instance),
        "results": [result_record(instance.machine, result) for result in results],
        "not_run": list(not_run),
        "conflict": conflict_record(unfit(instance) if infeasible else None),
    }


def instance_record(instance: Instance) -> Record:
    """Return the name and size of an instance, its lowering and its machine."""
    area = area_report(instance.machine)
    return {
        "name": instance.name,
        "source": instance.source,
        "lowering": instance.lowering,
        "operations": len(instance.operations),
        "tensors": len(instance.tensors),
        "tensor_bytes": tensor_bytes(instance),
        "machine": encode_machine(instance.machine),
        "area": {**asdict(area), "total_mm2": area.total_mm2},
    }


def result_record(machine: Machine, result: Result) -> Record:
    """Return the figures of a result; those that it does not have are null.

    ``value`` and ``bound`` are in ``unit``, that of the objective, rounded to doubles; the result
    file has them exact.
    """
    totals = result.totals
    figures = None if totals is None else metrics(machine, totals)
    inward, outward = _directions(machine, result)
    return {
        "scheduler": result.scheduler,
        "objective": spoken(result.objective),
        "unit": result.objective.unit,
        "value": _number(result.value),
        "bound": _number(result.bound),
        "gap": result.gap,
        "own_order": result.order is None,
        "status": str(result.status),
        "verified": result.verified,
        "makespan_cycles": None if totals is None else totals.makespan_cycles,
        "replay_cycles": None if totals is None else totals.replay_cycles,
        "time_s": None if figures is None else figures.time_s,
        "replay_s": None if figures is None else figures.replay_s,
        "traffic_bytes": None if totals is None else totals.traffic_bytes,
        "dram_in_bytes": None if totals is None else totals.dram_in_bytes,
        "dram_out_bytes": None if totals is None else totals.dram_out_bytes,
        **_energy(None if figures is None else figures.energy),
        "compute_busy": None if figures is None else figures.compute_busy,
        "dma_busy": None if figures is None else figures.dma_busy,
        "dma_in_busy": inward,
        "dma_out_busy": outward,
        "peak_spm_bytes": None if totals is None else totals.peak_spm_bytes,
        "dma_commands": None if totals is None else totals.dma_commands,
        "dma_descriptors": None if totals is None else totals.dma_descriptors,
        "solve_s": result.solve_s,
        "cpu_s": result.cpu_s,
        "class_bound": None if result.class_bound is None else asdict(result.class_bound),
        "notes": list(result.notes),
        **_of_banks(machine, totals),
    }


def _directions(machine: Machine, result: Result) -> tuple[float | None, float | None]:
    """Parts of the time in which the channel moves data in, and out."""
    if result.schedule is None or result.totals is None:
        return None, None
    return directions_busy(machine, result.schedule, result.totals)


def _of_banks(machine: Machine, totals: Totals | None) -> Record:
    """Bytes that each bank reads and writes, and that moves carry; nothing without banks."""
    if not machine.banks:
        return {}
    read, write = ((), ()) if totals is None else (totals.bank_read_bytes, totals.bank_write_bytes)
    return {
        "moved_bytes": None if totals is None else totals.moved_bytes,
        "bank_read_bytes": [float(size) for size in read],
        "bank_write_bytes": [float(size) for size in write],
    }


def _energy(report: EnergyReport | None) -> Record:
    """Energy and its parts (J), average power (W), energy x time (J s), and x area (J s mm2)."""
    names = (
        *("energy_j", "dram_j", "spm_read_j", "spm_write_j", "mac_j", "leakage_j"),
        *("power_w", "edp_js", "edap_js_mm2"),
    )
    return {name: None if report is None else getattr(report, name) for name in names}


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
