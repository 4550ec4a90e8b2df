"""What the batch size is worth, at a small and a large capacity."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import MB, Study, Sweep, Table, megabytes, sweeps
from results.shared.plots import line_panels
from results.shared.thesis import BRIEF, MACHINE, QUICK, QUICKER, TITLES, case
from spmopt.sweeps.work import SolveOptions

SIZES = (24 * MB, 400 * MB)
BATCHES = (8, 16, 32, 64, 128, 256)
KINDS = ("tsai", "bound")


def cases() -> dict[str, Sweep]:
    """GNMT apart: its bound is that of ``page``, which takes a minute; tsai needs none."""
    slow = SolveOptions(tolerance=1e-2, time_limit_s=120.0)
    return sweeps(
        Sweep(part, case(name, SIZES, batch=batch), schedulers, search)
        for part, names, batches, schedulers, search in (
            ("small", QUICKER, BATCHES, ("tsai", "fluid"), SolveOptions()),
            ("gnmt", ("gnmt",), BATCHES, ("tsai",), BRIEF),
            ("gnmt optimum", ("gnmt",), (8, 32, 128), ("page",), slow),
        )
        for name in names
        for batch in batches
    )


def curve(rows: pd.DataFrame, name: str, size: int, kind: str) -> pd.Series:
    """Seconds per sample of the policy, or of the bound, by batch size where it is known."""
    own = rows[(rows.network == name) & (rows.spm_bytes == size)]
    own = own[(own.scheduler == "tsai") == (kind == "tsai")].set_index("batch").sort_index()
    found = own["time_s" if kind == "tsai" else "bound"]
    return found / found.index


def spread(known: pd.Series) -> float:
    """How much the slowest sample takes more than the fastest, as a share."""
    return float(known.max() / known.min() - 1)


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Times per sample."""
    for size in SIZES:
        found = []
        for name, title in TITLES.items():
            for kind in KINDS:
                known = curve(rows, name, size, kind)
                cells = [f"{1e3 * known[n]:#.4g}" if n in known else "-" for n in BATCHES]
                few = f" (of {len(known)})" if len(known) < len(BATCHES) else ""
                best = f"{known.idxmin()}{few}"
                found.append([title, kind, *cells, best, f"{100 * spread(known):.1f}"])
        heads = ["network", "of", *map(str, BATCHES), "best batch", "spread, %"]
        yield Table(title=f"ms per sample at {megabytes(size)}", heads=heads, lines=found, left=2)


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Time per sample against batch: a row of panels for each capacity."""
    labels = dict(zip(("tsai", "certified bound"), KINDS, strict=True))
    panels = {
        f"ms per sample, {megabytes(size)}": {
            title: {label: 1e3 * curve(rows, name, size, kind) for label, kind in labels.items()}
            for name, title in TITLES.items()
        }
        for size in SIZES
    }
    title = (
        f"Time of a training step per sample, by batch size\n{MACHINE}, training, lowering ideal, "
        "objective time"
    )
    return line_panels(title, panels, "batch, samples", BATCHES)


STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
