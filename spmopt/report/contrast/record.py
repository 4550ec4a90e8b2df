"""The differences of two pictures as plain data: columns, not rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from spmopt.analysis.roofline import Reals, sums
from spmopt.core.table import Ints
from spmopt.report.contrast.gaps import gaps
from spmopt.report.contrast.same import require_comparable
from spmopt.report.picture import Picture
from spmopt.report.picture.figures import PART, Figure, figures
from spmopt.report.picture.words import conditions, names
from spmopt.report.view import spoken

Json = dict[str, object]
_NOISY = "seconds"
_OF_OBJECTIVE = ("objective", "bound", "gap")


def contrast_record(first: Picture, second: Picture) -> Json:
    """Return figures, tensors, operations and gaps of both, ``a`` the first and ``b`` the second.

    Tensors come by the difference of their traffic, then of what is kept (byte-seconds), largest
    first; operations as the instance lists them; gaps as :class:`~spmopt.report.contrast.gaps.Gaps`
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


def _figures(first: Picture, second: Picture) -> list[Json]:
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


def _tensors(first: Picture, second: Picture) -> Json:
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


def _moved(picture: Picture) -> tuple[Ints, Reals]:
    """(m,) Bytes over the DRAM boundary, and byte-seconds on chip, of each tensor."""
    tensors, table = picture.analysis.by_tensor(), picture.view.schedule.residency
    edge = np.append(picture.times.start, picture.times.cycles) / picture.instance.machine.clock_hz
    held = table.size_bytes * (edge[table.end] - edge[table.begin])
    kept = sums(held, table.tensor, tensors.size_bytes.size)
    return tensors.in_bytes + tensors.out_bytes, kept


def _operations(first: Picture, second: Picture) -> Json:
    sides = {"a": _steps(first), "b": _steps(second)}
    columns = {
        f"{name}_{side}": column.tolist()
        for side, found in sides.items()
        for name, column in found.items()
    }
    return {"name": [operation.name for operation in first.instance.operations], **columns}


def _steps(picture: Picture) -> dict[str, Ints]:
    """(n,) Step, stall and cycles of each operation."""
    step = np.argsort(picture.view.timeline.operation)
    return {"step": step, "stall": picture.stall[step], "cycles": picture.times.duration[step]}
