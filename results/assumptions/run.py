"""Which assumption brings which figure of Tsai's thesis nearer: each by itself, and all."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
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
    QUICK,
    READINGS,
    TITLES,
    Claim,
    applies,
    case,
    shares,
)

COLUMNS = {
    **{name: (name, "tsai") for name in READINGS},
    "listed": ("tsai", LISTED),
    "all, listed": ("all", LISTED),
}
"""Reading and scheduler of each column of the table."""


def cases() -> dict[str, Sweep]:
    """Both orders under every reading, with the throughput of the thesis and with more."""
    sizes = {
        name: sorted({24 * MB} | {c.at_mb * MB for c in CLAIMS if c.network == name})
        for name in TITLES
    }
    sizes["transformer"].remove(180 * MB)  # of a share
    return sweeps(
        Sweep(part, case(network, capacities, name, throughput=rate), ("tsai", LISTED), BRIEF)
        for name in READINGS
        for part, rate, few in ((name, FEW, None), (f"{name}-faster", MANY, [24 * MB]))
        for network in TITLES
        for capacities in [few or sizes[network]]
        if applies(name, network)
    )


def value(
    claim: Claim, column: str, rows: pd.DataFrame, figures: Mapping[str, float]
) -> float | None:
    """What was found, in percent; None where the reading changes nothing of the network."""
    if claim.is_share:
        return figures.get(f"{claim.kind} {claim.network} {column}")
    reading, scheduler = COLUMNS[column]
    if not applies(reading, claim.network):
        return None
    what = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    return claim.found(rows, what, reading, f"{reading}-faster", scheduler)


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """One line for each figure."""
    lines = [
        [claim.text, claim.told]
        + [claim.cell(value(claim, column, rows, figures), bold=True) for column in COLUMNS]
        for claim in CLAIMS
    ]
    yield Table(heads=["claim", "paper, %", *COLUMNS], lines=lines)


STUDY = Study(
    file=__file__, cases=cases, quick=QUICK, tables=tables, figures=lambda: shares(COLUMNS)
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
