"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from math import floor, log10

from spmopt.core.units import si, size

BINARY = "iB"  # unit of capacities with binary prefixes: KiB, MiB
PART = "part"  # unit of shares and of relative distances
_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti")

__all__ = [
    "BINARY",
    "PART",
    "capacities",
    "capacity",
    "capacity_unit",
    "duration",
    "percent",
    "seconds",
    "share",
    "shares_text",
    "show_bandwidth",
    "si",
    "size",
    "upward",
    "usage",
]

_LEAST = 0.0001  # percent
_LEAST_SIZE = -6  # powers of ten of a percentage that is written, smaller ones are rounding
_LEAST_FACTOR = 10
_LEAST_SHARE = 5e-4


def capacity_unit(values: Iterable[float]) -> str:
    """Return the unit that capacities of one column share: ``B`` (decimal) or :data:`BINARY`.

    It is the one that the user wrote: decimal where each value has at most four decimal digits and
    is no longer so than in binary, as ``24 MB`` is; else binary.
    """
    decimal = all(
        float(f"{value:.4g}") == value and "i" not in size(int(value)) for value in values
    )
    return "B" if decimal else BINARY


def capacity(value: float, unit: str = "") -> str:
    """Write a capacity of memory: ``384 KiB``, ``24 MB``; bytes that move are written by ``si``."""
    if (unit or capacity_unit([value])) == "B":
        return si(value, "B")
    power = 0
    while power < len(_PREFIXES) - 1 and abs(value) >= 1024 ** (power + 1):
        power += 1
    return f"{float(f'{value / 1024**power:.4g}'):g} {_PREFIXES[power]}B"


def capacities(values: Iterable[float]) -> list[str]:
    """Write the capacities of one column, all in one system."""
    known = list(values)
    unit = capacity_unit(known)
    return [capacity(value, unit) for value in known]


def usage(used: float, whole: float) -> str:
    """Write the use of a memory, both in the system of its capacity: ``1.5 MiB of 2 MiB``."""
    unit = capacity_unit([whole])
    return f"{capacity(used, unit)} of {capacity(whole, unit)}"


def upward(value: float, digits: int = 4) -> float:
    """Return the least number of so many digits that is no less: of what is said to be at most."""
    # Twelve digits first: of 7.000000000000001, which is 100 * 0.07, the last says nothing.
    known = Decimal(f"{value:.12g}")
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(known))


def percent(
    part: float, *, fill: bool = False, by: str = "", of: str = "", up: bool = False
) -> str:
    """Write a relative difference: ``+13.4 %``, ``+7 %``; below 1 % two digits that count.

    From ten times on the factor is written: ``107.7 times``. With ``fill`` zeros at the end stay,
    so that a column lines up: ``+7.00 %``; less than digits can show is ``< 0.0001 %``, and a
    factor ``107.7x``. ``by`` and ``of`` name the reference: ``+13.4 % over its bound`` and
    ``107.7 times its bound``; of a percentage ``by`` none does. ``up``: digits are those of a
    number that is no less.
    """
    if part >= _LEAST_FACTOR - 1:
        factor = f"{float(f'{upward(1 + part) if up else 1 + part:.4g}'):,.10g}"
        return f"{factor}x" if fill else f"{factor} times {of}".rstrip()
    return f"{_percentage(part, fill=fill, up=up)} {by and f'{by} {of}'}".rstrip()


def _percentage(part: float, *, fill: bool, up: bool) -> str:
    value = 100 * part
    if value == 0:
        return "0 %"
    size = floor(log10(abs(value)))
    if 0 < value < _LEAST and (fill or size < _LEAST_SIZE):
        return f"+{_LEAST} %" if up else f"< {_LEAST} %"
    places = 1 if size >= 1 else 2 if size == 0 else 1 - size
    value = upward(value, size + 1 + places) if up else value
    if size < _LEAST_SIZE:
        return f"{value:+.2g} %"
    digits = f"{value:+.{places}f}"
    return f"{digits if fill else digits.rstrip('0').rstrip('.')} %"


def share(part: float) -> str:
    """Write a part of a whole: ``90.5 %``."""
    return f"{round(100 * part, 1):g} %"


def shares_text(amounts: Mapping[str, int], whole: int) -> str:
    """Write parts of a whole by name, the largest first; none that would show as 0 %."""
    known = sorted(amounts.items(), key=lambda item: -item[1])
    parts = ((name, part / whole) for name, part in known if part >= _LEAST_SHARE * whole)
    return ", ".join(f"{share(part)} {name}" for name, part in parts)


def seconds(value: float) -> str:
    """Write run time in a column: two digits after the point."""
    return f"{value:.2f}"


def duration(value: float) -> str:
    """Write run time in a sentence, to three digits: ``1235 s``, ``3.08 s``, ``4.21 ms``."""
    return f"{value:.0f} s" if value >= 100 else si(float(f"{value:.3g}"), "s")


def show_bandwidth(dram_bytes_per_s: int, channel_bytes_per_s: int) -> str:
    """Write the rate of the DRAM, and of its channel where banks hold it back."""
    nominal = si(dram_bytes_per_s, "B/s")
    if channel_bytes_per_s == dram_bytes_per_s:
        return nominal
    return f"{nominal}, banks {si(channel_bytes_per_s, 'B/s')}"
