"""STT-MRAM whose writes are relaxed in one bank, which forgets (Roy et al.): who lies where."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from results.shared.common import MB, Row, Study, Tables, change, in_percent, percent, tabulated
from results.shared.memory import NETWORKS, PaperFigure
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.energy import energy_report
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import BankOf, with_banks
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Technology
from spmopt.metrics import in_unit
from spmopt.solving import solve

TECHNOLOGY, MACHINE, BATCH = "scaled-stt", "gtx1080ti", 64
BANK_BYTES = 3 * MB // 2
SAVED = 0.5  # of energy and latency of a relaxed write: as in the technology relaxed-stt
LIMITS_MS = (0.1, 1.0, 10.0, 100.0)
LASTS = "all contents last"
FREE = "both relaxed, lasting"
FIRST = {f"relaxed first, {limit:g} ms": limit for limit in LIMITS_MS}
SECOND = {f"relaxed second, {limit:g} ms": limit for limit in LIMITS_MS}
DESIGNS = (LASTS, *FIRST, *SECOND, FREE)
ENERGIES = ("spm_read_j", "spm_write_j", "leakage_j", "dram_j", "mac_j")


@dataclass(frozen=True)
class RetentionCase:
    """A network, trained with one design of two banks."""

    network: str
    design: str
    batch: int = BATCH


def relaxed(limit_ms: float | None) -> Technology:
    """Return STT-MRAM with relaxed writes, whose contents last so long; None: for ever."""
    plain = load_technology(TECHNOLOGY)
    points = tuple(
        replace(
            point,
            write_energy_pj=SAVED * point.write_energy_pj,
            write_latency_ns=SAVED * point.write_latency_ns,
        )
        for point in plain.points
    )
    retention_ns = None if limit_ms is None else 1e6 * limit_ms
    return replace(plain, name="relaxed", points=points, retention_ns=retention_ns)


def banks(design: str) -> list[BankOf]:
    """Return two banks of one size; streams pass by the first, and are not kept."""
    plain, lasting = load_technology(TECHNOLOGY), relaxed(None)
    pairs = {
        LASTS: (plain, plain),
        FREE: (lasting, lasting),
        **{name: (relaxed(limit), plain) for name, limit in FIRST.items()},
        **{name: (plain, relaxed(limit)) for name, limit in SECOND.items()},
    }
    return [BankOf(spm_bytes=BANK_BYTES, technology=each) for each in pairs[design]]


def scheduled(case: RetentionCase) -> list[Row]:
    """Schedule for the least energy, verified, with a bound."""
    graph = load_network(case.network, batch=case.batch, training=True)
    machine = with_banks(load_machine(MACHINE), banks(case.design))
    objective = objective_named("energy", machine)
    request = Request(objective=objective, tolerance=1e-2, threads=1)
    result = solve(lower(graph, machine, mapper="panel"), "banks", request)
    totals = result.totals
    if totals is None:
        raise ValueError(f"banks found no schedule of {case.network}, {case.design}")
    found = energy_report(totals, machine)
    written = [float(size) for size in totals.bank_write_bytes]
    return [
        {
            "network": case.network,
            "batch": case.batch,
            "design": case.design,
            "time_s": found.time_s,
            **{name: getattr(found, name) for name in ENERGIES},
            "dram_bytes": totals.traffic_bytes,
            "written_bytes": sum(written),
            "relaxed_bytes": {LASTS: 0.0, FREE: sum(written)}.get(
                case.design, written[case.design in SECOND]
            ),
            "moved_bytes": totals.moved_bytes,
            "status": str(result.status),
            **{
                name: None if exact is None else in_unit(objective, machine, exact)[0]
                for name, exact in (("value", result.value), ("bound", result.bound))
            },
            "verified": result.verified,
        }
    ]


def measures(rows: pd.DataFrame) -> pd.DataFrame:
    """Add energies of the scratchpad and of the system."""
    spm = rows.spm_read_j + rows.spm_write_j + rows.leakage_j
    return rows.assign(spm_j=spm, system_j=spm + rows.dram_j + rows.mac_j)


def against(rows: pd.DataFrame, design: str, column: str, base: str = LASTS) -> pd.Series:
    """Return what a design takes over what another does, by network."""
    own, other = (rows[rows.design == each].set_index("network")[column] for each in (design, base))
    return own / other


def write_energy_saved(design: str, rows: pd.DataFrame) -> float:
    """Return how many times less energy writes take, mean of networks."""
    return float(1 / against(rows, design, "spm_write_j").mean())


# The factor of a write is put in: what follows is how many writes have it.
CLAIMS = [
    PaperFigure(
        f"write energy, times less (over 2): {design}",
        2.0,
        partial(write_energy_saved, design),
        is_input=True,
    )
    for design in DESIGNS[1:]
]


def claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate what the abstract says of writes, beside schedules of each design."""
    lines = []
    for each in CLAIMS:
        value = each.found(rows)
        cells = [each.cell(value), each.deviation(value), each.verdict(value)]
        lines.append([each.text, f"{each.paper:.2f}", *cells])
    return tabulated(["figure", "paper", "schedules found", "deviation", "verdict"], lines)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate means of networks by design."""
    lines = []
    for design in DESIGNS:
        own = rows[rows.design == design]
        shared = (own.relaxed_bytes / own.written_bytes).mean()
        ratios = [
            against(rows, design, column).mean()
            for column in ("spm_write_j", "spm_j", "system_j", "dram_bytes", "time_s")
        ]
        over = (own.value / own.bound - 1).max()
        lines.append([design, in_percent(shared), *map(change, ratios), percent(over)])
    heads = ["design", "written relaxed, %", "write energy", "energy of the scratchpad"]
    return tabulated(
        [*heads, "system energy", "DRAM traffic", "time", "gap to the bound, at most"], lines
    )


def by_network(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate system energy and the certified gap of each network and design."""
    lines = []
    for network in NETWORKS:
        own = rows[rows.network == network].set_index("design")
        ratios = own.system_j / own.system_j[LASTS]
        gaps = own.value / own.bound - 1
        cells = [f"{change(ratios[name])} ({percent(gaps[name])})" for name in DESIGNS[1:]]
        lines.append([network, *cells])
    return tabulated(["network", *DESIGNS[1:]], lines)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate the claim, then means, then networks."""
    rows = measures(rows)
    return {
        "Figures of the paper": claims(rows),
        "Against banks whose contents last, mean of networks": summary(rows),
        "System energy against banks whose contents last (gap to the bound)": by_network(rows),
    }


STUDY = Study(
    file=__file__,
    cases=lambda: {
        f"{network} {design}": RetentionCase(network, design)
        for network in NETWORKS
        for design in DESIGNS
    },
    quick=RetentionCase("squeezenet", "relaxed second, 1 ms", batch=1),
    work=scheduled,
    tables=tables,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
