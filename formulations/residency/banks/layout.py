"""From pages by bank to the rows of a plan: which page lies where, with as few moves as can be."""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.assign import Assignment
from spmopt.core.schedule import BankRows
from spmopt.core.table import Ints

_SCRATCH = -1
_Run = tuple[int, int, int, int]
"""Page, pages, bank, and since which step."""
_Row = tuple[int, int, int, int, int, int]


def bank_rows(found: Assignment) -> BankRows:
    """Make rows of each interval and of the scratch; pages that need not move keep their row."""
    stays = found.segments
    rows: list[_Row] = []
    edges = np.searchsorted(stays.interval, np.arange(stays.tensor.size + 1)).tolist()
    for stay, tensor in enumerate(stays.tensor.tolist()):
        runs: list[_Run] = []
        segments = range(edges[stay], edges[stay + 1])
        for segment in segments:
            now = int(stays.begin[segment])
            runs, left = _rearrange(runs, found.pages[segment], int(stays.first[stay]), now)
            rows += [(tensor, *run, now) for run in left]
        rows += [(tensor, *run, int(stays.end[segments[-1]])) for run in runs]
    for step in np.flatnonzero(found.scratch.sum(axis=1)).tolist():
        page = 0
        for bank, pages in enumerate(found.scratch[step].tolist()):
            if pages:
                rows.append((_SCRATCH, page, pages, bank, step, step + 1))
                page += pages
    return BankRows.of_rows(rows)


def _rearrange(
    runs: list[_Run], wanted: Ints, first: int, now: int
) -> tuple[list[_Run], list[_Run]]:
    """Return runs with ``wanted`` pages in each bank, and those that end because they move."""
    kept: list[_Run] = []
    ended: list[_Run] = []
    loose: list[tuple[int, int]] = []
    missing = wanted.tolist()
    for page, pages, bank, since in runs:
        stay = min(pages, missing[bank])
        missing[bank] -= stay
        if stay:
            kept.append((page, stay, bank, since))
        if stay < pages:
            loose.append((page + stay, pages - stay))
            ended.append((page + stay, pages - stay, bank, since))
    if not runs:
        loose = [(first, sum(missing))]
    for page, pages in loose:
        at, left = page, pages
        for bank, need in enumerate(missing):
            taken = min(left, need)
            if taken:
                kept.append((at, taken, bank, now))
                at, left = at + taken, left - taken
                missing[bank] -= taken
    return kept, ended
