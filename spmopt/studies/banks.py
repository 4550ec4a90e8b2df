"""What a scratchpad of two memories is worth beside those of one memory with the same area."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.machines.load import load_machine
from spmopt.metrics import metrics
from spmopt.solve import solve
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Known, Measured, Sentences, Sheet, Study
from spmopt.studies.words import change, listing, megabytes, percent
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row
from spmopt.technology.figures import Basis
from spmopt.technology.load import load_technology
from spmopt.technology.machine import BankOf, with_banks
from spmopt.technology.technology import Technology

MACHINE, BATCH, SCHEDULER = "gtx1080ti", 4, "banks"
NETWORKS = ("alexnet", "googlenet", "resnet18", "squeezenet")
SRAM, MRAMS = "nvsim-sram", ("nvsim-stt", "nvsim-sot")
BUDGET_BYTES = 4 * 2**20
"""The area is that of so much SRAM."""
PORTS = {"energy": None, "time": 64}
"""Ports of each bank by objective; none are needed where no bank is slow."""
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of the area that SRAM takes."""
TIME_LIMIT_S = 60.0
_PAGE = 4096

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


@dataclass(frozen=True, kw_only=True)
class Design:
    """A scratchpad: the share of the area that is SRAM, and the memory of the rest."""

    share: float
    mram: str

    @property
    def label(self) -> str:
        """As tables have it."""
        if self.share == 1:
            return "SRAM"
        rest = self.mram.removeprefix("nvsim-").upper()
        return rest if self.share == 0 else f"{percent(self.share)} SRAM, {rest}"

    def banks(self, ports: int | None = None) -> list[BankOf]:
        """Banks of whole pages: SRAM first, where streams pass."""
        budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
        areas = ((SRAM, self.share * budget), (self.mram, (1 - self.share) * budget))
        return [
            BankOf(
                spm_bytes=largest(load_technology(name), area),
                technology=load_technology(name),
                ports=ports,
            )
            for name, area in areas
            if area > 0
        ]


def designs() -> list[Design]:
    """SRAM alone once, then shares of each other memory."""
    return [
        Design(share=share, mram=mram)
        for mram in MRAMS
        for share in SHARES
        if share < 1 or mram == MRAMS[0]
    ]


def largest(technology: Technology, area_mm2: float) -> int:
    """Bytes of whole pages of a memory that take at most an area, as large as can be."""
    low, high = 1, technology.most_bytes // _PAGE
    while low < high:
        middle = (low + high + 1) // 2
        fits = technology.at(middle * _PAGE).point.area_mm2 <= area_mm2
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * _PAGE


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


def find(rows: Rows, figures: Figures) -> Findings:
    """Designs, energies, and what the banks are used for."""
    del figures
    return Findings(
        sheets=(
            _designs(rows),
            _costs(rows, "energy", "energy_j", "Energy in mJ, and against SRAM alone"),
            _costs(rows, "time", "time_s", "Time in ms, banks of 64 ports, against SRAM alone"),
            _uses(rows),
        ),
        sentences=_sentences(rows),
        notes=(
            "Area, leakage, rates and energy per byte are those of each memory at its own size "
            "(`spmopt technologies --fit`); a small one takes less energy a byte.",
            "`*`: a memory of it has figures of its fit, beyond its points, as SRAM below 1 MiB.",
            "Streams pass by the SRAM where there is one.",
            "Every schedule is verified; gaps are to the certified bound of the same machine.",
        ),
    )


def _label(row: Row) -> str:
    """The scratchpad, with a star where a memory of it is beyond the points of its fit."""
    sram, all_of = int(number(row, "sram_bytes")), int(number(row, "spm_bytes"))
    parts = ((SRAM, sram), (str(row["mram"]), all_of - sram))
    bases = [load_technology(name).at(size).basis for name, size in parts if size]
    return f"{row['scratchpad']}{' *' * (Basis.EXTRAPOLATED in bases)}"


def labels(rows: Rows) -> dict[str, str]:
    """By scratchpad how it is shown; of any objective and network the same."""
    return {str(row["scratchpad"]): _label(row) for row in rows}


def _designs(rows: Rows) -> Sheet:
    lines = []
    first = rows.where(objective="energy", network=rows.texts("network")[0])
    for row in first:
        sram, all_of = number(row, "sram_bytes"), number(row, "spm_bytes")
        lines.append(
            [
                _label(row),
                megabytes(sram) if sram else "-",
                megabytes(all_of - sram) if all_of > sram else "-",
                f"{number(row, 'area_mm2'):.3f}",
                f"{1e3 * number(row, 'leakage_w'):.1f}",
            ]
        )
    heads = ("scratchpad", "SRAM", "other memory", "area, mm2", "leakage, mW")
    return Sheet(title="Scratchpads of one area", heads=heads, rows=lines)


def _costs(rows: Rows, objective: str, column: str, title: str) -> Sheet:
    own = rows.where(objective=objective)
    lines = []
    for label, shown in labels(own).items():
        cells = []
        for network in own.texts("network"):
            cost = own.number(column, network=network, scratchpad=label)
            base = own.number(column, network=network, scratchpad="SRAM")
            cells.append(f"{1e3 * cost:#.4g} ({change(cost / base)})")
        lines.append([shown, *cells])
    return Sheet(title=title, heads=("scratchpad", *own.texts("network")), rows=lines)


def _uses(rows: Rows) -> Sheet:
    lines = [
        [
            str(row["objective"]),
            str(row["network"]),
            _label(row),
            megabytes(number(row, "traffic_bytes")),
            megabytes(number(row, "moved_bytes")),
            percent(number(row, "sram_touched")),
            f"{100 * number(row, 'gap'):.4f} %",
        ]
        for row in rows
    ]
    heads = ("objective", "network", "scratchpad", "DRAM traffic", "moved", "by SRAM", "gap")
    return Sheet(title="What the banks are used for", heads=heads, rows=lines, left=3)


def _sentences(rows: Rows) -> Sentences:
    shares = [
        number(row, "moved_bytes") / number(row, "traffic_bytes")
        for row in rows
        if 0 < number(row, "share") < 1
    ]
    gaps = [number(row, "gap") for row in rows]
    return (
        f"Least energy, and against the best single memory: {leaders(rows, 'energy')}.",
        f"Least time with ports, likewise: {leaders(rows, 'time')}.",
        f"Moves between banks carry up to {percent(max(shares))} of the bytes that DRAM moves; "
        f"gaps to the certified bound are {100 * min(gaps):.4f} to {100 * max(gaps):.4f} %.",
    )


def leaders(rows: Rows, objective: str) -> str:
    """By network the best scratchpad, and its cost against the best of one memory.

    Where it rests on figures beyond the points of a fit, the best of the others too.
    """
    told = []
    for network in rows.texts("network"):
        own = rows.where(objective=objective, network=network)
        best = min(own, key=_value)
        alone = min(map(_value, (row for row in own if number(row, "share") in (0, 1))))
        said = f"{_label(best)} ({change(_value(best) / alone)}"
        if _label(best).endswith("*"):
            sure = min((row for row in own if not _label(row).endswith("*")), key=_value)
            said += f"; without those marked {sure['scratchpad']}, {change(_value(sure) / alone)}"
        told.append(f"{network} {said})")
    return listing(told)


def _value(row: Row) -> float:
    return number(row, "value")


STUDY = Study(
    name="banks",
    title="what a scratchpad of two memories is worth",
    about=(
        "Scratchpads of the same area, that of 4 MiB of SRAM: SRAM alone, STT-MRAM or SOT-MRAM "
        "alone, and a bank of SRAM beside a bank of one of them. Which bytes lie in which bank, "
        "and when they move, is optimised for each (scheduler `banks`). Inference, batch "
        f"{BATCH}, on a GTX 1080 Ti; memories of NVSim, 22 nm. Objective energy, with banks that "
        "are never slow; and objective time, with 64 ports to each bank, one access at a time each."
    ),
    measured=Measured(
        columns=COLUMNS,
        run=run,
        what=repr((MACHINE, BATCH, NETWORKS, designs(), BUDGET_BYTES, PORTS)),
    ),
    find=find,
)
