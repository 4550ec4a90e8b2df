"""The figures of Tsai's thesis, chapter 5, beside the same policy here and beside the optimum."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import MB, Study, Sweep, Table, sweeps
from results.shared.thesis import (
    BRIEF,
    CLAIMS,
    FEW,
    LISTED,
    MANY,
    PATIENT,
    QUICK,
    QUICKER,
    Claim,
    case,
    shares,
)
from spmopt.sweeps.work import SolveOptions

SIZES = tuple(size * MB for size in (24, 128, 296, 442, 500))
ENDS, LEAST = (SIZES[0], SIZES[-1]), SIZES[:1]
ELSEWHERE = {
    "speedup": "616 to 1555 GB/s: lines converge with capacity, except MobileNetV2",
    "batch": "batch: ResNet-50, Transformer flat; MobileNetV2 prefers small; GNMT, see there",
}


def cases() -> dict[str, Sweep]:
    """Time and traffic by capacity, more throughput, and all under the assumptions."""
    traffic, all_four, gnmt = SolveOptions(objective="traffic"), (*QUICKER, "gnmt"), ("gnmt",)
    slow = replace(PATIENT, objective="traffic")
    tsai, fluid = ("tsai",), ("fluid",)
    return sweeps(
        Sweep(part, case(name, sizes, reading, throughput=throughput), schedulers, search)
        for part, names, sizes, throughput, reading, schedulers, search in (
            ("time", QUICKER, SIZES, FEW, "tsai", tsai + fluid, SolveOptions()),
            ("traffic", QUICKER, SIZES, FEW, "tsai", fluid, traffic),
            ("faster", QUICKER, LEAST, MANY, "tsai", tsai + fluid, SolveOptions()),
            ("assumed", all_four, SIZES, FEW, "all", (*tsai, LISTED), BRIEF),
            ("assumed-faster", all_four, LEAST, MANY, "all", (*tsai, LISTED), BRIEF),
            ("traffic-gnmt", gnmt, ENDS, FEW, "tsai", fluid, slow),
            ("time-gnmt", gnmt, ENDS, FEW, "tsai", (*tsai, *fluid, LISTED), PATIENT),
            ("faster-gnmt", gnmt, LEAST, MANY, "tsai", (*tsai, *fluid, LISTED), PATIENT),
        )
        for name in names
    )


def value(
    claim: Claim, setting: str, rows: pd.DataFrame, figures: Mapping[str, float]
) -> float | None:
    """What was found, in percent; a setting is tsai, listed, assumed, assumed listed, optimum."""
    if claim.is_share:
        return figures.get(f"{claim.kind} {claim.network} {setting}")
    suffix = "-gnmt" if claim.network == "gnmt" else ""
    part, faster = f"time{suffix}", f"faster{suffix}"
    column = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    if "assumed" in setting:
        part, faster = "assumed", "assumed-faster"
    if setting == "optimum":
        column = "bound"
        part = f"traffic{suffix}" if claim.kind == "traffic" else part
        return claim.found(rows, column, part, faster, "fluid")
    return claim.found(rows, column, part, faster, LISTED if "listed" in setting else "tsai")


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """One line for each claim."""
    lines = []
    for claim in CLAIMS:
        cells = [claim.text, claim.told]
        for setting in ("tsai", "optimum", "assumed"):
            found = value(claim, setting, rows, figures)
            cells.append(claim.cell(found))
            if setting != "optimum":
                off = 0.0 if found is None else claim.off(found)
                bold = "**" if abs(off) > 10 else ""
                cells.append(f"{bold}{off:+.1f}{bold}")
        lines.append(cells)
    lines += [
        [text, *[""] * 5, f"[{name}](../{name}/README.md)"] for name, text in ELSEWHERE.items()
    ]
    heads = ["claim", "paper, %", "tsai, %", "deviation", "optimum", "assumed", "its deviation"]
    yield Table(heads=heads, lines=lines)


STUDY = Study(
    file=__file__,
    cases=cases,
    quick=QUICK,
    tables=tables,
    figures=lambda: shares(
        {"tsai": ("tsai", "tsai"), "optimum": ("tsai", "page"), "assumed": ("all", "tsai")}
    ),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
