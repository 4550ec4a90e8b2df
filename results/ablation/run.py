"""What each part of the policy of Tsai's thesis is worth, and what the order alone is."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared.common import Tables, change, megabytes, milliseconds, percent, texts
from results.shared.thesis import LISTED, TITLES, thesis_study

VARIANTS = {
    "complete": "tsai",
    "listed order": LISTED,
    "prefetch next only": "tsai:prefetch=next",
    "no prefetch": "tsai:prefetch=none",
    "offload when full": "tsai:offload=full",
    "all three off": "tsai:order=listed:prefetch=next:offload=full",
}


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate times, gaps to the bound of the own order, and the bounds of both orders."""
    names = {scheduler: name for name, scheduler in VARIANTS.items()}
    by = [rows.network.map(TITLES), rows.spm_bytes.rename("SPM").map(megabytes)]
    by.append(rows.scheduler.replace(names))
    found = rows.groupby(by, sort=False)[["time_s", "gap", "bound"]].first().unstack()
    time, gap, bound = (found[name][[*VARIANTS, "lp-bound"]] for name in ("time_s", "gap", "bound"))
    complete, parts = time["complete"], [*VARIANTS][1:]
    worth = {
        "listed, ms": texts(bound["lp-bound"], milliseconds),
        "depth-first, ms": texts(bound["complete"], milliseconds),
        "bound changes": texts(bound["complete"] / bound["lp-bound"], change),
        "policy changes": texts(complete / time["listed order"], change),
    }
    off = texts(time[parts].div(complete, axis=0), change)
    off.insert(0, "complete, ms", texts(complete, milliseconds))
    return {
        "Time, and what it is with a part switched off": off,
        "Gap to the certified bound of the own order": texts(gap[[*VARIANTS]], percent),
        "What the order alone is worth: bounds": pd.DataFrame(worth),
    }


STUDY = thesis_study(__file__, tables)

if __name__ == "__main__":
    sys.exit(STUDY.main())
