"""Sizes and rates with units, read exactly: ``24MB``, ``24MiB``, ``616GB/s``, ``1545MHz``.

Decimal prefixes (k, M, G, T) are powers of 1000, binary ones (Ki, Mi, Gi, Ti) of 1024. A bare
``b`` is refused, because it is as often a mistyped byte as it is a bit; ``bit`` is accepted.
There is no prefix for a thousandth (``24mB`` is a mistyped ``24MB``): the small units that
memories are measured in (ns, pJ, mW, mm2) are units of their own.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum
from math import floor, log10

from spmopt.core.errors import InputError

_PREFIXES = {
    **dict.fromkeys(("k", "K", "kilo"), 10**3),
    **dict.fromkeys(("M", "mega"), 10**6),
    **dict.fromkeys(("G", "giga"), 10**9),
    **dict.fromkeys(("T", "tera"), 10**12),
    **dict.fromkeys(("Ki", "kibi"), 2**10),
    **dict.fromkeys(("Mi", "mebi"), 2**20),
    **dict.fromkeys(("Gi", "gibi"), 2**30),
    **dict.fromkeys(("Ti", "tebi"), 2**40),
}
_UNITS = {
    **dict.fromkeys(("B", "byte"), ("byte", Decimal(1))),
    "bit": ("byte", Decimal("0.125")),
    **dict.fromkeys(("OP", "FLOP", "operation"), ("operation", Decimal(1))),
    "MAC": ("operation", Decimal(2)),
    **dict.fromkeys(("OPS", "FLOPS"), ("operation/second", Decimal(1))),
    **dict.fromkeys(("Hz", "hertz"), ("hertz", Decimal(1))),
    **dict.fromkeys(("s", "second"), ("nanosecond", Decimal("1e9"))),
    **dict.fromkeys(("ms", "millisecond"), ("nanosecond", Decimal("1e6"))),
    **dict.fromkeys(("us", "microsecond"), ("nanosecond", Decimal("1e3"))),
    **dict.fromkeys(("ns", "nanosecond"), ("nanosecond", Decimal(1))),
    **dict.fromkeys(("ps", "picosecond"), ("nanosecond", Decimal("1e-3"))),
    **dict.fromkeys(("J", "joule"), ("picojoule", Decimal("1e12"))),
    **dict.fromkeys(("nJ", "nanojoule"), ("picojoule", Decimal("1e3"))),
    **dict.fromkeys(("pJ", "picojoule"), ("picojoule", Decimal(1))),
    **dict.fromkeys(("fJ", "femtojoule"), ("picojoule", Decimal("1e-3"))),
    **dict.fromkeys(("W", "watt"), ("milliwatt", Decimal("1e3"))),
    **dict.fromkeys(("mW", "milliwatt"), ("milliwatt", Decimal(1))),
    **dict.fromkeys(("uW", "microwatt"), ("milliwatt", Decimal("1e-3"))),
    "mm2": ("square_millimeter", Decimal(1)),
    "um2": ("square_millimeter", Decimal("1e-6")),
}
"""Dimension of each unit, and its multiple of the base unit."""
_UNITS |= {f"{name}s": unit for name, unit in _UNITS.items() if len(name) > 1}  # no MBs
_QUANTITY = re.compile(r"([+-]?[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*2?)")
_LIMIT = Decimal(2**62)  # everything downstream is a 64-bit integer
_DIGITS = 30  # more cannot be meant, and would overflow below

LARGEST = 2**60
"""Of any single figure and any total; three bits are left for additions of schedulers."""


class Dimension(StrEnum):
    """Dimension of a quantity; the value is the unit that a bare number is in."""

    BYTES = "byte"
    BYTES_PER_S = "byte/second"
    OPERATIONS_PER_S = "operation/second"
    HERTZ = "hertz"
    NANOSECONDS = "nanosecond"
    PICOJOULES = "picojoule"
    MILLIWATTS = "milliwatt"
    SQUARE_MILLIMETERS = "square_millimeter"


_WORDS = {
    Dimension.BYTES: ("bytes", "24MB, 24MiB or 25165824B"),
    Dimension.BYTES_PER_S: ("bytes per second", "616GB/s"),
    Dimension.OPERATIONS_PER_S: ("operations per second", "13.45TFLOP/s"),
    Dimension.HERTZ: ("hertz", "1545MHz or 1.545GHz"),
    Dimension.NANOSECONDS: ("nanoseconds", "2.91ns"),
    Dimension.PICOJOULES: ("picojoules", "350pJ or 0.35nJ"),
    Dimension.MILLIWATTS: ("milliwatts", "748mW or 0.748W"),
    Dimension.SQUARE_MILLIMETERS: ("square millimeters", "5.53mm2"),
}
"""Plural of the unit, and an example of input."""


def parse_quantity(
    text: str | int, dimension: Dimension, what: str, example: str | None = None
) -> int:
    """Read a positive whole quantity: a text with a unit, or an integer in the dimension's own.

    ``what`` names the field in the error; ``example`` is its example of input, by default the
    dimension's. A text without a unit is refused: ``25`` may be meant as 25 GB/s.

    Returns
    -------
    int
        Bytes, bytes per second, operations per second (a multiply-accumulate is two) or hertz.

    Raises
    ------
    InputError
        Not a number, no unit or an unknown one, the wrong kind of unit, not positive, or not
        whole.
    """
    number, has_unit, write = _read(text, dimension, what, example)
    if isinstance(text, str) and not has_unit:
        raise InputError(f"{what} {text!r}: has no unit; {write}")
    if number != number.to_integral_value():
        raise InputError(f"{what} {text!r}: not a whole number of {_WORDS[dimension][0]}; round it")
    return int(number)


def parse_measure(text: str, dimension: Dimension, what: str) -> float:
    """Read a positive quantity that need not be whole, in units of ``dimension``.

    Raises
    ------
    InputError
        Not a number, no unit or an unknown one, the wrong kind of unit, or not positive.
    """
    number, has_unit, write = _read(text, dimension, what, None)
    if not has_unit:
        raise InputError(f"{what} {text!r}: has no unit; {write}")
    return float(number)


def _read(
    text: str | int, dimension: Dimension, what: str, example: str | None
) -> tuple[Decimal, bool, str]:
    """The number in ``dimension``'s unit, whether it bears a unit.

    And the example that errors show.
    """
    write = f"write for example {example or _WORDS[dimension][1]}"
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise InputError(f"{what} {text!r}: not a number with a unit; {write}")
    number = Decimal(match[1])
    if number <= 0:
        raise InputError(f"{what} {text!r}: must be greater than 0; {write}")
    # Before the multiplication: ``1e999999999`` would take minutes.
    if abs(number.adjusted()) > _DIGITS:
        raise InputError(f"{what} {text!r}: out of range; {write}")
    if match[2]:
        number *= _factor(match[2], dimension, f"{what} {text!r}", write)
    if number >= _LIMIT:
        raise InputError(f"{what} {text!r}: out of range; {write}")
    return number, bool(match[2]), write


def _factor(unit: str, dimension: Dimension, where: str, write: str) -> Decimal:
    """Return how many of ``dimension``'s own unit one ``unit`` is."""
    name, slash, time = unit.partition("/")
    kind, factor = _unit(name)
    if slash:
        per, duration = _unit(time)
        kind = f"{kind}/second" if per == "nanosecond" else ""
        # Units of time are kept in nanoseconds, rates are per second.
        factor /= duration * Decimal("1e-9")
    if kind != dimension:
        raise InputError(f"{where}: {unit!r} is not a unit of this quantity; {write}")
    return factor


def _unit(name: str) -> tuple[str, Decimal]:
    """Return the dimension of a unit, perhaps with a prefix; nothing if it is none."""
    # Before prefixes: ``ms`` is a millisecond, not a prefix m and seconds.
    if name in _UNITS:
        return _UNITS[name]
    for prefix, times in _PREFIXES.items():
        if name.startswith(prefix) and name[len(prefix) :] in _UNITS:
            kind, factor = _UNITS[name[len(prefix) :]]
            return kind, factor * times
    return "", Decimal(1)


def require_small(where: str, what: str, value: int) -> None:
    """Raise :class:`InputError` when ``value`` is above :data:`LARGEST`."""
    if value > LARGEST:
        raise InputError(
            f"{where}: {what} is {value}, but at most 2**60 can be computed with; make it smaller"
        )


_SYMBOLS = dict(zip(range(-12, 18, 3), ("p", "n", "µ", "m", "", *"kMGTP"), strict=True))
"""Decimal prefixes by their power of 10."""


def si(value: float, unit: str, *, fill: bool = False) -> str:
    """Return ``value`` with up to four digits and a decimal prefix: ``78.84 ms``, ``24 MB``.

    With ``fill`` always four, so that a column lines up: ``24.00 MB``.
    """
    if value == 0:
        return f"0 {unit}".rstrip()
    # Rounded first, so that 999,999 is 1 M and not 1000 k.
    rounded = float(f"{value:.4g}")
    power = 3 * floor(log10(abs(rounded)) / 3)
    # Beyond the known prefixes the digits grow instead.
    power = min(max(power, min(_SYMBOLS)), max(_SYMBOLS))
    scaled = rounded / 10.0**power
    digits = f"{scaled:#.4g}".rstrip(".") if fill else f"{scaled:.4g}"
    return f"{digits} {_SYMBOLS[power]}{unit}".rstrip()


def size(value: int) -> str:
    """Bytes as they were most likely written: ``24 MB``, but ``8 MiB`` where that is shorter.

    Values that neither prefix states in four digits are decimal, and rounded.
    """
    decimal = si(value, "B")
    most = len(decimal.split()[0]) if float(f"{value:.4g}") == value else len(decimal)
    for power, prefix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        scaled = value / 2**power
        digits = f"{scaled:.4g}"
        # Binary only where nothing is lost: 24 MB is not 22.89 MiB.
        is_exact = scaled >= 1 and "e" not in digits and float(digits) == scaled
        if is_exact and len(digits) < most:
            return f"{digits} {prefix}B"
    return decimal
