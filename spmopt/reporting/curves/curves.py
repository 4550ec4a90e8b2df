"""A sweep as curves: charts of its quantities, and accounts of each scheduler."""

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
    is_number,
    number,
    sweep,
    title,
    varying,
)
from spmopt.reporting.curves.layout import FUSED, LISTED, Chart, chart_of
from spmopt.reporting.plain import HEADS, Json, column, table
from spmopt.reporting.quantities import share

_OF_OBJECTIVE = {"time": "s", "replay": "s", "traffic": "B", "energy": "J"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """Charts and accounts of a sweep; the first view is the one to begin with.

    ``subject`` names the networks, ``conditions`` the values that all rows share. ``accounts``
    have for each scheduler the number of verified schedules, of proven optima among them, the mean
    and the worst gap to the certified bound (None where no row has one), and its place in words.
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
    keys = varying(rows, extra)
    verified = (str(row["scheduler"]) for row in rows if row["verified"] is not None)
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(verified))}
    views = tuple(
        view
        for x in _ranges(rows, keys, extra)
        for y in _measures(rows)
        if (view := chart_of(rows, x, y, [key for key in keys if key != x.key], ranks))
    )
    if not views:
        raise InputError("no row has a schedule or a bound; nothing can be drawn")
    networks = list(dict.fromkeys(str(row["network"]) for row in rows))
    return Curves(
        subject=f"{len(networks)} networks" if len(networks) > 3 else ", ".join(networks),
        # The subject stands before them.
        conditions=fix([{**row, "network": None} for row in rows], extra),
        rows=tuple(rows),
        names=tuple(names),
        views=views,
        accounts=tuple(_account(rows, name, keys) for name in ranks),
        remarks=tuple(_remarks(rows, views)),
    )


def curves_tables(curves: Curves) -> list[Json]:
    """Return tables of a page: gaps of each scheduler, and the rows."""
    units = {"scheduler": None, "optimal": "", "mean_gap": "change", "worst_gap": "change"}
    units["worst_at"] = None
    titles = {"optimal": "proven optimal"}
    heads = (
        [column(name, units.get(name, ""), titles.get(name, "")) for name in curves.accounts[0]]
        if curves.accounts
        else []
    )
    rows = [list(account.values()) for account in curves.accounts]
    return [table("Gaps of each scheduler", "schedulers.csv", heads, rows), _rows(curves)]


def _rows(curves: Curves) -> Json:
    """Return all rows, without the columns that are alike in all of them."""
    names = [name for name in curves.names if len({row[name] for row in curves.rows}) > 1]
    units = {each.key: each.unit for each in (*sweep(curves.rows), *MEASURED)}
    units |= {"gap": "change", "solve_s": "s", "area_mm2": "", "dma_setup_cycles": ""}
    aims = {str(row["objective"]) for row in curves.rows}
    # Rows of several objectives have no common unit.
    units |= dict.fromkeys(("value", "bound"), _OF_OBJECTIVE[aims.pop()] if len(aims) == 1 else "")
    titles = {each.key: each.label for each in (*SWEPT, *MEASURED)}
    columns = [
        column(
            name,
            units.get(name),
            titles.get(name, ""),
            help=HEADS.get(name, f"Setting of the machine: {name}."),
        )
        for name in names
    ]
    rows = [[row[name] for name in names] for row in curves.rows]
    return table("Rows of the sweep", "rows.csv", columns, rows)


def _ranges(rows: Sequence[Row], keys: Sequence[str], extra: Sequence[str]) -> list[Quantity]:
    """Return numbers that vary, most values first; without any the first setting that does."""

    def values(each: Quantity) -> int:
        return len({row[each.key] for row in rows})

    settings = (key for key in extra if all(is_number(row[key]) for row in rows))
    known = (*sweep(rows), *(Quantity(key=key, label=key) for key in settings))
    found = [each for each in known if each.key in keys]
    if found:
        # The finest axis makes the best first chart.
        return sorted(found, key=values, reverse=True)
    for key in ("machine", *extra, "network", *keys):
        if key in keys and all(isinstance(row[key], str) for row in rows):
            return [Quantity(key=key, label=key)]
    return [known[0]]


def _measures(rows: Sequence[Row]) -> list[Quantity]:
    """Return the objective first; figures that are 0 or missing everywhere are left out."""
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


_SPACES = {FUSED: "all fusion plans"}


def _remarks(rows: Sequence[Row], views: Sequence[Chart]) -> Iterator[str]:
    made = [row for row in rows if row["verified"] is not None]
    if made:
        verified = sum(row["verified"] is True for row in made)
        said = "all" if verified == len(made) else f"{verified}"
        yield f"{len(made)} schedules, {said} verified when they were made."
    orders = dict.fromkeys(panel.band.order for panel in views[0].panels if panel.band)
    if orders:
        spaces = " or ".join(_SPACES.get(each, f"the {each} order") for each in orders)
        yield (
            f"Band: from the certified bound to the best schedule, at each point; the optimum of "
            f"{spaces} lies in it."
        )
    # The bound of all fusion plans holds layer by layer too.
    within = {LISTED} if FUSED in orders else set[str]()
    others = {str(row["order"]) for row in made if row["order"]} - {*orders} - within
    if orders and others:
        yield f"Schedules in {' or '.join(sorted(others))} order have a bound of their own."
    none = Counter(str(row["status"]) for row in rows if row["value"] is None)
    for status, count in none.items():
        yield f"{count} of {len(rows)} rows ({share(count / len(rows))}) are {status}."
