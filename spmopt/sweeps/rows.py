"""Rows of a sweep's table: their columns, as values and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.experiments.rows import Columns, Row, Value
from spmopt.hardware.energy import area_report
from spmopt.hardware.scratchpad import bases_of, least_sure
from spmopt.metrics import in_unit, metrics
from spmopt.sweeps.cases import SweepCase

_ABOUT: Mapping[str, type] = {
    "network": str,
    "training": bool,
    "batch": int,
    "optimizer": str,
    "parameters": str,
    "mapper": str,
    "machine": str,
    "spm_bytes": int,
    "dram_bytes_per_s": int,
    "operations_per_s": int,
    "clock_hz": int,
    "page_bytes": int,
    "dma_setup_cycles": int,
    "duplex": bool,
}
_FOUND: Mapping[str, type] = {
    "objective": str,
    "status": str,
    "time_s": float,
    "traffic_bytes": int,
    "energy_j": float,
    "power_w": float,
    "area_mm2": float,
    "technology": str,
    "basis": str,
    "value": float,
    "bound": float,
    "gap": float,
    "order": str,
    "verified": bool,
    "solve_s": float,
    "note": str,
}
_ON_CHIP = ("power_w", "area_mm2", "technology", "basis")


class SweepColumns(Columns):
    """Columns of a sweep: identity, other swept settings (``extra``), and results.

    ``on_chip``: average power, the machine's area, and technologies of its scratchpad with the
    basis of their figures, too, which rows of studies do not keep.
    """

    def __init__(self, extra: Sequence[str] = (), *, on_chip: bool = False) -> None:
        own = {**_ABOUT, **dict.fromkeys(extra, str), "scheduler": str}
        found = {name: _FOUND[name] for name in _FOUND if on_chip or name not in _ON_CHIP}
        super().__init__(own, {name: found[name] for name in found if name not in own})


def row_of(case: SweepCase, spm_bytes: int, result: Result, order: str, objective: str) -> Row:
    """Return one result as a row; times in seconds, area where the machine's is known."""
    machine, basis = case.machine, least_sure(case.machine)
    spent = None if result.totals is None else metrics(machine, result.totals)
    return {
        # Before about(): a swept technology is part of the identity and replaces this one.
        "technology": " + ".join(name for name, _ in bases_of(machine)),
        "basis": "" if basis is None else str(basis),
        **about(case, spm_bytes, result.scheduler),
        "objective": objective,
        "status": str(result.status),
        "time_s": None if spent is None else spent.time_s,
        "traffic_bytes": None if result.totals is None else result.totals.traffic_bytes,
        "energy_j": None if spent is None else spent.energy_j,
        "power_w": None if spent is None else spent.energy.power_w,
        "area_mm2": area_report(machine).total_mm2,
        "value": _in_unit(objective, machine, result.value),
        "bound": _in_unit(objective, machine, result.bound),
        "gap": result.gap,
        "order": order,
        # Empty, not false, without a schedule: false would mean a refused one.
        "verified": None if result.totals is None else result.verified,
        "solve_s": round(result.solve_s, 4),
        # One line: rows are appended line by line, and a cut line must be recognizable.
        "note": " ".join("; ".join(result.notes).split()),
    }


def about(case: SweepCase, spm_bytes: int, scheduler: str) -> dict[str, Value]:
    """Return the identity of a row, before or after its results are known."""
    network, machine = case.network, case.machine
    parameters = [f"{name}={value}" for name, value in network.parameters]
    parameters += [] if network.dtype is None else [f"dtype={network.dtype}"]
    return {
        "network": network.label,
        "training": network.training,
        "batch": network.batch_size,
        "optimizer": network.optimizer,
        "parameters": " ".join(parameters),
        "mapper": network.mapper,
        "machine": machine.name,
        "spm_bytes": spm_bytes,
        "dram_bytes_per_s": machine.dram_bytes_per_s,
        "operations_per_s": machine.operations_per_s,
        "clock_hz": machine.clock_hz,
        "page_bytes": machine.page_bytes,
        "dma_setup_cycles": machine.dma_setup_cycles,
        "duplex": machine.duplex,
        **dict(case.extra),
        "scheduler": scheduler,
    }


def _in_unit(objective: str, machine: Machine, value: Fraction | None) -> float | None:
    if value is None:
        return None
    return in_unit(objective_named(objective, machine), machine, value)[0]
