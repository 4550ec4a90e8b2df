"""A technology as a TOML file: settings, and a table ``[[point]]`` for each capacity.

All quantities bear units: ``read_latency = "2.91ns"``. ``presets`` has examples. Several points of
one capacity are configurations, each with a name: ``configuration = "read EDP, normal access"``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.core.suggest import unknown
from spmopt.core.units import Dimension, parse_measure, parse_quantity
from spmopt.technology.figures import Point
from spmopt.technology.technology import Between, Technology

_KEYS = ("cell", "source", "access", "between", "point")
_MEASURES = {
    "read_latency": ("read_latency_ns", Dimension.NANOSECONDS),
    "write_latency": ("write_latency_ns", Dimension.NANOSECONDS),
    "read_energy": ("read_energy_pj", Dimension.PICOJOULES),
    "write_energy": ("write_energy_pj", Dimension.PICOJOULES),
    "leakage": ("leakage_mw", Dimension.MILLIWATTS),
    "area": ("area_mm2", Dimension.SQUARE_MILLIMETERS),
}
_EXAMPLE = "3MB or 3MiB"


def from_tables(tables: Mapping[str, object], name: str, where: str) -> Technology:
    """Build a technology called ``name``; ``where`` names the file in errors.

    Raises
    ------
    InputError
        An unknown or missing key, or a value that does not fit it.
    """
    read = _Reader(tables, where, "technology setting")
    read.require_known(_KEYS)
    between = read.text("between")
    if between not in tuple(Between):
        raise InputError(f"{where}: between = {between!r}: must be {' or '.join(Between)}")
    return Technology(
        name=name,
        cell=read.text("cell"),
        source=read.text("source"),
        access_bytes=read.quantity("access", "32B"),
        between=Between(between),
        points=tuple(
            _point(table, f"{where}: point {number}")
            for number, table in enumerate(read.tables("point"), start=1)
        ),
    )


def _point(table: Mapping[str, object], where: str) -> Point:
    read = _Reader(table, where, "setting of a point")
    read.require_known(("capacity", "configuration", *_MEASURES))
    values = {field: read.measure(key, kind) for key, (field, kind) in _MEASURES.items()}
    return Point(
        capacity_bytes=read.quantity("capacity", _EXAMPLE),
        configuration=read.text("configuration") if "configuration" in table else "",
        **values,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """One key of a table at a time, checked."""

    table: Mapping[str, object]
    where: str
    what: str

    def require_known(self, known: Collection[str]) -> None:
        for key in self.table:
            if key not in known:
                raise InputError(f"{self.where}: {unknown(self.what, key, known)}")

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str):
            raise InputError(f"{self.where}: {key} = {value!r}: must be a text in quotes")
        return value

    def quantity(self, key: str, example: str) -> int:
        return parse_quantity(
            self.text(key), Dimension.BYTES, f"{self.where}: {key}", example=example
        )

    def measure(self, key: str, dimension: Dimension) -> float:
        value = self._get(key)
        # A bare number gets the error of a text without unit, which says what to write.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = str(value) if is_number else self.text(key)
        return parse_measure(text, dimension, f"{self.where}: {key}")

    def tables(self, key: str) -> list[dict[str, object]]:
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise InputError(f"{self.where}: {key}: must be tables, each headed [[{key}]]")
        return value

    def _get(self, key: str) -> object:
        if key not in self.table:
            raise InputError(f"{self.where}: {key} is missing; add it")
        return self.table[key]
