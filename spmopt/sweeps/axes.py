"""Ranges and lists of the command line: ``24MB:1000MB:2MB``, ``8:256:x2``, ``8,16,32``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from spmopt.core.errors import InputError
from spmopt.core.units import Dimension, parse_quantity
from spmopt.hardware.settings import BANK, KINDS, Setting, join_banks, require_units, split_banks

MOST = 100_000
"""Values of one axis; more are a mistake."""

Read = Callable[[str, str], int]
"""Reads one value; the second text is what it is called in errors."""


def setting_axis(key: str, text: str | int, what: str) -> tuple[Setting, ...]:
    """Values of a machine setting: quantities in base units; others, lists only, as they are.

    A quantity in a text has a unit; an integer is in base units.

    The banks of one machine have commas between them, those of several machines ``;``.

    Raises
    ------
    InputError
        ``text`` is no value, list or range; ``what`` names the option.
    """
    kind = KINDS.get(key)
    if isinstance(kind, Dimension):
        if isinstance(text, int):
            return (parse_quantity(text, kind, what),)
        return axis(text, what, lambda value, where: parse_quantity(value, kind, where))
    text = str(text)
    if kind is int:
        return axis(text, what, count)
    if key == BANK:
        machines = [split_banks(part) for part in text.split(";")]
        for banks in machines:
            require_units(banks, what)
        return tuple(dict.fromkeys(map(join_banks, machines)))
    return tuple(dict.fromkeys(_parts(text, what)))


def axis(text: str, what: str, read: Read) -> tuple[int, ...]:
    """Values of a comma list of values and ranges, each once, in the order given.

    A range is START:STOP:STEP with both ends; a STEP of ``x2`` doubles. Where no step ends at
    STOP, that is an error: to leave it out or to add it would both be a guess.

    Raises
    ------
    InputError
        A value that ``read`` refuses, or a range that is not one.
    """
    values: dict[int, None] = {}
    for part in _parts(text, what):
        if ":" in part:
            values.update(dict.fromkeys(_range(part, what, read)))
        else:
            values[read(part, what)] = None
        if len(values) > MOST:
            raise _too_many(text, what)
    return tuple(values)


def count(text: str, what: str) -> int:
    """Read a whole number, 0 or more; raises :class:`InputError`."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f"{what} {text!r}: not a whole number, 0 or more")
    return int(text)


def as_written(value: int, like: str, what: str, read: Read) -> str:
    """``value`` in the unit of the text ``like``: 12MiB as 8MiB; as it is where that is no number.

    Parameters
    ----------
    value
        In base units.
    like
        A text that ``read`` takes.
    what
        What it is called in errors.
    read
        Reads one value.
    """
    unit = like.strip().lstrip("0123456789._ ")
    if not unit:
        return str(value)
    one = read(f"1{unit}", what)
    number = f"{value / one:.12g}"
    return f"{number}{unit}" if Fraction(number) * one == value else str(value)


def _parts(text: str, what: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{what} {text!r}: an empty value between commas; leave it out")
    return parts


def _range(text: str, what: str, read: Read) -> Sequence[int]:
    fields = [field.strip() for field in text.split(":")]
    if len(fields) != 3 or not all(fields):
        example = "8:32:8" if read is count else "24MB:1000MB:2MB"
        raise InputError(f"{what} {text!r}: write a range as START:STOP:STEP, as {example}")
    start, stop = read(fields[0], what), read(fields[1], what)
    if stop < start:
        raise InputError(
            f"{what} {text!r}: {fields[1]} is less than {fields[0]}; write the smaller one first"
        )
    if fields[2].startswith("x"):
        values: Sequence[int] = _powers(text, what, start, stop, fields[2][1:])
        beyond = values[-1] * int(fields[2][1:])
    else:
        step = read(fields[2], what)
        if step < 1:
            raise InputError(f"{what} {text!r}: its step, the last figure, must be greater than 0")
        if (stop - start) // step >= MOST:
            raise _too_many(text, what)
        values = range(start, stop + 1, step)
        beyond = values[-1] + step
    if values[-1] != stop:
        ends = (as_written(end, fields[1], what, read) for end in (values[-1], beyond))
        raise InputError(
            f"{what} {text!r}: steps of {fields[2]} from {fields[0]} do not end at {fields[1]}; "
            f"let the range end at {' or '.join(ends)}"
        )
    return values


def _powers(text: str, what: str, start: int, stop: int, factor_text: str) -> list[int]:
    factor = int(factor_text) if factor_text.isdecimal() and len(factor_text) < 10 else 0
    if factor < 2 or start < 1:
        raise InputError(f"{what} {text!r}: what is multiplied begins at 1 or more, by x2 or more")
    values = [start]
    while values[-1] * factor <= stop:
        values.append(values[-1] * factor)
    return values


def _too_many(text: str, what: str) -> InputError:
    return InputError(f"{what} {text!r}: more than {MOST} values; take a larger step")
