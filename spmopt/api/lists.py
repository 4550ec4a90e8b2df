"""Lists of networks, machines, schedulers and memory technologies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from spmopt.api.arguments import check
from spmopt.api.shown import Shown
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.plugins import Registry
    from spmopt.hardware.technology import ScratchpadFigures, Technology
    from spmopt.reporting.tables import Grid, Part
    from spmopt.schedulers.registry import SchedulerEntry

    _Pair = tuple[Technology, ScratchpadFigures | None]

_KINDS = (
    "A policy is a greedy heuristic. A formulation optimizes, starting from the best of some "
    "policies, and proves a bound. A relaxation proves a bound, without a schedule. Options follow "
    "a name after colons: msa:copies=idle:late=load."
)
_FIGURES = {
    "read": ("read_latency_ns", 1e-9, "s"),
    "write": ("write_latency_ns", 1e-9, "s"),
    "read energy": ("read_energy_pj", 1e-12, "J"),
    "write energy": ("write_energy_pj", 1e-12, "J"),
    "leakage": ("leakage_mw", 1e-3, "W"),
}
"""Figures of a scratchpad: field, factor to the base unit, base unit."""
_ACCESS = (
    "Per access: latency and energy. Per bank, one access at a time: bandwidth. Whole scratchpad: "
    "leakage and area."
)


@dataclass(frozen=True, eq=False, repr=False)
class Listing(Shown):
    """A list of networks, machines, schedulers or technologies.

    Attributes
    ----------
    document
        JSON document, as ``--json`` prints it.
    key
        Field of ``document`` that holds the entries.
    tables
        Printed tables.
    """

    document: Mapping[str, object]
    key: str
    tables: Sequence[Part]

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return the entries."""
        entries = self.document[self.key]
        assert isinstance(entries, list)
        return entries

    def record(self) -> Mapping[str, object]:
        """Return all of it."""
        return self.document

    def parts(self) -> Iterator[Part]:
        """Yield the tables."""
        yield from self.tables


Columns = Mapping[str, Callable[[Any], str]]
"""Text of a column for an entry, by heading."""


def _grid(entries: Iterable[object], columns: Columns, *folded: str) -> Grid:
    """Return a table with a row for each entry; ``folded`` columns may be broken into lines."""
    from spmopt.reporting.tables import Grid

    rows = [[text(entry) for text in columns.values()] for entry in entries]
    return Grid(columns=list(columns), rows=rows, words=folded)


def _fields(entry: object, *names: str) -> dict[str, object]:
    return {name: getattr(entry, name) for name in names}


def _listing(
    key: str,
    document: Mapping[str, object],
    *grids: Grid,
    lines: Sequence[str] = (),
    registry: Registry[Any] | None = None,
) -> Listing:
    """Make a listing of tables, and lines below them.

    Names that installed packages add to ``registry`` stand below; no package is imported.
    """
    from spmopt.reporting.tables import Line

    packages = {} if registry is None else registry.packages()
    if packages:
        # Names alone: to list a package must not run its code.
        document = {**document, "of_packages": dict(packages)}
    lines = [*lines, *(f"{name}: of {at}, loaded when used" for name, at in packages.items())]
    parts: list[Part] = [part for grid in grids for part in (grid, Line())]
    parts += [Line(text=line) for line in lines]
    return Listing(document, key, parts if lines else parts[:-1])


def list_networks() -> Listing:
    """List the built-in networks.

    Returns
    -------
    Listing
        Name, default batch size, parameters and source of each.
    """
    from spmopt.frontends import zoo

    entries = [zoo.entry(name) for name in zoo.names()]
    fields = ("name", "description", "paper", "batch", "parameters")
    columns: Columns = {
        "network": lambda entry: entry.name,
        "batch": lambda entry: str(entry.batch),
        "parameters": lambda entry: " ".join(f"{k}={v}" for k, v in entry.parameters.items()),
        "description": lambda entry: entry.description,
    }
    document = {"networks": [_fields(entry, *fields) for entry in entries]}
    return _listing("networks", document, _grid(entries, columns, "parameters", "description"))


@check
def list_machines(names: Sequence[str] = ()) -> Listing:
    """List machines: size, rates, and the scratchpad's technology and area where known.

    Parameters
    ----------
    names
        Machine names or TOML files; default: all built in.

    Returns
    -------
    Listing
        Settings of each machine.

    Raises
    ------
    InputError
        An unknown machine.
    """
    from spmopt.hardware.energy import area_report
    from spmopt.hardware.machines import MACHINES, load_machine
    from spmopt.hardware.machines import names as known
    from spmopt.hardware.settings import to_settings
    from spmopt.reporting.headings import rates_by_type, technology_name, vector_unit
    from spmopt.reporting.quantities import capacity, si

    found = [load_machine(name) for name in names or known()]
    areas = [area_report(machine).total_mm2 for machine in found]
    columns: Columns = {
        "machine": lambda machine: machine.name,
        "SPM": lambda machine: capacity(machine.spm_bytes),
        "bandwidth": lambda machine: si(machine.dram_bytes_per_s, "B/s"),
        "throughput": lambda machine: ", ".join(
            [si(machine.operations_per_s, "FLOP/s"), *rates_by_type(machine)]
        ),
        "vector": lambda machine: vector_unit(machine) or "-",
        "clock": lambda machine: si(machine.clock_hz, "Hz"),
        "technology": lambda machine: technology_name(machine) or "-",
        "area": lambda machine: _area(area_report(machine).total_mm2),
        "source": lambda machine: machine.source,
    }
    document = {"machines": [to_settings(machine) for machine in found], "areas_mm2": areas}
    registry = None if names else MACHINES
    return _listing("machines", document, _grid(found, columns), registry=registry)


def _area(mm2: float | None) -> str:
    return "-" if mm2 is None else f"{mm2:.4g} mm2"


def list_schedulers() -> Listing:
    """List the schedulers, and explain their options.

    Returns
    -------
    Listing
        Name, kind, source and options of each.
    """
    from spmopt.schedulers.registry import SCHEDULERS

    entries = SCHEDULERS.values()
    records = [
        {
            "name": entry.name,
            "kind": str(entry.kind),
            "keeps": entry.granularity,
            "what_it_does": entry.summary,
            "source": entry.source,
            "options": {option: dict(choices) for option, choices in entry.options.items()},
        }
        for entry in entries
    ]
    columns: Columns = {
        "scheduler": lambda entry: entry.name,
        "kind": lambda entry: str(entry.kind),
        "keeps": lambda entry: entry.granularity,
        "description": lambda entry: f"{entry.summary} [{entry.source}]",
    }
    choices: Columns = {"option": itemgetter(0), "of": itemgetter(1), "meaning": itemgetter(2)}
    grids = (
        _grid(entries, columns, "description"),
        _grid(_choices(entries), choices, "of", "meaning"),
    )
    document = {"schedulers": records}
    return _listing("schedulers", document, *grids, lines=[_KINDS], registry=SCHEDULERS)


def _choices(entries: Iterable[SchedulerEntry]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each choice; schedulers that share their options share the rows."""
    sharing: dict[int, list[SchedulerEntry]] = {}
    for entry in entries:
        # Identity: equal options of different schedulers may still mean different things.
        sharing.setdefault(id(entry.options), []).append(entry)
    for alike in sharing.values():
        names = ", ".join(entry.name for entry in alike)
        for option, choices in alike[0].options.items():
            for choice, meaning in choices.items():
                default = " (default)" if choice == next(iter(choices)) else ""
                yield f"{option}={choice}", names, f"{meaning}{default}"


@check
def list_technologies(
    names: Sequence[str] = (),
    *,
    capacity: str | int | None = None,
) -> Listing:
    """List memory technologies, or their figures at a capacity.

    Parameters
    ----------
    names
        Technology names or TOML files; default: all built in.
    capacity
        Show the figures of a scratchpad of this size, e.g. 3MB.

    Returns
    -------
    Listing
        Figures of each technology.

    Raises
    ------
    InputError
        An unknown technology, or one without such figures.
    """
    from spmopt.hardware.technologies import TECHNOLOGIES, load_technology
    from spmopt.hardware.technologies import names as known

    found = [load_technology(name) for name in names or known()]
    if capacity is not None:
        return _figures(found, capacity, bool(names))
    return _technologies(found, None if names else TECHNOLOGIES)


_FOLDED = ("figures at", "basis")


def _technologies(found: Sequence[Technology], registry: Registry[Any] | None) -> Listing:
    from spmopt.reporting.quantities import si

    def where(each: Technology) -> str:
        sizes = [si(size, "B") for size in each.capacities_bytes]
        return f"fit, {sizes[0]} to {sizes[-1]}" if each.has_fit else ", ".join(sizes)

    columns: Columns = {
        "technology": lambda each: each.name,
        "cell": lambda each: each.cell,
        "access": lambda each: si(each.access_bytes, "B"),
        "figures at": where,
        "source": lambda each: each.source,
    }
    document = {"technologies": [_record(each) for each in found]}
    return _listing("technologies", document, _grid(found, columns, *_FOLDED), registry=registry)


def _figures(found: Sequence[Technology], capacity: str | int, named: bool) -> Listing:
    """List figures; those without any are an error if asked for by name, else an empty row."""
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.reporting.quantities import si

    size = capacity
    if isinstance(size, str):
        size = parse_quantity(size, Dimension.BYTES, "capacity", "3MB or 3MiB")
    pairs: list[_Pair] = []
    for each in found:
        try:
            pairs.append((each, each.at(size)))
        except InputError:
            if named:
                raise
            # A list of all technologies shows gaps; only a named one must have figures.
            pairs.append((each, None))
    records = [_record(each) | {"scratchpad": _scratchpad(pad)} for each, pad in pairs]

    def figure(field: str, unit: str, scale: float = 1) -> Callable[[_Pair], str]:
        get = attrgetter(field)
        return lambda pair: "-" if pair[1] is None else si(get(pair[1]) * scale, unit)

    columns: Columns = {
        "technology": lambda pair: pair[0].name,
        **{
            heading: figure(f"point.{field}", unit, scale)
            for heading, (field, scale, unit) in _FIGURES.items()
        },
        "area": lambda pair: _area(pair[1] and pair[1].point.area_mm2),
        "read rate": figure("read_bytes_per_s", "B/s"),
        "write rate": figure("write_bytes_per_s", "B/s"),
        "access": figure("access_bytes", "B"),
        "basis": _basis,
        "source": lambda pair: pair[0].source,
    }
    document = {"capacity_bytes": size, "technologies": records}
    grid = _grid(pairs, columns, *_FOLDED)
    return _listing("technologies", document, grid, lines=[f"{si(size, 'B')}. {_ACCESS}"])


def _basis(pair: _Pair) -> str:
    """Return the basis of the figures, or the capacities that have some."""
    from spmopt.reporting.quantities import si

    technology, pad = pair
    if pad is not None:
        return str(pad.basis)
    known = ", ".join(si(size, "B") for size in technology.capacities_bytes)
    where = f"up to {si(technology.most_bytes, 'B')}" if technology.has_fit else f"at {known}"
    return f"no figures, only {where}"


def _record(technology: Technology) -> dict[str, object]:
    return {
        **_fields(technology, "name", "cell", "source", "access_bytes"),
        "between": str(technology.between),
        "capacities_bytes": list(technology.capacities_bytes),
    }


def _scratchpad(pad: ScratchpadFigures | None) -> dict[str, object] | None:
    if pad is None:
        return None
    rates = ("read_pj_per_byte", "write_pj_per_byte", "leakage_w", "read_bytes_per_s")
    return {
        "basis": str(pad.basis),
        **asdict(pad.point),
        **_fields(pad, *rates, "write_bytes_per_s"),
    }
