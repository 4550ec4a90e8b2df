"""What a machine and its schedules come to: the figures of objectives, constraints and costs.

A figure is *static* if the machine alone says it, else it is of schedules. Times, energies and
bytes of several networks are summed by weight, and are for one sample where the batch is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

from spmopt.core.errors import InputError, unknown
from spmopt.core.units import si
from spmopt.hardware.energy import area_report
from spmopt.search.candidate import Candidate

Cost = Mapping[str, float]
"""Price of a unit of each static figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What schedules take, all networks together."""

    time_s: float
    energy_j: float
    traffic_bytes: float

    @property
    def power_w(self) -> float:
        """Average power."""
        return self.energy_j / self.time_s if self.time_s else 0.0

    @property
    def edp_js(self) -> float:
        """Energy-delay product."""
        return self.energy_j * self.time_s


def _area(candidate: Candidate) -> float:
    machine = candidate.machine
    total = area_report(machine).total_mm2
    if total is None:
        raise InputError(
            "area_mm2: the area of the scratchpad is not known; name its technology, as "
            "technology = 'nvsim-sram' in the space"
        )
    return total + machine.area.mac_mm2 * (candidate.mac_units - machine.mac_units)


@dataclass(frozen=True)
class Figure:
    """A figure, with all that is to be known of it; :data:`FIGURES` has one record of each.

    Attributes
    ----------
    name
        With its unit.
    short
        What people call it; empty: as ``name`` says.
    unit
        Its values take decimal prefixes before it; empty: ``name`` says it, and they take none.
    of_machine, of_schedules
        Compute it: from the machine alone, or from what schedules take, too. The latter, unless
        ``is_bounded`` is false, must rise with each part of what they take, rounding included.
    needs
        Objectives of schedules that it depends on.
    is_bounded
        Whether what is computed from the least of each part is below what any schedule comes to.
    has_area
        Whether the area of the machine is part of it.
    """

    name: str
    short: str = ""
    unit: str = ""
    of_machine: Callable[[Candidate], float] | None = None
    of_schedules: Callable[[Spent, Candidate], float] | None = None
    needs: tuple[str, ...] = ()
    is_bounded: bool = True
    has_area: bool = False


_BOTH = ("time", "energy")
_ALL = (
    Figure("time_s", "time", "s", of_schedules=lambda spent, _: spent.time_s, needs=("time",)),
    Figure(
        "energy_j", "energy", "J", of_schedules=lambda spent, _: spent.energy_j, needs=("energy",)
    ),
    Figure(
        "traffic_bytes",
        "traffic",
        "B",
        of_schedules=lambda spent, _: spent.traffic_bytes,
        needs=("traffic",),
    ),
    # Less energy and less time do not make less power.
    Figure(
        "power_w",
        "power",
        "W",
        of_schedules=lambda spent, _: spent.power_w,
        needs=_BOTH,
        is_bounded=False,
    ),
    Figure("edp_js", "edp", "J s", of_schedules=lambda spent, _: spent.edp_js, needs=_BOTH),
    Figure(
        "edap_js_mm2",
        "edap",
        "J s mm2",
        of_schedules=lambda spent, machine: spent.edp_js * _area(machine),
        needs=_BOTH,
        has_area=True,
    ),
    Figure("area_mm2", "area", of_machine=_area, has_area=True),
    Figure("spm_mb", of_machine=lambda each: each.machine.spm_bytes / 1e6),
    Figure("gbps", of_machine=lambda each: each.machine.dram_bytes_per_s / 1e9),
    Figure("tflops", of_machine=lambda each: each.machine.operations_per_s / 1e12),
    Figure("clock_ghz", of_machine=lambda each: each.machine.clock_hz / 1e9),
    Figure("pes", of_machine=lambda each: float(each.mac_units)),
    Figure("cores", of_machine=lambda each: float(each.cores)),
)
FIGURES: Mapping[str, Figure] = MappingProxyType({figure.name: figure for figure in _ALL})
COST = "cost"
"""The figure that a space has prices for: a sum over figures of the machine."""
STATIC = (*(name for name, each in FIGURES.items() if each.of_machine), COST)
NAMES = (*FIGURES, COST)
OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {each.short: name for name, each in FIGURES.items() if each.short} | {COST: COST}
)
"""Short names of figures."""
NOT_BOUNDED = tuple(name for name, each in FIGURES.items() if not each.is_bounded)


def needs(name: str) -> tuple[str, ...]:
    """Name the objectives of schedules that a figure depends on."""
    return FIGURES[name].needs if name in FIGURES else ()


def figure_text(name: str, value: float) -> str:
    """Write a figure with its unit; those without a prefix have it in their name."""
    unit = FIGURES[name].unit if name in FIGURES else ""
    return si(value, unit) if unit else f"{value:.6g}"


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
    """Compute those of ``names`` that the machine alone says.

    Raises
    ------
    InputError
        The area of a scratchpad without technology.
    """
    names = tuple(names)
    found = {}
    for name in names:
        if name in FIGURES and (compute := FIGURES[name].of_machine) is not None:
            found[name] = compute(candidate)
    if COST in names:
        values = static_figures(cost, candidate, {})
        found[COST] = sum(price * values[name] for name, price in cost.items())
    return found


def figures(
    names: Iterable[str], candidate: Candidate, cost: Cost, spent: Spent
) -> dict[str, float]:
    """Compute all of ``names``."""
    names = tuple(names)
    found = static_figures(names, candidate, cost)
    for name in names:
        if name in FIGURES and (compute := FIGURES[name].of_schedules) is not None:
            found[name] = compute(spent, candidate)
    return found


_FORM = re.compile(r"\s*([A-Za-z_0-9]+)\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """``figure <= limit``, or ``>=`` with ``least``."""

    figure: str
    limit: float
    least: bool = False

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.figure} {'>=' if self.least else '<='} {self.limit:g}"

    @property
    def is_static(self) -> bool:
        """Whether the machine alone says whether it holds."""
        return self.figure in STATIC

    def excess(self, figures: Mapping[str, float]) -> float:
        """How far beyond the limit, as a part of it where it is not 0; 0 or less: it holds."""
        beyond = figures[self.figure] - self.limit
        beyond = -beyond if self.least else beyond
        return beyond / abs(self.limit) if self.limit else beyond

    def excluded(self, least: Mapping[str, float]) -> bool:
        """Whether no schedule can hold it, where its figures are at least those given."""
        if self.figure not in least:
            return False
        bounded = self.is_static or not (self.least or self.figure in NOT_BOUNDED)
        return bounded and self.excess(least) > 0


def read_constraint(given: object, where: str) -> Constraint:
    """Read one.

    Raises
    ------
    InputError
        Not of the form FIGURE <= NUMBER, or an unknown figure.
    """
    match = _FORM.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise InputError(f"{where}: constraint {given!r}: write FIGURE <= NUMBER, or >=")
    figure = figure_named(match[1], f"figure of constraint {given!r} ({where})")
    try:
        limit = float(match[3])
    except ValueError:
        limit = float("nan")
    if not isfinite(limit):
        raise InputError(
            f"{where}: constraint {given!r}: {match[3]!r} is no number; the unit is that of "
            f"the figure, {figure}"
        )
    return Constraint(figure=figure, limit=limit, least=match[2] == ">=")
