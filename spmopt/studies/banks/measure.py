"""Every design scheduled: a row each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import with_banks
from spmopt.metrics import metrics
from spmopt.solve import solve
from spmopt.studies.banks.designs import Design, designs
from spmopt.studies.study import Known
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row

MACHINE, BATCH, SCHEDULER = "gtx1080ti", 4, "banks"
NETWORKS = ("alexnet", "googlenet", "resnet18", "squeezenet")
PORTS = {"energy": None, "time": 64}
"""Ports of each bank by objective; none are needed where no bank is slow."""
TIME_LIMIT_S = 60.0

COLUMNS = Columns.of(
    {"objective": str, "network": str, "scratchpad": str, "scheduler": str},
    {
        "share": float,
        "mram": str,
        "spm_bytes": int,
        "sram_bytes": int,
        "area_mm2": float,
        "leakage_w": float,
        "time_s": float,
        "energy_j": float,
        "traffic_bytes": int,
        "moved_bytes": int,
        "sram_touched": float,
        "value": float,
        "bound": float,
        "gap": float,
        "verified": bool,
    },
)


def scheduled(name: str, network: str, design: Design) -> Row:
    """One network on one design by the objective called ``name``: the row."""
    machine = with_banks(load_machine(MACHINE), design.banks(PORTS[name]))
    instance = lower(load_network(network, batch=BATCH), machine)
    objective = objective_named(name, machine)
    result = solve(instance, SCHEDULER, Request(objective=objective, time_limit_s=TIME_LIMIT_S))
    return {**_about(name, network), **_row(design, machine, result)}


def _row(design: Design, machine: Machine, result: Result) -> Row:
    """A row; figures of the schedule are missing where there is none."""
    totals = result.totals
    spent = None if totals is None else metrics(machine, totals)
    pads = [each.technology.at(each.spm_bytes) for each in design.banks()]
    touched = sram = 0.0
    if totals is not None:
        both = zip(totals.bank_read_bytes, totals.bank_write_bytes, strict=True)
        bytes_of = [float(read + write) for read, write in both]
        touched, sram = sum(bytes_of), bytes_of[0] if design.share > 0 else 0.0
    return {
        "scratchpad": design.label,
        "share": design.share,
        "mram": design.mram,
        "spm_bytes": machine.spm_bytes,
        "sram_bytes": machine.banks[0].spm_bytes if design.share > 0 else 0,
        "area_mm2": sum(pad.point.area_mm2 for pad in pads),
        "leakage_w": machine.leakage_w,
        "time_s": None if spent is None else spent.time_s,
        "energy_j": None if spent is None else spent.energy_j,
        "traffic_bytes": None if totals is None else totals.traffic_bytes,
        "moved_bytes": None if totals is None else totals.moved_bytes,
        "sram_touched": sram / touched if touched else 0.0,
        "value": None if result.value is None else float(result.value),
        "bound": None if result.bound is None else float(result.bound),
        "gap": result.gap,
        "verified": result.verified,
    }


def run(pool: Pool, tell: Callable[[str], None], known: Known) -> Iterator[Sequence[Row]]:
    """All objectives and networks, one after the other, on all designs."""
    for name, network in product(PORTS, NETWORKS):
        asked = designs()
        found: dict[int, Row] = {}
        for place, design in enumerate(asked):
            before = known({**_about(name, network), "scratchpad": design.label})
            if before is not None:
                found[place] = before
                continue
            task = partial(scheduled, name, network, design)
            pool.add((place,), task, partial(found.__setitem__, place))
        for _ in pool.steps():
            tell(f"{name} of {network}: {len(found)} of {len(asked)} schedules")
        yield [found[place] for place in range(len(asked))]


def _about(name: str, network: str) -> dict[str, str]:
    return {"objective": name, "network": network, "scheduler": SCHEDULER}
