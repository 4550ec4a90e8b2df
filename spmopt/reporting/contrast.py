"""Differences between two schedules of one problem."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.table import Ints, Table
from spmopt.reporting.phases import layer_groups
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import Residencies
from spmopt.reporting.schedule_view.times import expand

_ADVICE = "name two schedules of one problem"


def require_comparable(first: ScheduleView, second: ScheduleView) -> None:
    """Raise :class:`InputError` unless both show one network, in times of one kind."""
    if not differ_in_fusion(first, second):
        require_same(first.problem, second.problem)
    timings = first.times.timing, second.times.timing
    if timings[0] != timings[1]:
        raise InputError(f"timing {timings[0]} and {timings[1]}: lay out both schedules by one")


def differ_in_fusion(first: ScheduleView, second: ScheduleView) -> bool:
    """Whether both are of one network and machine in different fusion plans."""
    one, other = first.problem, second.problem
    alike = (one.name, one.mapper, one.machine) == (other.name, other.mapper, other.machine)
    # Groups of one tile make one problem, whatever their boundaries.
    tiled, others = ([g for g in each.fusion_plan if g.count > 1] for each in (one, other))
    return alike and tiled != others


def require_same(first: Problem, second: Problem) -> None:
    """Raise :class:`InputError` unless both have the same machine, tensors and operations."""
    if [op.name for op in first.operations] != [op.name for op in second.operations]:
        counts = len(first.operations), len(second.operations)
        sizes = f" ({counts[0]} and {counts[1]} operations)" if counts[0] != counts[1] else ""
        text = f"their networks differ{sizes}"
    elif first.machine != second.machine:
        text = f"their machines differ in {_first_field(first.machine, second.machine)}"
    elif first.tensors != second.tensors:
        text = "their tensors differ"
    elif first.operations != second.operations:
        text = "their operations differ"
    else:
        return
    both = first, second
    names = [each.name for each in both]
    if first.mapper != second.mapper:
        names = [f"{each.name} (mapper {each.mapper})" for each in both]
    raise InputError(f"{' and '.join(names)}: {text}; {_ADVICE}")


def _first_field(one: Machine, other: Machine) -> str:
    name = next(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name))
    values = f"{getattr(one, name)} and {getattr(other, name)}"
    return f"{name} ({values})" if len(values) <= 80 else name


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptOtherwise(Table):
    """Reuse intervals that both schedules have and keep otherwise, the largest difference first.

    An interval of ``tensor`` lies between two uses of the same contents by two operations that
    follow each other; ``from_step`` and ``to_step`` are their steps in the first schedule.
    ``kept_a`` and ``kept_b`` bytes stay on chip all through it. ``bytes_saved`` is ``kept_b -
    kept_a``: what the second schedule need not bring in again but the first must; negative the
    other way round.
    """

    tensor: Ints
    from_step: Ints
    to_step: Ints
    kept_a: Ints
    kept_b: Ints
    bytes_saved: Ints


def gaps(first: ScheduleView, second: ScheduleView) -> KeptOtherwise:
    """Match reuse intervals by tensor and operations: the orders of the schedules may differ."""
    _, a, b = np.intersect1d(_keys(first), _keys(second), assume_unique=True, return_indices=True)
    kept_a = first.analysis.reuse.captured_bytes[a]
    kept_b = second.analysis.reuse.captured_bytes[b]
    saved = kept_b - kept_a
    chosen = np.flatnonzero(saved)
    # Ties in the order of the first schedule, so that tables do not change.
    chosen = chosen[np.lexsort((a[chosen], -abs(saved[chosen])))]
    line, row = first.view.timeline, first.analysis.reuse.access[a[chosen]]
    return KeptOtherwise(
        tensor=line.tensor[row],
        from_step=line.step[row],
        to_step=line.step[line.next[row]],
        kept_a=kept_a[chosen],
        kept_b=kept_b[chosen],
        bytes_saved=saved[chosen],
    )


def _keys(picture: ScheduleView) -> Ints:
    """Return a number for (tensor, operation, next operation) of each reuse interval."""
    line, row = picture.view.timeline, picture.analysis.reuse.access
    operation = line.order[line.step[row]]
    following = line.order[line.step[line.next[row]]]
    # One number in base n (n operations): unique, and quick to intersect.
    return (line.tensor[row] * line.steps + operation) * line.steps + following


def step_of_operation(picture: ScheduleView) -> Ints:
    """Return (n,) the step of each operation."""
    return np.argsort(picture.view.timeline.order)


def next_groups(found: KeptOtherwise, picture: ScheduleView) -> tuple[list[str], Ints]:
    """Return groups of layers, and (rows,) that of the use that ends each interval."""
    layers = picture.analysis.steps.layers
    names, group = layer_groups(layers.names)
    return names, group[layers.layer[found.to_step]]


def bytes_kept_more(picture: ScheduleView, other: ScheduleView) -> Residencies:
    """Return residencies of ``picture`` between two uses that ``other`` does not have.

    Both are of one problem, in times of one kind.
    """
    found, rows = gaps(other, picture), picture.residencies
    found = found.take(found.bytes_saved > 0)
    at = step_of_operation(picture)[other.view.timeline.order]
    begin, end = at[found.from_step], at[found.to_step]
    order = np.argsort(rows.tensor, kind="stable")
    held = rows.tensor[order]
    gap, place = expand(
        np.searchsorted(held, found.tensor), np.searchsorted(held, found.tensor, "right")
    )
    rows = rows.take(order[place])
    page = picture.view.page_bytes
    first = np.maximum(rows.tensor_page, found.kept_a[gap] // page)
    last = np.minimum(rows.tensor_page + rows.pages, -(-found.kept_b[gap] // page))
    edge = np.append(picture.times.start, picture.times.cycles)
    start = np.maximum(rows.start, edge[begin[gap]])
    stop = np.minimum(rows.stop, edge[end[gap] + 1])
    meets = (rows.begin <= end[gap]) & (rows.end > begin[gap]) & (first < last) & (start < stop)
    cut = replace(
        rows, page=rows.page + first - rows.tensor_page, pages=last - first, start=start, stop=stop
    )
    return cut.take(meets)
