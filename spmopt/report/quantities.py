"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10

from spmopt.hardware.settings import Setting

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}

_LEAST = 0.0001  # percent
_SETTING_UNITS = {"bandwidth": "B/s", "throughput": "FLOP/s", "clock": "Hz"}


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
    digits = f"{scaled:#.4g}".rstrip(".") if fill else f"{scaled:.4g}"
    return f"{digits} {_PREFIXES[power]}{unit}"


def size(value: int) -> str:
    """Bytes as they were most likely written: ``24 MB``, but ``8 MiB`` where that is shorter.

    What neither prefix says in four digits is decimal, and rounded.
    """
    decimal = si(value, "B")
    most = len(decimal.split()[0]) if float(f"{value:.4g}") == value else len(decimal)
    for power, prefix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        scaled = value / 2**power
        digits = f"{scaled:.4g}"
        is_exact = scaled >= 1 and "e" not in digits and float(digits) == scaled
        if is_exact and len(digits) < most:
            return f"{digits} {prefix}B"
    return decimal


def percent(part: float, *, fill: bool = False) -> str:
    """A relative difference: ``+13.4 %``, ``+7 %``; below 1 % two digits that count.

    With ``fill`` no zero at the end is left out, so that a column lines up: ``+7.00 %``; and what
    is less than a column can tell from nothing is ``< 0.0001 %``.
    """
    value = 100 * part
    if value == 0:
        return "0 %"
    size = floor(log10(abs(value)))
    if fill and 0 < value < _LEAST:
        return f"< {_LEAST} %"
    if size < -6:
        return f"{value:+.2g} %"
    places = 1 if size >= 1 else 2 if size == 0 else 1 - size
    digits = f"{value:+.{places}f}"
    return f"{digits if fill else digits.rstrip('0').rstrip('.')} %"


def share(part: float) -> str:
    """A part of a whole: ``90.5 %``."""
    return f"{round(100 * part, 1):g} %"


def seconds(value: float) -> str:
    """Run time in a column: two digits after the point."""
    return f"{value:.2f}"


def duration(value: float) -> str:
    """Run time in a sentence, to three digits: ``1235 s``, ``17 s``, ``3.08 s``, ``4.21 ms``."""
    return f"{value:.0f} s" if value >= 100 else si(float(f"{value:.3g}"), "s")


def shown_setting(key: str, value: Setting) -> str:
    """A value of the setting ``key``, in base units, with its unit: ``616 GB/s``, ``8 MiB``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if key in ("spm", "page"):
        return size(int(value))
    unit = _SETTING_UNITS.get(key)
    return f"{value:.6g}" if unit is None else si(value, unit)


def shown_bandwidth(dram_bytes_per_s: int, channel_bytes_per_s: int) -> str:
    """What the DRAM could move, and what its channel moves where banks hold it back."""
    nominal = si(dram_bytes_per_s, "B/s")
    if channel_bytes_per_s == dram_bytes_per_s:
        return nominal
    return f"{nominal}, banks {si(channel_bytes_per_s, 'B/s')}"
