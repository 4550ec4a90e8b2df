"""A space of machines, from a TOML file: base machine, axes, constraints, costs, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from math import prod
from pathlib import Path
from sys import float_info
from typing import Any

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.units import Dimension, parse_quantity
from spmopt.core.validation import read_toml
from spmopt.hardware.machines import RateError, load_machine
from spmopt.hardware.settings import (
    BANK,
    KINDS,
    TYPED,
    Setting,
    from_folder,
    from_settings,
    to_settings,
)
from spmopt.hardware.technologies import load_technology
from spmopt.search.axes import RANGE, SpaceAxis, read_axis
from spmopt.search.candidate import Candidate
from spmopt.search.figures import (
    STATIC,
    Constraint,
    Cost,
    figure_named,
    read_constraint,
    static_figures,
)

_ENTRIES = ("machine", "space", "constraints", "cost", "weights")
DEFAULT_MACHINE = "rtx2080ti"
_MOST = 4096
"""Points that are looked at before the search begins."""


@dataclass(frozen=True, kw_only=True)
class Space:
    """Choices of a machine, and constraints on it.

    Attributes
    ----------
    machine
        Base machine whose fields are changed.
    axes
        Fields of which there are several values.
    fixed
        Fields of which there is one.
    constraints, cost, weights
        By figure, by static figure, by network.
    """

    machine: Machine
    axes: tuple[SpaceAxis, ...]
    fixed: Mapping[str, Setting] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    cost: Cost = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def size(self) -> int | None:
        """How many points there are; None for real numbers without a step."""
        sizes = [axis.size for axis in self.axes]
        known = [size for size in sizes if size is not None]
        return prod(known) if len(known) == len(sizes) else None

    @property
    def has_batch(self) -> bool:
        """Whether the batch is a field, so that figures are for one sample."""
        return "batch" in self.fixed or any(axis.key == "batch" for axis in self.axes)

    def candidate(self, values: Mapping[str, Setting]) -> Candidate:
        """Return the machine at a point; raises :class:`InputError` where there is none."""
        return Candidate.of(self.machine, {**self.fixed, **values})

    def possible(self, values: Mapping[str, Setting]) -> Candidate | None:
        """Return the machine at a point; None where there is none."""
        try:
            return self.candidate(values)
        except InputError:
            return None

    def points(self) -> Iterator[dict[str, Setting]]:
        """Yield every point, or where they are too many each with all fields at an end."""
        size = self.size
        every = size is not None and size <= _MOST
        # Figures are mostly monotone in each field, so that ends show most impossible cases.
        columns = [list(axis.values()) if every else axis.ends for axis in self.axes]
        keys = [axis.key for axis in self.axes]
        for values in islice(product(*columns), _MOST):
            yield dict(zip(keys, values, strict=True))

    def require_possible(self, names: tuple[str, ...]) -> None:
        """Raise unless some point makes a machine with the static figures ``names``.

        Raises
        ------
        InputError
            No point does, or none that is looked at holds a static constraint.
        """
        static = [each for each in self.constraints if each.is_static]
        wanted = {*names, *(each.figure for each in static)} & {*STATIC}
        found: list[dict[str, float]] = []
        wrong: InputError | None = None
        for point in self.points():
            try:
                found.append(static_figures(sorted(wanted), self.candidate(point), self.cost))
            except InputError as error:
                wrong = wrong or error
            if found and all(each.excess(found[-1]) <= 0 for each in static):
                return
        if not found and wrong is not None:
            raise wrong
        raise InputError(self._never(static, found))

    def _never(self, static: list[Constraint], found: list[dict[str, float]]) -> str:
        for each in static:
            values = [figures[each.figure] for figures in found]
            if all(each.excess(figures) > 0 for figures in found):
                best = f"{max(values):.6g} at most" if each.least else f"{min(values):.6g} at least"
                return f"constraint {each}: nothing in the space holds it, {each.figure} is {best}"
        together = " and ".join(map(str, static))
        return f"constraints {together}: nothing in the space holds them together; widen one"

    def record(self) -> dict[str, object]:
        """Write it as tables that :func:`space_of` reads."""
        fixed = {key: [value] for key, value in self.fixed.items()}
        return {
            "machine": to_settings(self.machine),
            "space": fixed | {axis.key: axis.record() for axis in self.axes},
            "constraints": [str(each) for each in self.constraints],
            "cost": dict(self.cost),
            "weights": dict(self.weights),
        }


def read_space(
    path: Path, machine: Machine | None = None, *, replacement: Machine | None = None
) -> Space:
    """Read a space file; ``machine`` as in :func:`space_of`.

    ``replacement`` takes the place of the machine that the file names.

    Raises
    ------
    InputError
        A file that cannot be read, is not TOML, or has impossible entries.
    """
    tables = read_toml(path, f"space {path}")
    _require_units(tables, f"space {path}")
    if replacement is not None and machine is None:
        tables = {name: table for name, table in tables.items() if name != "machine"}
    # The table is removed above, so that space_of does not take it for a second machine.
    own = machine or replacement
    space = space_of(tables, f"space {path}", folder=path.parent, machine=own)
    _require_technologies(space, f"space {path}")
    return space


def _require_units(tables: Mapping[str, object], where: str) -> None:
    """Refuse bare numbers for sizes and rates, which records alone have, in base units."""
    fields = tables.get("space")
    for key, kind in KINDS.items():
        given = fields.get(key) if isinstance(fields, dict) else None
        values = list(given.values()) if isinstance(given, dict) else given
        for value in values if isinstance(values, list) else [values]:
            if isinstance(kind, Dimension) and type(value) is int:
                parse_quantity(str(value), kind, f"{where}: {key}")


def space_of(
    tables: Mapping[str, object],
    where: str,
    *,
    folder: Path = Path(),
    machine: Machine | None = None,
) -> Space:
    """Make a space of tables.

    Parameters
    ----------
    tables
        As in a file.
    where
        Name of the tables in errors.
    folder
        Where paths of machines and technologies start.
    machine
        Machine of a stored problem, which its cycles are for; tables must not name another.

    Raises
    ------
    InputError
        An unknown entry or field, or one that does not fit.
    """
    for name in tables:
        if name not in _ENTRIES:
            raise InputError(f"{where}: {unknown('entry', name, _ENTRIES)}")
    if machine is not None and "machine" in tables:
        raise InputError(f"{where}: machine: a stored problem has its own; leave it out")
    base = machine or _machine(tables.get("machine", DEFAULT_MACHINE), where, folder)
    found = [
        read_axis(key, _from_folder(key, given, folder), where)
        for key, given in _flat(_table(tables.get("space", {}), f"{where}: space")).items()
    ]
    alone = {axis.key: axis.choices[0] for axis in found if len(axis.choices) == 1}
    axes = tuple(axis for axis in found if axis.key not in alone)
    if not axes:
        raise InputError(f"{where}: nothing to choose; give a field in [space] several values")
    _require_settings(base, axes, alone, where)
    return Space(
        machine=base,
        axes=axes,
        fixed=alone,
        constraints=_constraints(tables.get("constraints", []), where),
        cost=_cost(_numbers(tables.get("cost", {}), f"{where}: cost"), where),
        weights=_numbers(tables.get("weights", {}), f"{where}: weights"),
    )


def _constraints(given: object, where: str) -> tuple[Constraint, ...]:
    if not isinstance(given, list):
        raise InputError(f"{where}: constraints: must be a list of texts, as ['area_mm2 <= 50']")
    return tuple(read_constraint(each, where) for each in given)


def _machine(given: object, where: str, folder: Path) -> Machine:
    if isinstance(given, dict):
        own = {key: _from_folder(key, value, folder) for key, value in given.items()}
        return from_settings(own, f"{where}: machine")
    if not isinstance(given, str):
        raise InputError(f"{where}: machine = {given!r}: must be a name or a file, in quotes")
    is_file = given.endswith((".toml", ".yaml", ".yml"))
    return load_machine(str(folder / given) if is_file else given)


def _require_settings(
    machine: Machine, axes: tuple[SpaceAxis, ...], alone: Mapping[str, Setting], where: str
) -> None:
    """Raise unless some ends of the settings go together, in any order; name those that do not.

    The message tries every end of a setting with the others at their first values. A throughput
    that contradicts the array is wrong at any point: to pass over such points is to search another
    space than is asked for.
    """
    keys, known = [axis.key for axis in axes], False
    rated = "throughput" in {*keys, *alone}
    for ends in islice(product(*(axis.ends for axis in axes)), _MOST):
        wrong = _error(machine, {**alone, **dict(zip(keys, ends, strict=True))})
        if rated and isinstance(wrong, RateError):
            raise InputError(f"{where}: throughput: {wrong}")
        known |= wrong is None
        # One possible point suffices, unless a throughput could contradict the array at a later
        # one.
        if known and not rated:
            break
    if known:
        return
    first = {**alone, **{axis.key: axis.ends[0] for axis in axes}}
    for axis in axes:
        errors = [_error(machine, {**first, axis.key: end}) for end in axis.ends]
        if None not in errors:
            raise InputError(f"{where}: {axis.key}: {errors[0]}")


def _error(machine: Machine, values: Mapping[str, Setting]) -> InputError | None:
    """Return the error of a point, if any."""
    try:
        Candidate.of(machine, values)
    except InputError as error:
        return error
    return None


def _require_technologies(space: Space, where: str) -> None:
    """Load every one that is named, for a wrong name would only make points impossible."""
    for axis in (axis for axis in space.axes if axis.key == "technology"):
        for name in axis.choices:
            try:
                load_technology(str(name))
            except InputError as error:
                raise InputError(f"{where}: technology: {error}") from None


def _cost(prices: Mapping[str, float], where: str) -> dict[str, float]:
    known = [name for name in STATIC if name != "cost"]
    found = {}
    for name, price in prices.items():
        figure = figure_named(name, f"figure of the cost ({where})")
        if figure not in known:
            raise InputError(f"{where}: cost.{name}: takes {', '.join(known)}")
        found[figure] = price
    return found


def _numbers(given: object, where: str) -> dict[str, float]:
    found = {}
    for name, value in _table(given, where).items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 <= value <= float_info.max
        ):
            raise InputError(f"{where}.{name} = {value!r}: must be a number, 0 or more")
        found[name] = float(value)
    return found


def _table(given: object, where: str) -> Mapping[str, object]:
    if not isinstance(given, dict):
        raise InputError(f"{where}: must be a table")
    return given


def _from_folder(key: str, given: object, folder: Path) -> Any:
    """Begin paths of technologies among the values of a field in ``folder``."""
    if isinstance(given, list):
        return [_from_folder(key, each, folder) for each in given]
    if not isinstance(given, str):
        return given
    if key == "technology" and given.endswith(".toml"):
        return str(folder / given)
    return from_folder(given, folder) if key == BANK else given


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    """Name fields in full; arrays and energies may have tables of their own."""
    found: dict[str, object] = {}
    for key, value in table.items():
        tables = ("array", "blocks", "vector", "energy", "area", "compression")
        nested = isinstance(value, dict) and (
            key in tables or (key in TYPED and RANGE.isdisjoint(value))
        )
        own = value if nested and isinstance(value, dict) else {}
        found |= {f"{key}.{name}": each for name, each in own.items()} if nested else {key: value}
    return found
