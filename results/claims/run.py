"""The figures of Tsai's thesis, chapter 5, beside the same policy here and beside the optimum."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared.common import Tables, tabulated
from results.shared.thesis import CLAIMS, LIMIT, LISTED, ThesisClaim, share_of, shares, thesis_study

ELSEWHERE = {
    "speedup": "616 to 1555 GB/s: lines converge with capacity, except MobileNetV2",
    "batch": "batch: ResNet-50, Transformer flat; MobileNetV2 prefers small; GNMT, see there",
}


def value(claim: ThesisClaim, setting: str, rows: pd.DataFrame) -> float | None:
    """Return percents; a setting is tsai, listed, assumed, assumed listed or optimum."""
    if claim.is_share:
        return share_of(rows, claim, setting)
    suffix = "-gnmt" if claim.network == "gnmt" else ""
    part, faster = f"time{suffix}", f"faster{suffix}"
    column = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    if "assumed" in setting:
        part, faster = "assumed", "assumed-faster"
    if setting == "optimum":
        part = f"traffic{suffix}" if claim.kind == "traffic" else part
        return claim.found(rows, "bound", part, faster, "fluid")
    return claim.found(rows, column, part, faster, LISTED if "listed" in setting else "tsai")


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate one line for each claim."""
    lines = []
    for claim in CLAIMS:
        lines.append([claim.text, claim.quoted])
        for setting in ("tsai", "optimum", "assumed"):
            found = value(claim, setting, rows)
            lines[-1].append(claim.cell(found))
            if setting != "optimum":
                off = 0.0 if found is None else claim.off(found)
                bold = "**" if abs(off) > LIMIT else ""
                lines[-1].append(f"{bold}{off:+.1f}{bold}")
    lines += [
        [text, *[""] * 5, f"[{name}](../{name}/README.md)"] for name, text in ELSEWHERE.items()
    ]
    heads = ["claim", "paper, %", "tsai, %", "deviation", "optimum", "assumed", "its deviation"]
    return {"": tabulated(heads, lines)}


SHARES = {"tsai": ("tsai", "tsai"), "optimum": ("tsai", "page"), "assumed": ("all", "tsai")}
STUDY = thesis_study(__file__, tables, figures=lambda: shares(SHARES))

if __name__ == "__main__":
    sys.exit(STUDY.main())
