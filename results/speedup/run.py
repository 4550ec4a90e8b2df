"""What more bandwidth and more throughput are worth, against capacity."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import MB, Study, Sweep, Table, megabytes, milliseconds, signed, sweeps
from results.shared.plots import line_panels
from results.shared.thesis import (
    BRIEF,
    CLAIMS,
    FAST,
    FEW,
    MACHINE,
    MANY,
    QUICK,
    QUICKER,
    SLOW,
    TITLES,
    case,
)
from spmopt.sweeps.work import SolveOptions

SIZES = tuple(size * MB for size in (24, 48, 64, 96, 128, 192, 256, 384, 500, 750, 1000))
GNMT = (24 * MB, 128 * MB, 500 * MB)
BASE, UPGRADES = (SLOW, FEW), {"1555 GB/s": (FAST, FEW), "23.04 TFLOP/s": (SLOW, MANY)}
KINDS = ("tsai", "bound")


def cases() -> dict[str, Sweep]:
    """GNMT apart: its bound is that of ``page``, which takes a minute; tsai needs none."""
    slow = SolveOptions(tolerance=1e-2, time_limit_s=120.0)
    return sweeps(
        Sweep(part, case(name, sizes, bandwidth=rate, throughput=operations), schedulers, search)
        for part, names, sizes, schedulers, search in (
            ("small", QUICKER, SIZES, ("tsai", "fluid"), SolveOptions()),
            ("gnmt", ("gnmt",), GNMT, ("tsai",), BRIEF),
            ("gnmt optimum", ("gnmt",), GNMT, ("page",), slow),
        )
        for name in names
        for rate, operations in (BASE, *UPGRADES.values())
    )


def seconds(rows: pd.DataFrame, machine: tuple[int, int], kind: str) -> pd.Series:
    """Time of the policy, or the bound, by network and capacity."""
    own = rows[(rows.dram_bytes_per_s == machine[0]) & (rows.operations_per_s == machine[1])]
    own = own[(own.scheduler == "tsai") == (kind == "tsai")]
    return own.set_index(["network", "spm_bytes"])["time_s" if kind == "tsai" else "bound"]


def gain(rows: pd.DataFrame, upgrade: str, kind: str) -> pd.Series:
    """How much faster it is, as a share: 0.2 for 1.2 times as fast."""
    return seconds(rows, BASE, kind) / seconds(rows, UPGRADES[upgrade], kind) - 1


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Speedups at every point."""
    base = [seconds(rows, BASE, kind) for kind in KINDS]
    gains = [gain(rows, upgrade, kind) for upgrade in UPGRADES for kind in KINDS]
    claimed = {(c.network, 24 * MB): c.told for c in CLAIMS if c.kind == "faster"}
    found = []
    for p in base[0].index:
        cells = [*(milliseconds(of[p]) for of in base), *(signed(100 * of[p]) for of in gains)]
        found.append([TITLES[p[0]], megabytes(p[1]), *cells, claimed.get(p, "-")])
    heads = [
        *("network", "SPM", "tsai, ms", "bound, ms", "1555 GB/s: tsai, %", "at best, %"),
        *("23.04 TFLOP/s: tsai, %", "at best, %", "thesis, tsai, %"),
    ]
    yield Table(heads=heads, lines=found, left=2)


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Speedups against capacity: a row of panels for each upgrade."""

    def curves(name: str, upgrade: str) -> dict[str, pd.Series]:
        policy, best = (100 * gain(rows, upgrade, kind)[name] for kind in KINDS)
        shown = {"tsai": policy, "at best (gain of the bounds)": best}
        return {label: found.set_axis(found.index / MB) for label, found in shown.items()}

    panels = {
        f"faster with {upgrade}, %": {t: curves(name, upgrade) for name, t in TITLES.items()}
        for upgrade in UPGRADES
    }
    title = (
        "What 1555 instead of 616 GB/s, and 23.04 instead of 13.45 TFLOP/s, gain\n"
        f"{MACHINE}, training, batch 32 (Transformer 128), lowering ideal, objective time"
    )
    return line_panels(title, panels, "scratchpad, MB", (24, 128, 1000), cut=True)


STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
