"""Figures of a machine and its schedules, for objectives, constraints and costs.

A figure is *static* if the machine alone says it, else it is of schedules. Times, energies and
bytes of several networks are summed by weight, and are for one sample where the batch is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Self

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.result import Totals
from spmopt.core.units import si
from spmopt.hardware.energy import area_report
from spmopt.metrics import metrics
from spmopt.search.candidate import Candidate

Cost = Mapping[str, float]
"""Price of a unit of each static figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Time, energy and traffic of schedules, all networks together."""

    time_s: float
    energy_j: float
    traffic_bytes: float

    @classmethod
    def of(cls, machine: Machine, totals: Totals) -> Self:
        """Return time, energy and traffic of one verified schedule."""
        own = metrics(machine, totals)
        return cls(
            time_s=own.time_s, energy_j=own.energy_j, traffic_bytes=float(totals.traffic_bytes)
        )

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
    # The report counts the array of one core; add the units of the others.
    return total + machine.area.mac_mm2 * (candidate.mac_units - machine.mac_units)


@dataclass(frozen=True)
class FigureOfMerit:
    """A figure, with all that is to be known of it; :data:`FIGURES` has one record of each.

    Attributes
    ----------
    name
        With its unit.
    short
        Name in options and tables; empty: ``name`` itself.
    unit
        Its values take decimal prefixes before it; empty: ``name`` says it, and they take none.
    needs
        Objectives of schedules that it depends on; empty: the machine alone says it.
    compute
        Function of the schedules' totals and the machine. It must rise with each total, rounding
        included, or be one of :data:`NOT_BOUNDED`.
    """

    name: str
    short: str
    unit: str
    needs: tuple[str, ...]
    compute: Callable[[Spent, Candidate], float]


_BOTH = ("time", "energy")
_ALL = (
    FigureOfMerit("time_s", "time", "s", ("time",), lambda spent, _: spent.time_s),
    FigureOfMerit("energy_j", "energy", "J", ("energy",), lambda spent, _: spent.energy_j),
    FigureOfMerit("traffic_bytes", "traffic", "B", ("traffic",), lambda one, _: one.traffic_bytes),
    FigureOfMerit("power_w", "power", "W", _BOTH, lambda spent, _: spent.power_w),
    FigureOfMerit("edp_js", "edp", "J s", _BOTH, lambda spent, _: spent.edp_js),
    FigureOfMerit("edap_js_mm2", "edap", "J s mm2", _BOTH, lambda s, m: s.edp_js * _area(m)),
    FigureOfMerit("area_mm2", "area", "", (), lambda _, each: _area(each)),
    FigureOfMerit("spm_mb", "", "", (), lambda _, each: each.machine.spm_bytes / 1e6),
    FigureOfMerit("gbps", "", "", (), lambda _, each: each.machine.dram_bytes_per_s / 1e9),
    FigureOfMerit("tflops", "", "", (), lambda _, each: each.machine.operations_per_s / 1e12),
    FigureOfMerit("clock_ghz", "", "", (), lambda _, each: each.machine.clock_hz / 1e9),
    FigureOfMerit("pes", "", "", (), lambda _, each: float(each.mac_units)),
    FigureOfMerit("cores", "", "", (), lambda _, each: float(each.cores)),
)
NOT_BOUNDED = ("power_w",)
"""Less energy and less time do not make less power."""
FIGURES: Mapping[str, FigureOfMerit] = MappingProxyType({figure.name: figure for figure in _ALL})
COST = "cost"
"""The figure that a space has prices for: a sum over figures of the machine."""
STATIC = (*(name for name, each in FIGURES.items() if not each.needs), COST)
NAMES = (*FIGURES, COST)
OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {each.short: name for name, each in FIGURES.items() if each.short} | {COST: COST}
)
"""Short names of figures."""
_NOTHING = Spent(time_s=0.0, energy_j=0.0, traffic_bytes=0.0)


def needs(name: str) -> tuple[str, ...]:
    """Name the objectives of schedules that a figure depends on."""
    return FIGURES[name].needs if name in FIGURES else ()


def figure_text(name: str, value: float) -> str:
    """Write a figure with its unit; those without a prefix have it in their name."""
    unit = FIGURES[name].unit if name in FIGURES else ""
    return si(value, unit) if unit else f"{value:.6g}"


def figure_named(name: str, label: str) -> str:
    """Find a figure by its own or its short name; errors call it ``label``.

    Raises
    ------
    InputError
        No such figure.
    """
    found = OBJECTIVES.get(name, name)
    if found not in NAMES:
        raise unknown(label, name, (*OBJECTIVES, *NAMES))
    return found


def static_figures(names: Iterable[str], candidate: Candidate, cost: Cost) -> dict[str, float]:
    """Compute the static figures among ``names``, which the machine alone determines.

    Raises
    ------
    InputError
        The area of a scratchpad without technology.
    """
    names = tuple(names)
    own = (name for name in names if name in STATIC and name != COST)
    found = {name: FIGURES[name].compute(_NOTHING, candidate) for name in own}
    if COST in names:
        values = static_figures(cost, candidate, {})
        found[COST] = sum(price * values[name] for name, price in cost.items())
    return found


def figures(
    names: Sequence[str], candidate: Candidate, cost: Cost, spent: Spent
) -> dict[str, float]:
    """Compute all of ``names``."""
    of_schedules = (name for name in names if name not in STATIC)
    return static_figures(names, candidate, cost) | {
        name: FIGURES[name].compute(spent, candidate) for name in of_schedules
    }


_FORM = re.compile(r"\s*([A-Za-z_0-9]+)\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """``figure <= limit``, or ``>=`` with ``least``."""

    figure: str
    limit: float
    least: bool = False

    def __str__(self) -> str:
        """Write it as a space file does."""
        return f"{self.figure} {'>=' if self.least else '<='} {self.limit:g}"

    @property
    def is_static(self) -> bool:
        """Whether the machine alone says whether it holds."""
        return self.figure in STATIC

    def excess(self, figures: Mapping[str, float]) -> float:
        """Measure how far beyond the limit, as a part of it where not 0; 0 or less: it holds."""
        beyond = figures[self.figure] - self.limit
        beyond = -beyond if self.least else beyond
        return beyond / abs(self.limit) if self.limit else beyond

    def is_excluded(self, least: Mapping[str, float]) -> bool:
        """Return whether no schedule can hold it, where its figures are at least those given."""
        if self.figure not in least:
            return False
        # Lower bounds cannot refute a constraint ">=": a schedule may be above them.
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
    # float() accepts nan and inf, which no figure could satisfy or violate.
    if not isfinite(limit):
        raise InputError(
            f"{where}: constraint {given!r}: {match[3]!r} is no number; the unit is that of "
            f"the figure, {figure}"
        )
    return Constraint(figure=figure, limit=limit, least=match[2] == ">=")
