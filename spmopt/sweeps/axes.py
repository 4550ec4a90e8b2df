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
"""Reads one value; the second text is its name in errors."""


def setting_axis(key: str, text: str | int, name: str) -> tuple[Setting, ...]:
    """Values of a machine setting: quantities in base units; others, lists only, as they are.

    A quantity in a text has a unit; an integer is in base units.

    The banks of one machine have commas between them, those of several machines ``;``.

    Raises
    ------
    InputError
        ``text`` is no value, list or range; ``name`` is the option.
    """
    kind = KINDS.get(key)
    if isinstance(kind, Dimension):
        if isinstance(text, int):
            return (parse_quantity(text, kind, name),)
        return axis(text, name, lambda value, where: parse_quantity(value, kind, where))
    text = str(text)
    if kind is int:
        return axis(text, name, count)
    if key == BANK:
        machines = [split_banks(part) for part in text.split(";")]
        for banks in machines:
            require_units(banks, name)
        return tuple(dict.fromkeys(map(join_banks, machines)))
    return tuple(dict.fromkeys(_parts(text, name)))


def axis(text: str, name: str, read: Read) -> tuple[int, ...]:
    """Values of a comma list of values and ranges, each once, in the order given.

    A range is START:STOP:STEP with both ends; a STEP of ``x2`` doubles. Where no step ends at
    STOP, that is an error: to leave it out or to add it would both be a guess.

    Raises
    ------
    InputError
        A value that ``read`` refuses, or a range that is not one.
    """
    values: dict[int, None] = {}
    for part in _parts(text, name):
        if ":" in part:
            values.update(dict.fromkeys(_range(part, name, read)))
        else:
            values[read(part, name)] = None
        if len(values) > MOST:
            raise _too_many(text, name)
    return tuple(values)


def count(text: str, name: str) -> int:
    """Read a whole number, 0 or more; raises :class:`InputError`."""
    # isdigit alone accepts other scripts; 18 digits fit 64 bits.
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f"{name} {text!r}: not a whole number, 0 or more")
    return int(text)


def as_written(value: int, like: str, name: str, read: Read) -> str:
    """``value`` in the unit of the text ``like``: 12MiB as 8MiB; as it is where that is no number.

    Parameters
    ----------
    value
        In base units.
    like
        A text that ``read`` takes.
    name
        Name in errors.
    read
        Reads one value.
    """
    unit = like.strip().lstrip("0123456789._ ")
    if not unit:
        return str(value)
    # The value of the unit itself, by the reader that knows its prefixes.
    one = read(f"1{unit}", name)
    number = f"{value / one:.12g}"
    return f"{number}{unit}" if Fraction(number) * one == value else str(value)


def _parts(text: str, name: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{name} {text!r}: an empty value between commas; leave it out")
    return parts


def _range(text: str, name: str, read: Read) -> Sequence[int]:
    fields = [field.strip() for field in text.split(":")]
    if len(fields) != 3 or not all(fields):
        example = "8:32:8" if read is count else "24MB:1000MB:2MB"
        raise InputError(f"{name} {text!r}: write a range as START:STOP:STEP, as {example}")
    start, stop = read(fields[0], name), read(fields[1], name)
    if stop < start:
        raise InputError(
            f"{name} {text!r}: {fields[1]} is less than {fields[0]}; write the smaller one first"
        )
    if fields[2].startswith("x"):
        values: Sequence[int] = _powers(text, name, start, stop, fields[2][1:])
        beyond = values[-1] * int(fields[2][1:])
    else:
        step = read(fields[2], name)
        if step < 1:
            raise InputError(f"{name} {text!r}: its step, the last figure, must be greater than 0")
        # Before the range is listed: a tiny step would fill the memory.
        if (stop - start) // step >= MOST:
            raise _too_many(text, name)
        values = range(start, stop + 1, step)
        beyond = values[-1] + step
    if values[-1] != stop:
        ends = (as_written(end, fields[1], name, read) for end in (values[-1], beyond))
        raise InputError(
            f"{name} {text!r}: steps of {fields[2]} from {fields[0]} do not end at {fields[1]}; "
            f"let the range end at {' or '.join(ends)}"
        )
    return values


def _powers(text: str, name: str, start: int, stop: int, factor_text: str) -> list[int]:
    factor = int(factor_text) if factor_text.isdecimal() and len(factor_text) < 10 else 0
    if factor < 2 or start < 1:
        raise InputError(f"{name} {text!r}: what is multiplied begins at 1 or more, by x2 or more")
    values = [start]
    while values[-1] * factor <= stop:
        values.append(values[-1] * factor)
    return values


def _too_many(text: str, name: str) -> InputError:
    return InputError(f"{name} {text!r}: more than {MOST} values; take a larger step")
