"""Differences between two schedules of one problem, as plain data for a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.analysis.steps import Reals, sums
from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.reporting.contrast import (
    KeptOtherwise,
    bytes_kept_more,
    differ_in_fusion,
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

_NOISY = "seconds"  # of the scheduler: they differ from run to run
_OF_OBJECTIVE = ("objective", "bound", "gap")
_MAIN = ("makespan", "traffic", "energy", "gap", "status", "compute_busy")
_AGAIN = ("objective", "replay")  # mostly repeat other figures
_MUCH = 0.01  # change of another figure that makes it one of the main ones


def contrast_record(first: ScheduleView, second: ScheduleView) -> Json:
    """Return figures of both, ``a`` the first and ``b`` the second, and tables of differences.

    Rows are sorted by their difference, largest first. ``gaps`` are :class:`KeptOtherwise`,
    ``only`` the rectangles that one schedule alone keeps. ``change`` is ``b / a - 1``; null for
    shares, for figures of two objectives, for seconds of schedulers, and where ``a`` is 0.
    ``is_main`` marks time, traffic, energy, quality, and figures that differ much.
    ``gained_cycles`` (n + 1) is the lead of B after so many steps of A.

    Raises
    ------
    InputError
        The pictures are of different problems, or in different times.
    """
    require_comparable(first, second)
    if differ_in_fusion(first, second):
        raise InputError(
            f"{first.problem.name}: fusion plans differ; make a page of each, or show both by "
            "'spmopt plot' or 'spmopt trace'"
        )
    found = gaps(first, second)
    return {
        "names": list(names([first, second])),
        "subtitle": conditions([first, second]),
        "figures": _figures(first, second),
        "gained_cycles": gain(first, second).tolist(),
        "same_order": bool((first.view.timeline.order == second.view.timeline.order).all()),
        "gaps": plain(found),
        "only": [_only(first, second), _only(second, first)],
        "tables": {"kept between uses": _keep(first, found), "layers": _times(first, second)},
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
    # Relative changes of shares and of run times mislead.
    if not a.value or b.value is None or a.unit == PART or a.key == _NOISY:
        return None
    return b.value / a.value - 1


def _only(picture: ScheduleView, other: ScheduleView) -> Json:
    found = bytes_kept_more(picture, other)
    names = ("tensor", "start", "stop", "page", "pages")
    return {name: getattr(found, name).tolist() for name in names}


def _keep(first: ScheduleView, found: KeptOtherwise) -> Json:
    names = [operation.name for operation in first.problem.operations]
    runs = [names[operation] for operation in first.view.timeline.order.tolist()]
    tensors = [first.problem.tensors[tensor] for tensor in found.tensor.tolist()]
    moved = first.problem.moved.of(found.tensor, found.bytes_saved)
    channel_s = moved / float(first.problem.machine.dram_bytes_per_s)
    columns: Sequence[_Column] = (
        ("tensor", "", None, [tensor.name for tensor in tensors]),
        ("kind", "", None, [tensor.kind.replace("_", " ") for tensor in tensors]),
        ("after", "kept after", None, [runs[at] for at in found.from_step.tolist()]),
        ("until", "", None, [runs[at] for at in found.to_step.tolist()]),
        ("kept_a_bytes", "kept in A", "B", found.kept_a.tolist()),
        ("kept_b_bytes", "kept in B", "B", found.kept_b.tolist()),
        ("b_less_a_bytes", "B - A", "B", found.bytes_saved.tolist()),
        ("channel_s", "channel saved", "s", channel_s.tolist()),
    )
    return _table(
        "Bytes that one keeps between two uses and the other does not", "kept.csv", columns
    )


def _times(first: ScheduleView, second: ScheduleView) -> Json:
    """Return time and stall of layers; largest differences first."""
    layers = first.analysis.layers
    group = layers.layer[step_of_operation(first)]

    def by_layer(picture: ScheduleView, cycles: Ints) -> Reals:
        # Both schedules by operations: their orders may differ.
        spent = cycles[step_of_operation(picture)] / picture.problem.machine.clock_hz
        return sums(spent, group, len(layers.names))

    time_a, time_b = (by_layer(each, each.times.duration) for each in (first, second))
    stall_a, stall_b = (by_layer(each, each.stall) for each in (first, second))
    order = np.argsort(-abs(time_b - time_a), kind="stable")
    columns: Sequence[_Column] = (
        ("layer", "", None, [layers.names[k] for k in order]),
        ("time_a_s", "time in A", "s", time_a[order].tolist()),
        ("time_b_s", "time in B", "s", time_b[order].tolist()),
        ("b_less_a_s", "B - A", "s", (time_b - time_a)[order].tolist()),
        ("stall_a_s", "stall in A", "s", stall_a[order].tolist()),
        ("stall_b_s", "stall in B", "s", stall_b[order].tolist()),
    )
    return _table("Where the time goes, by layers", "layers.csv", columns)


_Column = tuple[str, str, str | None, Sequence[object]]
"""Name, title (default: the name), unit (None: text) and values."""
_SIGNED = ("b_less_a_bytes", "b_less_a_s", "channel_s")


def _table(caption: str, file: str, columns: Sequence[_Column]) -> Json:
    heads = [
        column(name, unit, title, isSigned=name in _SIGNED) for name, title, unit, _ in columns
    ]
    return table(caption, file, heads, list(zip(*(values for *_, values in columns), strict=True)))
