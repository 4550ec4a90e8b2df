"""A sweep as curves: which quantities there are, over what, and what each scheduler comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.core.errors import InputError
from spmopt.reporting.curves.columns import (
    MEASURED,
    SWEPT,
    Quantity,
    Row,
    fix,
    number,
    number_of,
    sweep,
    title,
    varying,
)
from spmopt.reporting.curves.layout import COVER, LISTED, Chart, chart_of
from spmopt.reporting.plain import HEADS, Json, column, plain, table
from spmopt.reporting.quantities import percent, share

_OF_OBJECTIVE = {"time": "s", "replay": "s", "traffic": "B", "energy": "J"}
_HIDDEN = 0.25
"""Part of the height of curves below which a gap between them is hard to see."""
_MOST_PANELS = 60
"""Panels of a view that is only one of several."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """All that is shown of a sweep; the first view is the one to begin with.

    ``subject`` is what was swept, ``conditions`` what all rows have in common. ``accounts`` are
    what each scheduler comes to: how many rows have a verified schedule, how many of them are
    proven optimal, the mean and the worst relative distance to the certified bound (None where no
    row has one), and where the worst one is, in words.
    """

    subject: str
    conditions: str
    rows: tuple[Row, ...]
    names: tuple[str, ...]
    views: tuple[Chart, ...]
    accounts: tuple[Row, ...]
    remarks: tuple[str, ...]

    def view(self, x: str | None = None, y: str | None = None) -> Chart:
        """Return the chart of these quantities, by column or by label; by default the first.

        Raises
        ------
        InputError
            There is none.
        """
        for each in self.views:
            if x in (None, each.x.key, each.x.label) and y in (None, each.y.key, each.y.label):
                return each
        known = "; ".join(f"{each.y.label} over {each.x.label}" for each in self.views)
        raise InputError(
            f"no curves of {y or 'anything'} over {x or 'anything'}: there are {known}"
        )


def curves_of(rows: Sequence[Row], names: Sequence[str], extra: Sequence[str] = ()) -> Curves:
    """Lay out the rows of a sweep.

    Parameters
    ----------
    rows
        By column, as ``spmopt.sweeps.rows`` has them.
    names
        The columns, in order.
    extra
        Those of other settings swept.

    Raises
    ------
    InputError
        No row has a schedule or a bound.
    """
    rows = tuple(rows)
    keys = varying(rows, extra)
    ranks = _ranks(rows)
    views, left_out = _views(rows, keys, extra, ranks)
    if not views:
        raise InputError("no row has a schedule or a bound; nothing can be drawn")
    networks = list(dict.fromkeys(str(row["network"]) for row in rows))
    many = len(networks) > 3
    named = f"{len(networks)} networks" if many else ", ".join(networks)
    return Curves(
        subject=named,
        conditions=fix(rows, extra),
        rows=rows,
        names=tuple(names),
        views=views,
        accounts=tuple(_account(rows, name, keys) for name in ranks),
        remarks=(*_remarks(rows, views), *left_out),
    )


def opening(curves: Curves) -> int:
    """Return the number of the view that shows most at first.

    That is the first, unless curves and bound run into each other in it: where they fall so far
    along x that in most panels the largest gap is but a small part of the height, the gap itself
    is what is shown.
    """
    first = curves.views[0]
    gaps = [at for at, each in enumerate(curves.views) if each.y.key == "gap" and each.x == first.x]
    heights = [height for panel in first.panels if (height := panel.height_of_gaps) > 0]
    return gaps[0] if gaps and heights and np.median(heights) < _HIDDEN else 0


def curves_record(curves: Curves) -> Json:
    """Return all that is shown of a sweep, for a page; points are numbers of rows."""
    opens = opening(curves)
    first = curves.views[opens]
    return {
        "title": f"{curves.subject}: {first.y.label} over {first.x.label}",
        "opens": opens,
        "subtitle": curves.conditions,
        "remarks": list(curves.remarks),
        "rows": {name: [row[name] for row in curves.rows] for name in curves.names},
        "views": plain(curves.views),
        "tables": {"accounts": _accounts(curves), "rows": _rows(curves)},
    }


def _accounts(curves: Curves) -> Json:
    columns = [
        column("scheduler", None),
        column("schedules"),
        column("optimal", title="proven optimal"),
        column("mean_gap", "change"),
        column("worst_gap", "change"),
        column("worst_at", None),
    ]
    rows = [list(account.values()) for account in curves.accounts]
    return table("Gaps of each scheduler", "schedulers.csv", columns, rows)


def _rows(curves: Curves) -> Json:
    """Return all rows; columns that are alike in all of them come last."""
    alike = {name: len({row[name] for row in curves.rows}) == 1 for name in curves.names}
    names = sorted(curves.names, key=lambda name: alike[name])
    units = {each.key: each.unit for each in (*sweep(curves.rows), *MEASURED)}
    units |= {"gap": "change", "solve_s": "s", "area_mm2": "", "dma_setup_cycles": ""}
    titles = {each.key: each.label for each in (*SWEPT, *MEASURED)}
    columns = [
        column(name, units=_OF_OBJECTIVE, of=names.index("objective"))
        if name in ("value", "bound")
        else column(
            name,
            units.get(name),
            titles.get(name, ""),
            help=HEADS.get(name, f"Setting of the machine: {name}."),
        )
        for name in names
    ]
    rows = [[row[name] for name in names] for row in curves.rows]
    return table("Rows of the sweep", "rows.csv", columns, rows)


def _ranks(rows: Sequence[Row]) -> dict[str, int]:
    """Return places of the schedulers that have schedules, by when they come first."""
    names = dict.fromkeys(str(row["scheduler"]) for row in rows if row["verified"] is not None)
    return {name: rank for rank, name in enumerate(names)}


def _views(
    rows: Sequence[Row], keys: Sequence[str], extra: Sequence[str], ranks: dict[str, int]
) -> tuple[tuple[Chart, ...], tuple[str, ...]]:
    """Lay out what can be, the objective over the longest range first; and say the rest out."""
    found: list[Chart] = []
    crowded: list[str] = []
    for x in _ranges(rows, keys, extra):
        others = [key for key in keys if key != x.key]
        for y in _measures(rows):
            view = chart_of(rows, x, y, others, ranks)
            if view is None:
                continue
            if found and len(view.panels) > _MOST_PANELS:
                crowded.append(f"{y.label} over {x.label} ({len(view.panels)} panels)")
            else:
                found.append(view)
    said = f"Left out, as there would be too many panels: {', '.join(crowded)}."
    return tuple(found), (said,) if crowded else ()


def _ranges(rows: Sequence[Row], keys: Sequence[str], extra: Sequence[str]) -> list[Quantity]:
    """Return numbers that vary, most values first; without any the first setting that does."""

    def values(each: Quantity) -> int:
        return len({row[each.key] for row in rows})

    found = [each for each in number_of(rows, extra) if each.key in keys]
    if found:
        return sorted(found, key=values, reverse=True)
    for key in ("machine", *extra, "network", *keys):
        if key in keys and all(isinstance(row[key], str) for row in rows):
            return [Quantity(key=key, label=key)]
    return [number_of(rows, extra)[0]]


def _measures(rows: Sequence[Row]) -> list[Quantity]:
    """Return what was minimized first; figures that are nothing everywhere are not known."""
    objectives = {row["objective"] for row in rows}
    known = [each for each in MEASURED if any(row.get(each.key) for row in rows)]
    bounds = [each for each in MEASURED if each.label in objectives and each not in known]
    return sorted((*known, *bounds), key=lambda each: each.label not in objectives)


def _account(rows: Sequence[Row], name: str, keys: Sequence[str]) -> Row:
    own = [row for row in rows if row["scheduler"] == name and row["verified"] is not None]
    known = [row for row in own if row["gap"] is not None]
    gaps = [number(row, "gap") for row in known]
    worst = known[int(np.argmax(gaps))] if known else None
    return {
        "scheduler": name,
        "schedules": len(own),
        "optimal": sum(row["status"] == "optimal" for row in own),
        "mean_gap": float(np.mean(gaps)) if gaps else None,
        "worst_gap": max(gaps) if gaps else None,
        "worst_at": "" if worst is None else title(worst, keys),
    }


def _remarks(rows: Sequence[Row], views: Sequence[Chart]) -> Iterator[str]:
    made = [row for row in rows if row["verified"] is not None]
    if made:
        verified = sum(row["verified"] is True for row in made)
        said = "all" if verified == len(made) else f"{verified}"
        yield f"{len(made)} schedules, {said} verified when they were made."
    if any(panel.band is not None for panel in views[0].panels):
        orders = dict.fromkeys(panel.band.order for panel in views[0].panels if panel.band)
        yield (
            f"Band: from the certified bound to the best schedule, at each point; the optimum of "
            f"the {' or '.join(orders)} order lies in it. Between points it guides the eye."
        )
    others = {str(row["order"]) for row in made if row["order"]} - {LISTED, COVER}
    for own, said in (
        (others, "in another order, whose optimum is another; gaps are to its own bound."),
        (
            {COVER},
            "in fusion tiles, on the cover that was chosen; gaps are to the bound over the "
            "fusion space.",
        ),
    ):
        names = sorted({str(row["scheduler"]) for row in made if row["order"] in own})
        if names:
            yield f"{', '.join(names)}: {said}"
    bounds = [row for row in rows if row["verified"] is None and row["gap"] is not None]
    if bounds:
        most = max(number(row, "gap") for row in bounds)
        yield f"The relaxation is enclosed to within {percent(most).removeprefix('+')}."
    none = Counter(str(row["status"]) for row in rows if row["value"] is None)
    for status, count in none.items():
        yield f"{count} of {len(rows)} rows ({share(count / len(rows))}) are {status}."
