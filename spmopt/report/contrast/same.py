"""Whether two pictures show one instance."""

from __future__ import annotations

from dataclasses import fields

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.report.picture import Picture

_ADVICE = "name two schedules of one instance"


def require_comparable(first: Picture, second: Picture) -> None:
    """Raise :class:`InputError` unless both show one instance, in times of one kind."""
    require_same(first.instance, second.instance)
    timings = first.times.timing, second.times.timing
    if timings[0] != timings[1]:
        raise InputError(f"timing {timings[0]} and {timings[1]}: lay out both schedules by one")


def require_same(first: Instance, second: Instance) -> None:
    """Raise :class:`InputError` unless both have the same machine, tensors and operations."""
    if _operations(first) != _operations(second):
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


def _operations(instance: Instance) -> list[str]:
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
