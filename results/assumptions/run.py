"""Which assumption brings which figure of Tsai's thesis nearer: each by itself, and all."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared.common import MB, Study, Tables, sweeps, tabulated
from results.shared.thesis import (
    BRIEF,
    CLAIMS,
    FEW,
    LISTED,
    MANY,
    QUICK,
    READINGS,
    TITLES,
    ThesisClaim,
    applies,
    case,
    share_of,
    shares,
)
from spmopt.sweeps.run import Sweep

SCHEDULERS = ("tsai", LISTED)
COLUMNS = {
    **{name: (name, "tsai") for name in READINGS},
    "listed": ("tsai", LISTED),
    "all, listed": ("all", LISTED),
}
"""Reading and scheduler of each column of the table."""


def cases() -> dict[str, Sweep]:
    """Declare both orders under every reading, with the throughput of the thesis and with more."""
    sizes = {
        name: sorted({24 * MB} | {c.at_mb * MB for c in CLAIMS if c.network == name})
        for name in TITLES
    }
    sizes["transformer"].remove(180 * MB)  # of a share
    return sweeps(
        (part, case(network, few or sizes[network], name, throughput=rate), SCHEDULERS, BRIEF)
        for name in READINGS
        for part, rate, few in ((name, FEW, None), (f"{name}-faster", MANY, [24 * MB]))
        for network in TITLES
        if applies(name, network)
    )


def value(claim: ThesisClaim, column: str, rows: pd.DataFrame) -> float | None:
    """Return what was found, in percent; None where the reading changes nothing of the network."""
    if claim.is_share:
        return share_of(rows, claim, column)
    reading, scheduler = COLUMNS[column]
    if not applies(reading, claim.network):
        return None
    what = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    return claim.found(rows, what, reading, f"{reading}-faster", scheduler)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate one line for each figure."""
    lines = [
        [claim.text, claim.quoted]
        + [claim.cell(value(claim, column, rows), bold=True) for column in COLUMNS]
        for claim in CLAIMS
    ]
    return {"": tabulated(["claim", "paper, %", *COLUMNS], lines)}


STUDY = Study(
    file=__file__, cases=cases, quick=QUICK, tables=tables, figures=lambda: shares(COLUMNS)
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
