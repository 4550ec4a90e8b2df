"""What a scratchpad of two memories is worth beside those of one memory with the same area."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import Row, Study, Table, change, megabytes, percent
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import BankOf, with_banks
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Basis, Technology
from spmopt.metrics import metrics
from spmopt.solving import solve

SRAM, MRAMS = "nvsim-sram", ("nvsim-stt", "nvsim-sot")
BUDGET_BYTES, PAGE_BYTES = 4 * 2**20, 4096  # the area is that of so much SRAM
NETWORKS = ("alexnet", "googlenet", "resnet18", "squeezenet")
PORTS = {"energy": None, "time": 64}  # of each bank; none are needed where no bank is slow


@dataclass(frozen=True, kw_only=True)
class Design:
    """A scratchpad: the share of the area that is SRAM, and the memory of the rest."""

    share: float
    mram: str

    @property
    def label(self) -> str:
        """As tables have it."""
        rest = self.mram.removeprefix("nvsim-").upper()
        mixed = f"{percent(self.share)} SRAM, {rest}"
        return "SRAM" if self.share == 1 else rest if self.share == 0 else mixed

    def banks(self, ports: int | None) -> list[BankOf]:
        """Banks of whole pages, each as large as its area allows: SRAM first."""
        budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
        areas = {SRAM: self.share * budget, self.mram: (1 - self.share) * budget}
        technologies = {load_technology(name): area for name, area in areas.items() if area > 0}
        return [
            BankOf(spm_bytes=largest(technology, area), technology=technology, ports=ports)
            for technology, area in technologies.items()
        ]


def largest(technology: Technology, area_mm2: float) -> int:
    """Bytes of whole pages of a memory that take at most an area, as large as can be."""
    low, high = 1, technology.most_bytes // PAGE_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        fits = technology.at(middle * PAGE_BYTES).point.area_mm2 <= area_mm2
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * PAGE_BYTES


def designs() -> list[Design]:
    """SRAM alone once, then shares of each other memory."""
    shares = [(share, mram) for mram in MRAMS for share in (1.0, 0.75, 0.5, 0.25, 0.0)]
    return [Design(share=s, mram=mram) for s, mram in shares if s < 1 or mram == MRAMS[0]]


def scheduled(case: tuple[str, str, Design]) -> list[Row]:
    """One network on one design by an objective; figures are missing where there is no schedule."""
    name, network, design = case
    banks = design.banks(PORTS[name])
    machine = with_banks(load_machine("gtx1080ti"), banks)
    instance = lower(load_network(network, batch=4), machine)
    request = Request(objective=objective_named(name, machine), time_limit_s=60.0)
    result = solve(instance, "banks", request)
    totals = result.totals
    spent = None if totals is None else metrics(machine, totals)
    touched = [0.0]
    if totals is not None:
        both = zip(totals.bank_read_bytes, totals.bank_write_bytes, strict=True)
        touched = [float(read + write) for read, write in both]
    sram = touched[0] if design.share > 0 else 0.0
    return [
        {
            "objective": name,
            "network": network,
            "scratchpad": design.label,
            "scheduler": "banks",
            "share": design.share,
            "mram": design.mram,
            "spm_bytes": machine.spm_bytes,
            "sram_bytes": machine.banks[0].spm_bytes if design.share > 0 else 0,
            "area_mm2": sum(each.technology.at(each.spm_bytes).point.area_mm2 for each in banks),
            "leakage_w": machine.leakage_w,
            "time_s": None if spent is None else spent.time_s,
            "energy_j": None if spent is None else spent.energy_j,
            "traffic_bytes": None if totals is None else totals.traffic_bytes,
            "moved_bytes": None if totals is None else totals.moved_bytes,
            "sram_touched": sram / sum(touched) if sum(touched) else 0.0,
            "value": None if result.value is None else float(result.value),
            "bound": None if result.bound is None else float(result.bound),
            "gap": result.gap,
            "verified": result.verified,
        }
    ]


def label(row: pd.Series) -> str:
    """The scratchpad, with a star where a memory of it is beyond the points of its fit."""
    parts = {SRAM: row.sram_bytes, row.mram: row.spm_bytes - row.sram_bytes}
    bases = [load_technology(name).at(int(size)).basis for name, size in parts.items() if size]
    return f"{row.scratchpad}{' *' * (Basis.EXTRAPOLATED in bases)}"


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Designs, costs, and what the banks are used for."""
    rows = rows.assign(shown=rows.apply(label, axis=1), mram_bytes=rows.spm_bytes - rows.sram_bytes)
    lines = []
    for row in rows[(rows.objective == "energy") & (rows.network == NETWORKS[0])].itertuples():
        sizes = [megabytes(size) if size else "-" for size in (row.sram_bytes, row.mram_bytes)]
        lines.append([row.shown, *sizes, f"{row.area_mm2:.3f}", f"{1e3 * row.leakage_w:.1f}"])
    heads = ["scratchpad", "SRAM", "other memory", "area, mm2", "leakage, mW"]
    yield Table(title="Scratchpads of one area", heads=heads, lines=lines)
    for objective, column, title in (
        ("energy", "energy_j", "Energy in mJ, and against SRAM alone"),
        ("time", "time_s", "Time in ms, banks of 64 ports, against SRAM alone"),
    ):
        own = rows[rows.objective == objective]
        costs = own.pivot_table(index="shown", columns="network", values=column, sort=False)
        ratios = costs / costs.loc["SRAM"]
        lines = [
            [name, *(f"{1e3 * costs[n][name]:#.4g} ({change(ratios[n][name])})" for n in NETWORKS)]
            for name in costs.index
        ]
        yield Table(title=title, heads=["scratchpad", *NETWORKS], lines=lines)
    lines = []
    for row in rows.itertuples():
        about = [row.objective, row.network, row.shown]
        moved = [megabytes(row.traffic_bytes), megabytes(row.moved_bytes)]
        lines.append([*about, *moved, percent(row.sram_touched), f"{100 * row.gap:.4f} %"])
    heads = ["objective", "network", "scratchpad", "DRAM traffic", "moved", "by SRAM", "gap"]
    yield Table(title="What the banks are used for", heads=heads, lines=lines, left=3)


STUDY = Study(
    file=__file__,
    cases=lambda: {
        f"{name} {network} {design.label}": (name, network, design)
        for name in PORTS
        for network in NETWORKS
        for design in designs()
    },
    work=scheduled,
    quick=("energy", "squeezenet", Design(share=0.5, mram=MRAMS[0])),
    tables=tables,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
