"""Fields and figures of trials as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spmopt.report.quantities import shown_bandwidth, shown_setting, si

if TYPE_CHECKING:
    from spmopt.search.findings.built import Built

UNITS = {
    "time_s": "s",
    "energy_j": "J",
    "traffic_bytes": "B",
    "power_w": "W",
    "edp_js": "J s",
    "edap_js_mm2": "J s mm2",
}


def shown_figure(name: str, value: float) -> str:
    """A figure; those without a prefix have the unit in their name."""
    return si(value, UNITS[name]) if name in UNITS else f"{value:.6g}"


def shown_fields(
    values: dict[str, bool | int | float | str], built: Built | None
) -> dict[str, str]:
    """Fields of a machine; where banks hold its channel back, the bandwidth says it."""
    found = {key: shown_setting(key, value) for key, value in values.items()}
    if built is not None and (built.is_held_back or "bandwidth" in found):
        rates = (built.dram_bytes_per_s, built.channel_bytes_per_s)
        found["bandwidth"] = shown_bandwidth(*rates)
    return found
