"""What a machine and its schedules come to: the figures of objectives, constraints and costs.

A figure is *static* if the machine alone says it, else it is of schedules. Times, energies and
bytes of several networks are summed by weight, and are for one sample where the batch is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from spmopt.core.errors import InputError, unknown
from spmopt.hardware.energy import area_report
from spmopt.search.space.candidate import Candidate

Cost = Mapping[str, float]
"""Price of a unit of each static figure."""

OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "time": "time_s",
        "energy": "energy_j",
        "traffic": "traffic_bytes",
        "power": "power_w",
        "edp": "edp_js",
        "edap": "edap_js_mm2",
        "area": "area_mm2",
        "cost": "cost",
    }
)
"""Short names of figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What schedules take, all networks together."""

    time_s: float
    energy_j: float
    traffic_bytes: float


def _area(candidate: Candidate) -> float:
    machine = candidate.machine
    total = area_report(machine).total_mm2
    if total is None:
        raise InputError(
            "area_mm2: the area of the scratchpad is not known; name its technology, as "
            "technology = 'nvsim-sram' in the space"
        )
    return total + machine.area.mac_mm2 * (candidate.mac_units - machine.mac_units)


_STATIC: Mapping[str, Callable[[Candidate], float]] = MappingProxyType(
    {
        "area_mm2": _area,
        "spm_mb": lambda candidate: candidate.machine.spm_bytes / 1e6,
        "gbps": lambda candidate: candidate.machine.dram_bytes_per_s / 1e9,
        "tflops": lambda candidate: candidate.machine.operations_per_s / 1e12,
        "clock_ghz": lambda candidate: candidate.machine.clock_hz / 1e9,
        "pes": lambda candidate: float(candidate.mac_units),
        "cores": lambda candidate: float(candidate.cores),
    }
)
_SPENT: Mapping[str, Callable[[Spent], float]] = MappingProxyType(
    {
        "time_s": lambda spent: spent.time_s,
        "energy_j": lambda spent: spent.energy_j,
        "traffic_bytes": lambda spent: spent.traffic_bytes,
        "power_w": lambda spent: spent.energy_j / spent.time_s if spent.time_s else 0.0,
        "edp_js": lambda spent: spent.energy_j * spent.time_s,
    }
)
STATIC = (*_STATIC, "cost")
NAMES = (*_SPENT, "edap_js_mm2", *STATIC)
NOT_BOUNDED = ("power_w",)
"""Less energy and less time do not make less power."""
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "time_s": ("time",),
        "energy_j": ("energy",),
        "traffic_bytes": ("traffic",),
        "power_w": ("time", "energy"),
        "edp_js": ("time", "energy"),
        "edap_js_mm2": ("time", "energy"),
    }
)
"""Objectives of schedules that a figure depends on."""


def figure_named(name: str, what: str) -> str:
    """A figure by its own or its short name; ``what`` is what errors call it.

    Raises
    ------
    InputError
        No such figure.
    """
    found = OBJECTIVES.get(name, name)
    if found not in NAMES:
        raise unknown(what, name, (*OBJECTIVES, *NAMES))
    return found


def static_figures(names: Iterable[str], candidate: Candidate, cost: Cost) -> dict[str, float]:
    """Those of ``names`` that the machine alone says.

    Raises
    ------
    InputError
        The area of a scratchpad without technology.
    """
    found = {name: _STATIC[name](candidate) for name in names if name in _STATIC}
    if "cost" in names:
        found["cost"] = sum(price * _STATIC[name](candidate) for name, price in cost.items())
    return found


def figures(
    names: Iterable[str], candidate: Candidate, cost: Cost, spent: Spent
) -> dict[str, float]:
    """All of ``names``.

    Each but those of ``NOT_BOUNDED`` rises with each part of ``spent``, rounding included, so
    that what is computed from the least of each is below what any schedule comes to.
    """
    names = tuple(names)
    found = static_figures(names, candidate, cost)
    found |= {name: _SPENT[name](spent) for name in names if name in _SPENT}
    if "edap_js_mm2" in names:
        found["edap_js_mm2"] = _SPENT["edp_js"](spent) * _area(candidate)
    return found
