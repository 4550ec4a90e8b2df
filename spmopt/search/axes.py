"""One axis of a hardware space: the values that a setting may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import floor

from spmopt.core.errors import InputError, unknown
from spmopt.core.units import Dimension
from spmopt.hardware.settings import (
    BANK,
    BYPASS,
    KINDS,
    UNTYPED,
    Kind,
    Setting,
    join_banks,
    read_banks,
    read_bypass,
    require_units,
    split_banks,
)
from spmopt.sweeps.axes import as_written, count, setting_axis

BESIDE = ("cores", "batch")
"""Fields that are no settings of a machine."""
_COUNTS = (*BESIDE, "banks")
"""Of which there is at least 1."""
_FIXED = ("name", "source", "energy.source", "area.source")
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(BESIDE, int),
    **{key: kind for key, kind in KINDS.items() if key not in _FIXED},
}
FIELDS = tuple(_KINDS)
RANGE = frozenset(("low", "high", "step", "log"))
"""Entries of a table that is a range."""
_FEW = 3
"""So many values or more at equal distances are a range."""


@dataclass(frozen=True, kw_only=True)
class SpaceAxis:
    """Values of one field, quantities as whole numbers of base units.

    Attributes
    ----------
    key
        A machine setting, ``cores`` or ``batch``.
    choices
        Values without an order that a sampler could use; empty for a range.
    low, high, step
        A range with both ends; ``step`` 0 where every number between them is meant.
    log
        Whether samplers draw its logarithm evenly, in place of the value.
    """

    key: str
    choices: tuple[Setting, ...] = ()
    low: int | float = 0
    high: int | float = 0
    step: int | float = 0
    log: bool = False

    @property
    def size(self) -> int | None:
        """How many values there are; None for real numbers without a step."""
        if self.choices:
            return len(self.choices)
        if self.step:
            # A quotient of floats may fall just below a whole number; the last value must not be
            # lost.
            return floor((self.high - self.low) / self.step * (1 + 1e-12)) + 1
        return None if isinstance(self.low, float) else int(self.high - self.low) + 1

    @property
    def ends(self) -> tuple[Setting, ...]:
        """Every choice, or both ends of the range."""
        return self.choices or tuple(dict.fromkeys((self.low, self.high)))

    def values(self) -> Iterator[Setting]:
        """Return all of them; there must be a ``size``."""
        return map(self.value, range(self.size or 0))

    def value(self, position: int) -> Setting:
        """Return the value at a position, from 0; there must be a ``size``."""
        return self.choices[position] if self.choices else self.low + position * (self.step or 1)

    def position(self, value: Setting) -> int:
        """Find where a value is; of a range, the nearest there is."""
        if self.choices or isinstance(value, str):
            return self.choices.index(value)
        return round((value - self.low) / (self.step or 1))

    def record(self) -> object:
        """Write it as :func:`read_axis` reads it."""
        if self.choices:
            return list(self.choices)
        ends = {"low": self.low, "high": self.high}
        return ends | ({"step": self.step} if self.step else {"log": self.log})


def read_axis(key: str, given: object, where: str) -> SpaceAxis:
    """Read an axis: a list of choices, a range as text or as a table, or one value.

    Texts of a list may be ranges. Choices of ``bank`` are all banks of a machine each, those of
    ``bypass`` all kinds of tensors that bypass its scratchpad, as a list or with commas.

    Raises
    ------
    InputError
        No such field, a value that does not fit it, or a range that is not one; ``where`` names
        the file.
    """
    if key not in FIELDS:
        known = [name for name in FIELDS if name in (*BESIDE, *UNTYPED)]
        raise InputError(f"{where}: {unknown('field of a space', key, known)}")
    what = f"{where}: {key}"
    if isinstance(given, Mapping):
        return _range(key, given, what)
    listed = given if isinstance(given, list) else [given]
    if not listed:
        raise InputError(f"{what}: an empty list; name at least one value")
    return _of_values(key, _different(key, listed, what))


def _different(key: str, given: list[object], what: str) -> tuple[Setting, ...]:
    """Return the values of a list, of which none may be another written anew."""
    values: list[Setting] = []
    # Two texts may mean one value, as 2MB and 2000kB: compare values, report texts.
    again = []
    for each in given:
        found = _values(key, each, what)
        if not {*values}.isdisjoint(found):
            again.append(str(each))
        values += found
    if again:
        repeated = ", ".join(dict.fromkeys(again))
        raise InputError(f"{what}: values repeat: {repeated}; name each once")
    return tuple(values)


def _is_range(key: str, given: object) -> bool:
    """Return whether it is a text of a range, or of several values."""
    # Texts of other fields, as names of files, may hold a colon or a comma.
    return isinstance(given, str) and bool(set(given) & set(":,")) and _is_whole(key)


def _values(key: str, given: object, what: str) -> tuple[Setting, ...]:
    """Return values of one text, a range too, or of one number."""
    if not _is_range(key, given):
        return (_value(key, given, what),)
    found = setting_axis(_as_quantity(key), str(given), what)
    return tuple(_value(key, each, what) for each in found)


def _of_values(key: str, values: tuple[Setting, ...]) -> SpaceAxis:
    """Return a range where the values are at equal distances, so that samplers know their order."""
    # In Python a bool is an int, but true and false have no distance.
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(values) >= _FEW and all(isinstance(v, int) for v in numbers):
        steps = {b - a for a, b in pairwise(numbers)}
        if len(steps) == 1 and min(steps) > 0:
            return SpaceAxis(key=key, low=numbers[0], high=numbers[-1], step=steps.pop())
    return SpaceAxis(key=key, choices=values)


def _range(key: str, given: Mapping[str, object], what: str) -> SpaceAxis:
    for name in given:
        if name not in RANGE:
            raise InputError(f"{what}: {unknown('entry of a range', name, RANGE)}")
    for name in ("low", "high"):
        if name not in given:
            raise InputError(f"{what}: a range needs low and high; {name} is missing")
    low, high = (_number(key, given[name], f"{what}.{name}") for name in ("low", "high"))
    if low > high:
        raise InputError(f"{what}: low = {given['low']!r} is above high = {given['high']!r}")
    log = given.get("log", False)
    if not isinstance(log, bool):
        raise InputError(f"{what}: log = {log!r}: must be true or false")
    step: int | float = 0
    if "step" in given:
        step = _step(key, given["step"], what, low, high)
    if log and step:
        raise InputError(f"{what}: log and step exclude each other; leave one out")
    if log and low <= 0:
        raise InputError(f"{what}: low = {given['low']!r}: a logarithm needs more than 0")
    # One value is a choice, which a space takes for a fixed field, not for an axis.
    if low == high:
        return SpaceAxis(key=key, choices=(low,))
    return SpaceAxis(key=key, low=low, high=high, step=step, log=log)


def _step(key: str, given: object, what: str, low: float, high: float) -> int | float:
    step = _number(key, given, f"{what}.step")
    if step <= 0:
        raise InputError(f"{what}: step = {given!r}: must be greater than 0")
    steps = (high - low) / step
    if abs(steps - round(steps)) > 1e-9:
        ends = (low + (floor(steps) + more) * step for more in (0, 1))
        shown = " or ".join(_show(key, end, given, what) for end in ends)
        raise InputError(
            f"{what}: steps of {given!r} from low do not end at high; let high be {shown}"
        )
    return step


def _show(key: str, value: float, like: object, what: str) -> str:
    """Return a number in the unit of another, in quotes where it has one."""
    if not (isinstance(like, str) and _is_whole(key)):
        return f"{value:.12g}"
    text = as_written(int(value), like, what, lambda one, where: int(_number(key, one, where)))
    return text if text.isdecimal() else f"'{text}'"


def _number(key: str, given: object, what: str) -> int | float:
    value = _value(key, given, what)
    if isinstance(value, str | bool):
        raise InputError(f"{what}: {key} is no number; list its choices, as [...]")
    return value


def _value(key: str, given: object, what: str) -> Setting:
    """Return one value of a field, read as the command line reads it."""
    if key == BANK:
        return _banks(given, what)
    if key == BYPASS:
        # One text for all kinds: a categorical choice of Optuna must be a scalar.
        kinds = given if isinstance(given, list) else str(given).split(",")
        return ",".join(read_bypass(map(str, kinds), what))
    if not isinstance(given, str | int | float):
        raise InputError(f"{what} = {given!r}: must be a text or a number")
    kind = _KINDS[key]
    # Before the numbers: int(True) is 1 and would pass as a count.
    if isinstance(given, bool) != (kind is bool):
        must = "true or false" if kind is bool else "no true or false"
        raise InputError(f"{what} = {given!r}: must be {must}")
    if isinstance(given, bool):
        return given
    if key in _COUNTS:
        value = count(str(given), what)
        if value < 1:
            raise InputError(f"{what} {given!r}: must be at least 1")
        return value
    if kind is float:
        try:
            return float(given)
        except ValueError:
            raise InputError(f"{what} = {given!r}: must be a number") from None
        except OverflowError:
            raise InputError(f"{what}: a number that is too large; write a smaller one") from None
    if isinstance(given, float):
        raise InputError(f"{what} = {given!r}: write a whole number, or a quantity in quotes")
    # setting_axis reads a comma as a separator of values; one value is expected here.
    text = given if isinstance(given, int) else given.replace(",", " ")
    (value_of,) = setting_axis(key, text, what)
    return value_of


def _banks(given: object, what: str) -> str:
    """Return all banks of a machine as one text, checked."""
    given = given if isinstance(given, list) else [given]
    texts = [part for text in given if isinstance(text, str) for part in split_banks(text)]
    if not given or not all(isinstance(text, str) for text in given):
        raise InputError(f"{what} = {given!r}: must be a text, or a list of texts, of banks")
    require_units(texts, what)
    read_banks(texts, what)
    return join_banks(texts)


def _is_whole(key: str) -> bool:
    """Return whether its values are whole numbers, of some unit."""
    return _KINDS[key] is int or isinstance(_KINDS[key], Dimension)


def _as_quantity(key: str) -> str:
    """Name a setting that is read alike: counts are whole numbers, as the rows of an array."""
    return "array.rows" if key in _COUNTS else key
