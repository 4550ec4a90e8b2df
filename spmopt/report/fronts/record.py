"""A search as plain data, for a page: columns of trials."""

from __future__ import annotations

from dataclasses import asdict

from spmopt.report.fronts.front import Front, Trial

Json = dict[str, object]


def front_record(front: Front) -> Json:
    """Return all that is shown of a search."""
    first, second = front.pair()
    return {
        "title": f"{front.name}: {front.subject}",
        "lines": list(front.lines),
        "axes": [asdict(axis) for axis in front.axes],
        "begin": [first.key, second.key],
        "bounds_only": front.bounds_only,
        "top": front.top,
        "members": list(front.members),
        "trials": [_trial(trial) for trial in front.trials],
        "shares": [asdict(share) for share in front.shares],
        "worth": [asdict(worth) for worth in front.worth],
    }


def _trial(trial: Trial) -> Json:
    found = {name: getattr(trial, name) for name in Trial.__slots__}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in found.items()
    }
