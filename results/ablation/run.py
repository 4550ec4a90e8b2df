"""What each part of the policy of Tsai's thesis is worth, and what the order alone is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import (
    MB,
    Study,
    Sweep,
    Table,
    change,
    megabytes,
    milliseconds,
    percent,
    sweeps,
)
from results.shared.thesis import LISTED, PATIENT, QUICK, QUICKER, at, case, titled

SIZES = (24 * MB, 128 * MB, 500 * MB)
VARIANTS = {
    "complete": "tsai",
    "listed order": LISTED,
    "prefetch next only": "tsai:prefetch=next",
    "no prefetch": "tsai:prefetch=none",
    "offload when full": "tsai:offload=full",
    "all three off": "tsai:order=listed:prefetch=next:offload=full",
}


def cases() -> dict[str, Sweep]:
    """All variants; GNMT, whose bounds take a minute each, with more time for them."""
    schedulers = (*VARIANTS.values(), "fluid")
    small = (Sweep("small", case(name, SIZES), schedulers) for name in QUICKER)
    return sweeps((*small, Sweep("gnmt", case("gnmt", SIZES), schedulers, PATIENT)))


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Times, gaps to the bound of the own order, and the bounds of both orders."""
    time, gap, bound = (
        {name: at(rows, column, scheduler=of) for name, of in VARIANTS.items()}
        for column in ("time_s", "gap", "bound")
    )
    listed, complete = at(rows, "bound", scheduler="fluid"), time["complete"]
    others = list(VARIANTS)[1:]
    points = [(point, [titled(point[0]), megabytes(point[1])]) for point in complete.index]
    yield Table(
        title="Time, and what it is with a part switched off",
        heads=["network", "SPM", "complete, ms", *others],
        lines=[
            [*about, milliseconds(complete[p]), *(change(time[v][p] / complete[p]) for v in others)]
            for p, about in points
        ],
        left=2,
    )
    yield Table(
        title="Gap to the certified bound of the own order",
        heads=["network", "SPM", *VARIANTS],
        lines=[[*about, *(percent(of[p]) for of in gap.values())] for p, about in points],
        left=2,
    )
    own, other = bound["complete"], time["listed order"]
    yield Table(
        title="What the order alone is worth: bounds",
        heads=[
            *("network", "SPM", "listed, ms", "depth-first, ms"),
            *("bound changes", "policy changes"),
        ],
        lines=[
            [*about, *map(milliseconds, (listed[p], own[p])), *map(change, ratios)]
            for p, about in points
            for ratios in [(own[p] / listed[p], complete[p] / other[p])]
        ],
        left=2,
    )


STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables)

if __name__ == "__main__":
    sys.exit(STUDY.main())
