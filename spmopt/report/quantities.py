"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def si(value: float, unit: str, *, fill: bool = False) -> str:
    """``value`` with up to four digits and a decimal prefix: ``78.84 ms``, ``24 MB``.

    With ``fill`` always four, so that a column lines up: ``24.00 MB``.
    """
    if value == 0:
        return f"0 {unit}"
    # Rounded first, so that 999,999 is 1 M and not 1000 k.
    rounded = float(f"{value:.4g}")
    power = 3 * floor(log10(abs(rounded)) / 3)
    power = min(max(power, min(_PREFIXES)), max(_PREFIXES))
    scaled = rounded / 10.0**power
    digits = f"{scaled:#.4g}" if fill else f"{scaled:.4g}"
    return f"{digits} {_PREFIXES[power]}{unit}"


def percent(part: float) -> str:
    """A relative difference: ``+13.4 %``, ``+3.25 %``; below 1 % two digits that count."""
    value = 100 * part
    if value == 0:
        return "0 %"
    size = floor(log10(abs(value)))
    if size < -6:
        return f"{value:+.1e} %"
    digits = 1 if size >= 1 else 2 if size == 0 else 1 - size
    return f"{value:+.{digits}f} %"


def seconds(value: float) -> str:
    """Run time: two digits after the point."""
    return f"{value:.2f}"
