"""What differs between two schedules of one problem, as plain data for a page."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from spmopt.analysis.steps import Reals, sums
from spmopt.core.table import Ints
from spmopt.reporting.analysis import as_lists
from spmopt.reporting.contrast import (
    KeptOtherwise,
    bytes_kept_more,
    gaps,
    require_comparable,
    step_of_operation,
)
from spmopt.reporting.headings import speak
from spmopt.reporting.plain import Json, column, plain, table
from spmopt.reporting.quantities import PART
from spmopt.reporting.results import Figure
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import conditions, names

_SIGNED = ("b_less_a_bytes", "b_less_a_s", "channel_s")
_TITLES = {"after": "kept after", "channel_s": "channel saved"}
_TITLES |= {"b_less_a_bytes": "B - A", "b_less_a_s": "B - A"}
_NOISY = "seconds"
_OF_OBJECTIVE = ("objective", "bound", "gap")
_MAIN = ("makespan", "traffic", "energy", "gap", "status", "compute_busy")
_AGAIN = ("objective", "replay")  # what mostly says again what others say
_MUCH = 0.01  # change of another figure that makes it one of the main ones


def contrast_record(first: ScheduleView, second: ScheduleView) -> Json:
    """Return figures of both, ``a`` the first and ``b`` the second, and tables of differences.

    Rows come by their difference, largest first; ``gaps`` are :class:`KeptOtherwise`, ``only`` what
    each keeps more, as rectangles. ``change`` is ``b / a - 1``; null where ``a`` is 0 or either is
    no number, of parts, of what is of two objectives, and of the scheduler's seconds, which differ
    from run to run. ``is_main`` are time, traffic, energy, quality, and what else differs much.
    ``gained_cycles`` (n + 1) is by how much B is ahead after so many steps of A: the time of their
    operations in A less that in B.

    Raises
    ------
    InputError
        The pictures are of different problems, or in different times.
    """
    require_comparable(first, second)
    found = gaps(first, second)
    return {
        "names": list(names([first, second])),
        "subtitle": conditions([first, second]),
        "figures": _figures(first, second),
        "gained_cycles": gain(first, second).tolist(),
        "same_order": bool((first.view.timeline.order == second.view.timeline.order).all()),
        "gaps": plain(found),
        "only": [_only(first, second), _only(second, first)],
        "tables": _tables(first, second, found),
    }


def gain(first: ScheduleView, second: ScheduleView) -> Ints:
    """Return (n + 1,) cycles that B is ahead by when A has run so many of its steps."""
    of_second = second.times.duration[step_of_operation(second)][first.view.timeline.order]
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(first.times.duration - of_second)))


def _figures(first: ScheduleView, second: ScheduleView) -> list[Json]:
    others = {figure.key: figure for figure in second.figures}
    pairs = [(a, others[a.key]) for a in first.figures if a.key in others]
    goals = [speak(each.result.objective) for each in (first, second)]
    found: list[Json] = []
    for a, b in pairs:
        apart = a.key in _OF_OBJECTIVE and goals[0] != goals[1]
        texts = [a.text, b.text]
        if apart and a.key != "objective":
            texts = [f"{text} (of {goal})" for text, goal in zip(texts, goals, strict=True)]
        found.append(
            {
                "key": a.key,
                "label": a.label,
                "unit": a.unit if a.unit == b.unit else "",
                "a": a.value,
                "b": b.value,
                "text_a": texts[0],
                "text_b": texts[1],
                "change": (change := None if apart else _change(a, b)),
                "is_main": a.key in _MAIN
                or (a.key == "objective" and apart)
                or (a.key == "replay" and first.result.objective.replayed)
                or (a.key not in _AGAIN and abs(change or 0) >= _MUCH),
            }
        )
    return found


def _change(a: Figure, b: Figure) -> float | None:
    if not a.value or b.value is None or a.unit == PART or a.key == _NOISY:
        return None
    return b.value / a.value - 1


def _only(picture: ScheduleView, other: ScheduleView) -> Json:
    found = bytes_kept_more(picture, other)
    names = ("tensor", "start", "stop", "page", "pages")
    return {name: getattr(found, name).tolist() for name in names}


def _tables(first: ScheduleView, second: ScheduleView, found: KeptOtherwise) -> Json:
    """Return tables by what they are of; rows of the first are ``found``."""
    return {"kept between uses": _keep(first, found), "layers": _times(first, second)}


def _keep(first: ScheduleView, found: KeptOtherwise) -> Json:
    names = [operation.name for operation in first.problem.operations]
    runs = [names[operation] for operation in first.view.timeline.order.tolist()]
    tensors = [first.problem.tensors[tensor] for tensor in found.tensor.tolist()]
    columns: dict[str, object] = {
        "tensor": [tensor.name for tensor in tensors],
        "kind": [tensor.kind.replace("_", " ") for tensor in tensors],
        "after": [runs[at] for at in found.from_step.tolist()],
        "until": [runs[at] for at in found.to_step.tolist()],
        "kept_a_bytes": found.kept_a,
        "kept_b_bytes": found.kept_b,
        "b_less_a_bytes": found.bytes_saved,
        "channel_s": found.bytes_saved / float(first.problem.machine.dram_bytes_per_s),
    }
    caption = "What one keeps between two uses and the other does not"
    return _table(caption, "kept.csv", columns, "B")


def _times(first: ScheduleView, second: ScheduleView) -> Json:
    """Return time and stall of layers; largest differences first."""
    layers = first.analysis.layers
    clock, group = first.problem.machine.clock_hz, layers.layer[step_of_operation(first)]
    sides: dict[str, Reals] = {}
    for mark, each in zip("ab", (first, second), strict=True):
        for name, cycles in (("time", each.times.duration), ("stall", each.stall)):
            spent = cycles[step_of_operation(each)] / clock
            sides[f"{name}_{mark}_s"] = sums(spent, group, len(layers.names))
    sides["b_less_a_s"] = sides["time_b_s"] - sides["time_a_s"]
    order = np.argsort(-abs(sides["b_less_a_s"]), kind="stable")
    columns: dict[str, object] = {"layer": [layers.names[k] for k in order]}
    for name in ("time_a_s", "time_b_s", "b_less_a_s", "stall_a_s", "stall_b_s"):
        columns[name] = sides[name][order]
    return _table("Where the time goes, by layers", "layers.csv", columns, "s")


def _table(caption: str, file: str, columns: Mapping[str, object], unit: str) -> Json:
    """Return a table of texts, and of figures in ``unit`` unless their name says otherwise."""
    heads, values = [], as_lists(columns).values()
    for name, cells in columns.items():
        own = None
        if isinstance(cells, np.ndarray):
            own = "s" if name == "channel_s" else unit
        side = re.fullmatch(r"(\w+)_([ab])_\w+", name)
        title = _TITLES.get(name, f"{side[1]} in {side[2].upper()}" if side else "")
        heads.append(column(name, own, title, isSigned=name in _SIGNED))
    return table(caption, file, heads, list(zip(*values, strict=True)))
