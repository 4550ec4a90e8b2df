"""What a scratchpad of two memories is worth beside those of one memory with the same area."""

from __future__ import annotations

import sys
from bisect import bisect_right
from dataclasses import dataclass

import pandas as pd

from results.shared.common import Row, Study, Tables, change, megabytes, percent, texts
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
class ScratchpadDesign:
    """The share of the area that is SRAM, and the memory of the rest."""

    share: float
    mram: str

    @property
    def label(self) -> str:
        """As tables have it."""
        rest = self.mram.removeprefix("nvsim-").upper()
        mixed = f"{percent(self.share)} SRAM, {rest}"
        return "SRAM" if self.share == 1 else rest if self.share == 0 else mixed

    def banks(self, ports: int | None) -> list[BankOf]:
        """Return banks of whole pages, each as large as its area allows: SRAM first."""
        budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
        areas = {SRAM: self.share * budget, self.mram: (1 - self.share) * budget}
        technologies = {load_technology(name): area for name, area in areas.items() if area > 0}
        return [
            BankOf(spm_bytes=largest(technology, area), technology=technology, ports=ports)
            for technology, area in technologies.items()
        ]


def largest(technology: Technology, area_mm2: float) -> int:
    """Return the bytes of whole pages of a memory that take at most an area."""

    def area_of(pages: int) -> float:
        return technology.at(pages * PAGE_BYTES).point.area_mm2

    pages = range(1, technology.most_bytes // PAGE_BYTES + 1)
    return max(1, bisect_right(pages, area_mm2, key=area_of)) * PAGE_BYTES


def designs() -> list[ScratchpadDesign]:
    """List SRAM alone once, then shares of each other memory."""
    shares = [(share, mram) for mram in MRAMS for share in (1.0, 0.75, 0.5, 0.25, 0.0)]
    del shares[5]  # again SRAM alone
    return [ScratchpadDesign(share=share, mram=mram) for share, mram in shares]


def scheduled(case: tuple[str, str, ScratchpadDesign]) -> list[Row]:
    """Schedule one network on one design; figures are missing where there is no schedule."""
    name, network, design = case
    banks = design.banks(PORTS[name])
    machine = with_banks(load_machine("gtx1080ti"), banks)
    problem = lower(load_network(network, batch=4), machine, mapper="panel")
    request = Request(objective=objective_named(name, machine), time_limit_s=60.0)
    result = solve(problem, "banks", request)
    totals = result.totals
    spent = None if totals is None else metrics(machine, totals)
    touched: list[float] = []
    if totals is not None:
        both = zip(totals.bank_read_bytes, totals.bank_write_bytes, strict=True)
        touched = [float(read + write) for read, write in both]
    sram = touched[0] if design.share > 0 and touched else 0.0
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
            **{each: getattr(spent, each, None) for each in ("time_s", "energy_j")},
            **{each: getattr(totals, each, None) for each in ("traffic_bytes", "moved_bytes")},
            "sram_touched": sram / sum(touched) if sum(touched) else 0.0,
            "value": None if result.value is None else float(result.value),
            "bound": None if result.bound is None else float(result.bound),
            "gap": result.gap,
            "verified": result.verified,
        }
    ]


def label(row: pd.Series) -> str:
    """Name the scratchpad, with a star where a memory is beyond the points of its fit."""
    parts = {SRAM: row.sram_bytes, row.mram: row.mram_bytes}
    bases = [load_technology(name).at(int(size)).basis for name, size in parts.items() if size]
    return f"{row.scratchpad}{' *' * (Basis.EXTRAPOLATED in bases)}"


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate designs, costs, and what the banks are used for."""
    rows = rows.assign(mram_bytes=rows.spm_bytes - rows.sram_bytes)
    rows["shown"] = rows.apply(label, axis=1).rename("scratchpad")
    some = rows[(rows.objective == "energy") & (rows.network == NETWORKS[0])]
    sizes = some[["sram_bytes", "mram_bytes"]].map(lambda size: megabytes(size) if size else "-")
    sizes["area, mm2"] = texts(some.area_mm2, "{:.3f}")
    sizes["leakage, mW"] = texts(1e3 * some.leakage_w, "{:.1f}")
    names = {"sram_bytes": "SRAM", "mram_bytes": "other memory"}
    shown = sizes.rename(columns=names).set_index(some.shown)
    found = {"Scratchpads of one area": shown.rename_axis("scratchpad")}
    for objective, column, title in (
        ("energy", "energy_j", "Energy in mJ, and against SRAM alone"),
        ("time", "time_s", "Time in ms, banks of 64 ports, against SRAM alone"),
    ):
        some = rows[rows.objective == objective]
        # Not unstack(sort=False): before pandas 3 that mixes the rows up.
        costs = some.set_index(["shown", "network"])[column].unstack()
        costs = costs.loc[some.shown.unique(), some.network.unique()]
        table = texts(1e3 * costs, "{:#.4g}") + texts(costs / costs.loc["SRAM"], change).map(
            " ({})".format
        )
        found[title] = table.rename_axis("scratchpad")
    used = {
        "DRAM traffic": texts(rows.traffic_bytes, megabytes),
        "moved": texts(rows.moved_bytes, megabytes),
        "by SRAM": texts(rows.sram_touched, percent),
        "gap": texts(100 * rows.gap, "{:.4f} %"),
    }
    index = [rows.objective, rows.network, rows.shown.rename("scratchpad")]
    return {**found, "What the banks are used for": pd.DataFrame(used).set_index(index)}


STUDY = Study(
    file=__file__,
    cases=lambda: {
        f"{name} {network} {design.label}": (name, network, design)
        for name in PORTS
        for network in NETWORKS
        for design in designs()
    },
    work=scheduled,
    quick=("energy", "squeezenet", ScratchpadDesign(share=0.5, mram=MRAMS[0])),
    tables=tables,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
