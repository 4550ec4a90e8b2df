"""Two schedules of one instance: what differs between them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from spmopt.analysis.steps import Reals, sums
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.table import Ints, Table
from spmopt.reporting.analysis import as_lists
from spmopt.reporting.headings import spoken
from spmopt.reporting.plain import Json, column, plain, table
from spmopt.reporting.results import PART, Figure
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import Residencies
from spmopt.reporting.schedule_view.times import expand
from spmopt.reporting.schedule_view.view import conditions, names

_ADVICE = "name two schedules of one instance"


def require_comparable(first: ScheduleView, second: ScheduleView) -> None:
    """Raise :class:`InputError` unless both show one instance, in times of one kind."""
    require_same(first.instance, second.instance)
    timings = first.times.timing, second.times.timing
    if timings[0] != timings[1]:
        raise InputError(f"timing {timings[0]} and {timings[1]}: lay out both schedules by one")


def require_same(first: Instance, second: Instance) -> None:
    """Raise :class:`InputError` unless both have the same machine, tensors and operations."""
    if [op.name for op in first.operations] != [op.name for op in second.operations]:
        counts = len(first.operations), len(second.operations)
        sizes = f" ({counts[0]} and {counts[1]} operations)" if counts[0] != counts[1] else ""
        text = f"their networks differ{sizes}"
    elif first.machine != second.machine:
        text = f"their machines differ in {_first_field(first.machine, second.machine)}"
    elif first.tensors != second.tensors:
        text = _first_row("tensors", first.tensors, second.tensors)
    elif first.operations != second.operations:
        text = _first_row("operations", first.operations, second.operations)
    else:
        return
    raise InputError(f"{first.name} and {second.name}: {text}; {_ADVICE}")


def _first_field(one: Machine, other: Machine) -> str:
    name = next(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name))
    values = f"{getattr(one, name)} and {getattr(other, name)}"
    return f"{name} ({values})" if len(values) <= 80 else name


def _first_row(what: str, first: tuple[object, ...], second: tuple[object, ...]) -> str:
    if len(first) != len(second):
        return f"they have {len(first)} and {len(second)} {what}"
    place = next(k for k, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1])
    return f"their {what} differ, number {place} first"


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
    (key_a, row_a), (key_b, row_b) = _keys(first), _keys(second)
    _, place_a, place_b = np.intersect1d(key_a, key_b, assume_unique=True, return_indices=True)
    row_a, row_b = row_a[place_a], row_b[place_b]
    kept_a = first.analysis.reuse.captured_bytes[row_a]
    kept_b = second.analysis.reuse.captured_bytes[row_b]
    saved = kept_b - kept_a
    chosen = np.flatnonzero(saved)
    chosen = chosen[np.lexsort((row_a[chosen], -abs(saved[chosen])))]
    line, row = first.view.timeline, row_a[chosen]
    return KeptOtherwise(
        tensor=line.tensor[row],
        from_step=line.step[row],
        to_step=line.step[line.next[row]],
        kept_a=kept_a[chosen],
        kept_b=kept_b[chosen],
        bytes_saved=saved[chosen],
    )


def _keys(picture: ScheduleView) -> tuple[Ints, Ints]:
    """Number (tensor, operation, next operation) of every interval, and find its first access."""
    line = picture.view.timeline
    row = np.flatnonzero(picture.analysis.reuse.scope >= 0)
    operation = line.order[line.step[row]]
    following = line.order[line.step[line.next[row]]]
    return (line.tensor[row] * line.steps + operation) * line.steps + following, row


_TITLES = {"after": "kept after"}
_NOISY = "seconds"
_OF_OBJECTIVE = ("objective", "bound", "gap")


def kept_more(picture: ScheduleView, other: ScheduleView) -> Residencies:
    """Return what ``picture`` keeps between two uses and ``other`` does not, as rectangles.

    Raises
    ------
    InputError
        They are not of one instance, or not in the same times.
    """
    require_comparable(other, picture)
    found, rows = gaps(other, picture), picture.residencies
    found = found.take(found.bytes_saved > 0)
    at = np.argsort(picture.view.timeline.order)[other.view.timeline.order]
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


def contrast_record(first: ScheduleView, second: ScheduleView) -> Json:
    """Return figures of both, ``a`` the first and ``b`` the second, and tables of differences.

    Rows come by their difference, largest first; ``gaps`` are :class:`KeptOtherwise`, ``only`` what
    each keeps more, as rectangles. ``change`` is ``b / a - 1``; null where ``a`` is 0 or either is
    no number, of parts, of what is of two objectives, and of the scheduler's seconds, which differ
    from run to run.

    Raises
    ------
    InputError
        The pictures are of different instances, or in different times.
    """
    require_comparable(first, second)
    found = gaps(first, second)
    return {
        "names": list(names([first, second])),
        "subtitle": conditions([first, second]),
        "figures": _figures(first, second),
        "gaps": plain(found),
        "only": [_only(first, second), _only(second, first)],
        "tables": _tables(first, second, found),
    }


def _figures(first: ScheduleView, second: ScheduleView) -> list[Json]:
    others = {figure.key: figure for figure in second.figures}
    pairs = [(a, others[a.key]) for a in first.figures if a.key in others]
    goals = [spoken(each.result.objective) for each in (first, second)]
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
                "change": None if apart else _change(a, b),
            }
        )
    return found


def _change(a: Figure, b: Figure) -> float | None:
    if not a.value or b.value is None or a.unit == PART or a.key == _NOISY:
        return None
    return b.value / a.value - 1


def _only(picture: ScheduleView, other: ScheduleView) -> Json:
    found = kept_more(picture, other)
    names = ("tensor", "start", "stop", "page", "pages")
    return {name: getattr(found, name).tolist() for name in names}


def _tables(first: ScheduleView, second: ScheduleView, found: KeptOtherwise) -> Json:
    """Return tables by what they are of; rows of the first are ``found``."""
    names = [operation.name for operation in first.instance.operations]
    runs = [names[operation] for operation in first.view.timeline.order.tolist()]
    kept = {
        **_named(first, found.tensor),
        "after": [runs[at] for at in found.from_step.tolist()],
        "until": [runs[at] for at in found.to_step.tolist()],
        "kept_a_bytes": found.kept_a,
        "kept_b_bytes": found.kept_b,
        "b_less_a_bytes": found.bytes_saved,
    }
    caption = "What one keeps between two uses and the other does not"
    layers = first.analysis.layers
    return {
        "kept between uses": _table(caption, "kept.csv", kept, "B"),
        "layers": _times("layer", layers.names, layers.layer[_order(first)], (first, second)),
        "operations": _times("operation", names, np.arange(len(names)), (first, second)),
        "tensors": _tensors(first, second),
    }


def _table(caption: str, file: str, columns: Mapping[str, object], unit: str) -> Json:
    """Return a table of texts, and of figures in ``unit`` unless their name says otherwise."""
    heads, values = [], as_lists(columns).values()
    for name, cells in columns.items():
        own = None if not isinstance(cells, np.ndarray) else "B·s" if "byte_s" in name else unit
        is_signed, side = name.startswith("b_less_a"), re.fullmatch(r"(\w+)_([ab])_\w+", name)
        title = f"{side[1]} in {side[2].upper()}" if side else _TITLES.get(name, "")
        heads.append(column(name, own, "B - A" if is_signed else title, isSigned=is_signed))
    return table(caption, file, heads, list(zip(*values, strict=True)))


def _named(picture: ScheduleView, tensors: Ints) -> dict[str, object]:
    """Return names and kinds of tensors."""
    found = [picture.instance.tensors[tensor] for tensor in tensors.tolist()]
    kinds = [tensor.kind.replace("_", " ") for tensor in found]
    return {"tensor": [tensor.name for tensor in found], "kind": kinds}


def _tensors(first: ScheduleView, second: ScheduleView) -> Json:
    (traffic_a, kept_a), (traffic_b, kept_b) = _moved(first), _moved(second)
    order = np.lexsort((-abs(kept_b - kept_a), -abs(traffic_b - traffic_a)))
    order = order[(traffic_a != traffic_b)[order] | (kept_a != kept_b)[order]]
    sides = {
        "traffic_a_bytes": traffic_a,
        "traffic_b_bytes": traffic_b,
        "b_less_a_bytes": traffic_b - traffic_a,
        "kept_a_byte_s": kept_a,
        "kept_b_byte_s": kept_b,
    }
    columns = _named(first, order) | {name: side[order] for name, side in sides.items()}
    return _table("Traffic and residency of tensors", "tensors.csv", columns, "B")


def _moved(picture: ScheduleView) -> tuple[Ints, Reals]:
    """Return (m,) bytes over the DRAM boundary, and byte-seconds on chip, of each tensor."""
    tensors, residency = picture.analysis.by_tensor(), picture.view.schedule.residency
    edge = np.append(picture.times.start, picture.times.cycles) / picture.instance.machine.clock_hz
    held = residency.size_bytes * (edge[residency.end] - edge[residency.begin])
    kept = sums(held, residency.tensor, len(picture.instance.tensors))
    return tensors["dram_in_bytes"] + tensors["dram_out_bytes"], kept


def _times(
    what: str, names: Sequence[str], group: Ints, pictures: tuple[ScheduleView, ScheduleView]
) -> Json:
    """Return time and stall of operations, by groups of them; largest differences first."""
    clock, sides = pictures[0].instance.machine.clock_hz, {}
    for mark, each in zip("ab", pictures, strict=True):
        for name, cycles in (("time", each.times.duration), ("stall", each.stall)):
            spent = cycles[_order(each)] / clock
            sides[f"{name}_{mark}_s"] = sums(spent, group, len(names))
    sides["b_less_a_s"] = sides["time_b_s"] - sides["time_a_s"]
    order = np.argsort(-abs(sides["b_less_a_s"]), kind="stable")
    columns: dict[str, object] = {what: [names[k] for k in order]}
    for name in ("time_a_s", "time_b_s", "b_less_a_s", "stall_a_s", "stall_b_s"):
        columns[name] = sides[name][order]
    return _table(f"Where the time goes, by {what}s", f"{what}s.csv", columns, "s")


def _order(picture: ScheduleView) -> Ints:
    """Return (n,) the step of each operation."""
    return np.argsort(picture.view.timeline.order)
