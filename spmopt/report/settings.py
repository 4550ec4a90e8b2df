"""Settings of a machine as people write them."""

from __future__ import annotations

from spmopt.hardware.settings import Setting
from spmopt.report.quantities import si, size

_SIZES = ("spm", "page")
_UNITS = {"bandwidth": "B/s", "throughput": "FLOP/s", "clock": "Hz"}


def shown_setting(key: str, value: Setting) -> str:
    """A value of the setting ``key``, in base units, with its unit: ``616 GB/s``, ``8 MiB``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if key in _SIZES:
        return size(int(value))
    unit = _UNITS.get(key)
    return f"{value:.6g}" if unit is None else si(value, unit)


def shown_bandwidth(dram_bytes_per_s: int, channel_bytes_per_s: int) -> str:
    """What the DRAM could move, and what its channel moves where banks hold it back."""
    nominal = si(dram_bytes_per_s, "B/s")
    if channel_bytes_per_s == dram_bytes_per_s:
        return nominal
    return f"{nominal}, banks {si(channel_bytes_per_s, 'B/s')}"
