"""Two schedules of one instance: what differs between them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from spmopt.analysis.steps import Reals, sums
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.table import Ints, Table
from spmopt.report.headings import spoken
from spmopt.report.results import PART, Figure, figures
from spmopt.report.schedule_view import ScheduleView
from spmopt.report.schedule_view.view import conditions, names

_ADVICE = "name two schedules of one instance"


def require_comparable(first: ScheduleView, second: ScheduleView) -> None:
    """Raise :class:`InputError` unless both show one instance, in times of one kind."""
    require_same(first.instance, second.instance)
    timings = first.times.timing, second.times.timing
    if timings[0] != timings[1]:
        raise InputError(f"timing {timings[0]} and {timings[1]}: lay out both schedules by one")


def require_same(first: Instance, second: Instance) -> None:
    """Raise :class:`InputError` unless both have the same machine, tensors and operations."""
    if _names(first) != _names(second):
        text = _of_networks(first, second)
    elif first.machine != second.machine:
        text = _of_machines(first, second)
    elif first.tensors != second.tensors:
        text = _of_columns("tensors", first.tensors, second.tensors)
    elif first.operations != second.operations:
        text = _of_columns("operations", first.operations, second.operations)
    else:
        return
    raise InputError(f"{first.name} and {second.name}: {text}; {_ADVICE}")


def _names(instance: Instance) -> list[str]:
    return [operation.name for operation in instance.operations]


def _of_networks(first: Instance, second: Instance) -> str:
    counts = len(first.operations), len(second.operations)
    sizes = f" ({counts[0]} and {counts[1]} operations)" if counts[0] != counts[1] else ""
    return f"their networks differ{sizes}"


def _of_machines(first: Instance, second: Instance) -> str:
    one, other = first.machine, second.machine
    name = next(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name))
    values = f"{getattr(one, name)} and {getattr(other, name)}"
    shown = f" ({values})" if len(values) <= 80 else ""
    return f"their machines differ in {name}{shown}"


def _of_columns(what: str, first: tuple[object, ...], second: tuple[object, ...]) -> str:
    if len(first) != len(second):
        return f"they have {len(first)} and {len(second)} {what}"
    place = next(k for k, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1])
    return f"their {what} differ, number {place} first"


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps(Table):
    """Gaps that both schedules have and keep otherwise, the largest difference first.

    A gap of ``tensor`` lies between two uses of the same contents by two operations that follow
    each other; ``from_step`` and ``to_step`` are their steps in the first schedule. ``kept_a``
    and ``kept_b`` bytes stay on chip all through it. ``bytes_saved`` is ``kept_b - kept_a``:
    what the second schedule need not bring in again but the first must; negative the other
    way round.
    """

    tensor: Ints
    from_step: Ints
    to_step: Ints
    kept_a: Ints
    kept_b: Ints
    bytes_saved: Ints


def gaps(first: ScheduleView, second: ScheduleView) -> Gaps:
    """Match gaps by tensor and operations: the orders of the schedules may differ."""
    (key_a, row_a), (key_b, row_b) = _keys(first), _keys(second)
    _, place_a, place_b = np.intersect1d(key_a, key_b, assume_unique=True, return_indices=True)
    row_a, row_b = row_a[place_a], row_b[place_b]
    kept_a = first.analysis.reuse.captured_bytes[row_a]
    kept_b = second.analysis.reuse.captured_bytes[row_b]
    saved = kept_b - kept_a
    chosen = np.flatnonzero(saved)
    chosen = chosen[np.lexsort((row_a[chosen], -abs(saved[chosen])))]
    line, row = first.view.timeline, row_a[chosen]
    return Gaps(
        tensor=line.tensor[row],
        from_step=line.step[row],
        to_step=line.step[line.next[row]],
        kept_a=kept_a[chosen],
        kept_b=kept_b[chosen],
        bytes_saved=saved[chosen],
    )


def _keys(picture: ScheduleView) -> tuple[Ints, Ints]:
    """A number for (tensor, operation, next operation) of every gap, and the gap's access."""
    line = picture.view.timeline
    row = np.flatnonzero(picture.analysis.reuse.scope >= 0)
    operation = line.operation[line.step[row]]
    following = line.operation[line.step[line.next[row]]]
    return (line.tensor[row] * line.steps + operation) * line.steps + following, row


Json = dict[str, object]
_NOISY = "seconds"
_OF_OBJECTIVE = ("objective", "bound", "gap")


def contrast_record(first: ScheduleView, second: ScheduleView) -> Json:
    """Return figures, tensors, operations and gaps of both, ``a`` the first and ``b`` the second.

    Tensors come by the difference of their traffic, then of what is kept (byte-seconds), largest
    first; operations as the instance lists them; gaps as :class:`~spmopt.report.contrast.Gaps`
    says. ``change`` is ``b / a - 1``; null where ``a`` is 0 or either is no number, of parts, of
    what is of two objectives, and of the scheduler's seconds, which differ from run to run.

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
        "tensors": _tensors(first, second),
        "operations": _operations(first, second),
        "gaps": {field.name: getattr(found, field.name).tolist() for field in fields(found)},
    }


def _figures(first: ScheduleView, second: ScheduleView) -> list[Json]:
    pairs = zip(
        *(figures(each.instance, each.result, each.totals) for each in (first, second)), strict=True
    )
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


def _tensors(first: ScheduleView, second: ScheduleView) -> Json:
    (traffic_a, kept_a), (traffic_b, kept_b) = _moved(first), _moved(second)
    order = np.lexsort((-abs(kept_b - kept_a), -abs(traffic_b - traffic_a)))
    names = first.instance.tensor_names
    return {
        "tensor": order.tolist(),
        "name": [names[tensor] for tensor in order.tolist()],
        "kept_a": kept_a[order].tolist(),
        "kept_b": kept_b[order].tolist(),
        "traffic_a": traffic_a[order].tolist(),
        "traffic_b": traffic_b[order].tolist(),
    }


def _moved(picture: ScheduleView) -> tuple[Ints, Reals]:
    """(m,) Bytes over the DRAM boundary, and byte-seconds on chip, of each tensor."""
    tensors, table = picture.analysis.by_tensor(), picture.view.schedule.residency
    edge = np.append(picture.times.start, picture.times.cycles) / picture.instance.machine.clock_hz
    held = table.size_bytes * (edge[table.end] - edge[table.begin])
    kept = sums(held, table.tensor, tensors.size_bytes.size)
    return tensors.dram_in_bytes + tensors.dram_out_bytes, kept


def _operations(first: ScheduleView, second: ScheduleView) -> Json:
    sides = {"a": _steps(first), "b": _steps(second)}
    columns = {
        f"{name}_{side}": column.tolist()
        for side, found in sides.items()
        for name, column in found.items()
    }
    return {"name": [operation.name for operation in first.instance.operations], **columns}


def _steps(picture: ScheduleView) -> dict[str, Ints]:
    """(n,) Step, stall and cycles of each operation."""
    step = np.argsort(picture.view.timeline.operation)
    return {"step": step, "stall": picture.stall[step], "cycles": picture.times.duration[step]}
