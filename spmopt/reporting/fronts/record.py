"""A search as plain data, for a page."""

from __future__ import annotations

from spmopt.reporting.fronts.front import TRIAL, Front
from spmopt.reporting.plain import Json, column, plain, table


def front_record(front: Front) -> Json:
    """Return all that is shown of a search; rows of the table are the trials."""
    return {
        "title": f"{front.name}: {front.subject}",
        "lines": list(front.lines),
        "axes": plain(front.axes),
        "begin": [axis.key for axis in front.pair()],
        "bounds_only": front.bounds_only,
        "top": front.top,
        "members": list(front.members),
        "trials": plain(front.trials),
        "shares": plain(front.shares),
        "table": _trials(front),
        "prices": _prices(front),
    }


def _trials(front: Front) -> Json:
    fields = list(dict.fromkeys(key for trial in front.trials for key in trial.fields))
    figures = [axis for axis in front.axes if axis.key not in (TRIAL, *fields)]
    bounded = {axis.key: " ≥" * (front.bounds_only and axis.of_schedules) for axis in figures}
    units = {axis.key: "change" if axis.unit == "part" else axis.unit for axis in figures}
    columns = [
        column("trial"),
        column("state", None),
        *(column(name, None) for name in fields),
        *(column(a.key, units[a.key], f"{a.label}{bounded[a.key]}") for a in figures),
        column("gap", "change"),
        column("said", None, "proof or remark"),
    ]
    rows = [
        (
            trial.number,
            trial.state,
            *(trial.fields.get(name) for name in fields),
            *(trial.figures.get(axis.key) for axis in figures),
            trial.gap,
            "; ".join(trial.said),
        )
        for trial in front.trials
    ]
    return table("Trials", "trials.csv", columns, rows)


def _prices(front: Front) -> Json:
    """What a little more of each resource saves."""
    unit = front.worth[0].unit if front.worth else ""
    titles = {
        "bound": "bound",
        "per_mb": "saved per extra MB of SPM",
        "per_gbps": "per extra GB/s of DRAM",
        "per_pe": "per extra PE",
    }
    columns = [column("trial"), column("network", None)]
    columns += [column(name, unit, title) for name, title in titles.items()]
    rows = [
        (one.trial, one.network, *(getattr(one, name) for name in titles)) for one in front.worth
    ]
    return table("Shadow prices at the bound of each trial", "prices.csv", columns, rows)
