"""Columns of a sweep: their names, texts of their values, and those that vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spmopt.reporting.quantities import PART, capacity, capacity_unit, si

_BYTES = {"spm_bytes": "SPM", "page_bytes": "pages of"}
_UNITS = {"dram_bytes_per_s": "B/s", "operations_per_s": "FLOP/s", "clock_hz": "Hz"}
_EITHER = {"training": ("inference", "training"), "duplex": ("simplex", "duplex")}
_BARE = ("network", "machine", "parameters")
_WORDS = {"dma_setup_cycles": "DMA set-up, cycles:"}

Value = str | int | float | bool | None
Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A column that has an axis, with its label and its unit (empty for a count)."""

    key: str
    label: str
    unit: str = ""


SWEPT = (
    Quantity(key="spm_bytes", label="scratchpad", unit="B"),
    Quantity(key="dram_bytes_per_s", label="bandwidth", unit="B/s"),
    Quantity(key="operations_per_s", label="throughput", unit="FLOP/s"),
    Quantity(key="clock_hz", label="clock", unit="Hz"),
    Quantity(key="batch", label="batch"),
    Quantity(key="page_bytes", label="page", unit="B"),
    Quantity(key="dma_setup_cycles", label="DMA set-up", unit="cycles"),
)
"""Numbers that a sweep ranges over."""
MEASURED = (
    Quantity(key="time_s", label="time", unit="s"),
    Quantity(key="traffic_bytes", label="traffic", unit="B"),
    Quantity(key="energy_j", label="energy", unit="J"),
    Quantity(key="power_w", label="power", unit="W"),
    Quantity(key="gap", label="gap to bound", unit=PART),
)
"""Figures of schedules."""
# Columns that tell rows apart beside numbers and other settings, in their order in titles.
_NAMED = ("network", "training", "batch", "optimizer", "parameters", "mapper", "machine")
# Columns that may follow from others: a network has a batch size, a machine has rates, which the
# banks of a scratchpad hold back.
_FOLLOWING = (
    *("parameters", "optimizer", "batch"),
    *("dma_setup_cycles", "page_bytes", "clock_hz", "operations_per_s", "dram_bytes_per_s"),
)


def sweep(rows: Sequence[Row]) -> tuple[Quantity, ...]:
    """Return :data:`SWEPT`; sizes of memories in the system that the rows are written in."""
    return tuple(
        replace(each, unit=capacity_unit(number(row, each.key) for row in rows))
        if each.key in _BYTES and all(is_number(row[each.key]) for row in rows)
        else each
        for each in SWEPT
    )


def varying(rows: Sequence[Row], extra: Sequence[str]) -> tuple[str, ...]:
    """Return columns that tell rows of one scheduler apart; none that follows from the others."""
    keys = dict.fromkeys((*_NAMED, *(each.key for each in SWEPT), "duplex", *extra, "objective"))
    found = [key for key in keys if len({row[key] for row in rows}) > 1]
    for key in (*reversed(extra), *_FOLLOWING):
        rest = [other for other in (*found, "scheduler") if other != key]
        # One after the other: of two that follow from each other one must stay.
        if key in found and _follows(rows, key, rest):
            found.remove(key)
    return tuple(found)


def _follows(rows: Sequence[Row], key: str, others: Sequence[str]) -> bool:
    """Return whether rows that agree in ``others`` agree in ``key``."""
    pairs = {(tuple(row[other] for other in others), row[key]) for row in rows}
    # A function of the others: each combination has one value.
    return len(pairs) == len({about for about, _ in pairs})


def is_number(value: Value) -> bool:
    """Return whether a value is a number, or the text of one."""
    try:
        return value is not None and not isinstance(value, bool) and float(value) == float(value)
    except ValueError:
        return False


def number(row: Row, key: str) -> float:
    """Return a value that :func:`is_number`."""
    return float(row[key] or 0)


def show(key: str, value: Value) -> str:
    """Return a value of a column as people read it: ``SPM 24 MB``; empty if there is none."""
    if value is None or value == "":
        return ""
    # Rows of a file hold texts where a column is not a number throughout.
    if isinstance(value, int) and key in _BYTES:
        return f"{_BYTES[key]} {capacity(value)}"
    if isinstance(value, int) and key in _UNITS:
        return si(value, _UNITS[key])
    if key in _EITHER:
        return _EITHER[key][bool(value)]
    return str(value) if key in _BARE else f"{_WORDS.get(key, key)} {value}"


def title(row: Row, keys: Iterable[str]) -> str:
    """Return a row by some of its columns, for a heading."""
    return ", ".join(text for key in keys if (text := show(key, row[key])))


def fix(rows: Sequence[Row], extra: Sequence[str]) -> str:
    """Return the values that all rows share, for a heading."""
    keys = dict.fromkeys((*_NAMED, *(each.key for each in SWEPT), *extra, "objective"))
    alike = [key for key in keys if len({row[key] for row in rows}) == 1]
    silent = [key for key in alike if key == "dma_setup_cycles" and not rows[0][key]]
    return title(rows[0], (key for key in alike if key not in silent))
