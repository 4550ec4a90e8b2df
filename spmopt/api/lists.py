"""What there is to name: networks, machines, schedulers, memory technologies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from spmopt.api.shown import Shown
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.plugins import Registry
    from spmopt.hardware.technology import ScratchpadFigures, Technology
    from spmopt.reporting.tables import Part
    from spmopt.schedulers.registry import SchedulerEntry

_KINDS = (
    "A policy is a greedy rule; a formulation optimizes from the best of some policies on, and "
    "proves a bound; a relaxation proves a bound, without a schedule. Options follow a name after "
    "colons, as msa:copies=idle:late=load."
)
_UNITS = {
    "read_latency_ns": (1e-9, "s"),
    "write_latency_ns": (1e-9, "s"),
    "read_energy_pj": (1e-12, "J"),
    "write_energy_pj": (1e-12, "J"),
    "leakage_mw": (1e-3, "W"),
}
_ACCESS = (
    "Latency and energy are of one access; bandwidth is of one bank, an access at a time; leakage "
    "and area are of the whole scratchpad."
)
_CURVE = (
    "y(C) = constant + factor x C^exponent, C in MB, y in the unit that the figure's name ends in; "
    "residuals are curve / point - 1, by capacity."
)
_EDAP = (
    "EDAP: energy of a read and a write, times the time of both, times the area (pJ ns mm2). Of "
    "each capacity the configuration with the least is taken."
)


@dataclass(frozen=True, eq=False, repr=False)
class Listing(Shown):
    """A list of what there is.

    Attributes
    ----------
    document
        All of it, as ``--json`` prints it.
    key
        Field of ``document`` that holds the entries.
    tables
        What is printed.
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

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield the tables."""
        del width
        yield from self.tables


_Table = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[str]]


def _listing(
    key: str,
    document: Mapping[str, object],
    tables: Sequence[_Table],
    *lines: str,
    registry: Registry[Any] | None = None,
) -> Listing:
    """Make a listing of tables, each of columns, rows and the columns that may be folded.

    Names that installed packages add to ``registry`` stand below; no package is imported.
    """
    from spmopt.reporting.tables import Grid, Line

    packages = {} if registry is None else registry.packages()
    if packages:
        document = {**document, "of_packages": dict(packages)}
    lines += tuple(f"{name}: of {package}, loaded when used" for name, package in packages.items())
    parts: list[Part] = []
    for columns, rows, words in tables:
        parts += [Grid(columns=columns, rows=rows, words=words), Line()]
    parts += [Line(text=line) for line in lines]
    return Listing(document, key, parts if lines else parts[:-1])


def list_networks() -> Listing:
    """List the networks that come with the program.

    Returns
    -------
    Listing
        Name, default batch size, parameters and source of each.
    """
    from spmopt.frontends import zoo

    entries = [zoo.entry(name) for name in zoo.names()]
    records = [
        {
            "name": entry.name,
            "description": entry.description,
            "paper": entry.paper,
            "batch": entry.batch,
            "parameters": dict(entry.parameters),
        }
        for entry in entries
    ]
    rows = [
        (
            entry.name,
            str(entry.batch),
            " ".join(f"{name}={value}" for name, value in entry.parameters.items()),
            entry.description,
        )
        for entry in entries
    ]
    columns = ("network", "batch", "parameters", "what it is")
    return _listing("networks", {"networks": records}, [(columns, rows, columns[2:])])


def list_machines(names: Sequence[str] = ()) -> Listing:
    """List machines: size, rates, and the scratchpad's technology and area where known.

    Parameters
    ----------
    names
        Machine names or TOML files; default: those of the program.

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
    from spmopt.reporting.headings import technology_name
    from spmopt.reporting.quantities import si

    found = [load_machine(name) for name in names or known()]
    areas = [area_report(machine).total_mm2 for machine in found]
    rows = [
        (
            machine.name,
            si(machine.spm_bytes, "B"),
            si(machine.dram_bytes_per_s, "B/s"),
            si(machine.operations_per_s, "FLOP/s"),
            si(machine.clock_hz, "Hz"),
            technology_name(machine) or "-",
            "-" if area is None else f"{area:.4g} mm2",
            machine.source,
        )
        for machine, area in zip(found, areas, strict=True)
    ]
    columns = ("machine", "SPM", "bandwidth", "throughput", "clock", "technology", "area", "source")
    records = [to_settings(machine) for machine in found]
    document = {"machines": records, "areas_mm2": areas}
    registry = None if names else MACHINES
    return _listing("machines", document, [(columns, rows, ())], registry=registry)


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
    rows = [
        (entry.name, str(entry.kind), entry.granularity, f"{entry.summary} [{entry.source}]")
        for entry in entries
    ]
    columns = ("scheduler", "kind", "keeps", "what it does")
    options = ("option", "of", "meaning")
    tables: list[_Table] = [
        (columns, rows, columns[3:]),
        (options, list(_choices(entries)), options[1:]),
    ]
    document = {"schedulers": records}
    return _listing("schedulers", document, tables, _KINDS, registry=SCHEDULERS)


def _choices(entries: Iterable[SchedulerEntry]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each choice; schedulers that share their options share the rows."""
    sharing: dict[int, list[SchedulerEntry]] = {}
    for entry in entries:
        sharing.setdefault(id(entry.options), []).append(entry)
    for alike in sharing.values():
        names = ", ".join(entry.name for entry in alike)
        for option, choices in alike[0].options.items():
            for choice, meaning in choices.items():
                default = " (default)" if choice == next(iter(choices)) else ""
                yield f"{option}={choice}", names, f"{meaning}{default}"


def list_technologies(
    names: Sequence[str] = (),
    *,
    capacity: str | int | None = None,
    fit: bool = False,
    configurations: bool = False,
) -> Listing:
    """List memory technologies, their figures at a capacity, or their fits.

    Parameters
    ----------
    names
        Technology names or TOML files; default: those of the program.
    capacity
        Show the figures of a scratchpad of this size, e.g. 3MB.
    fit
        Show the fitted curves, and their residuals.
    configurations
        Show the configurations of each capacity, and which is taken.

    Returns
    -------
    Listing
        What was asked for, of each technology.

    Raises
    ------
    InputError
        An unknown technology, or one without such figures.
    """
    from spmopt.hardware.technologies import TECHNOLOGIES, load_technology
    from spmopt.hardware.technologies import names as known

    given = {"--fit": fit, "--capacity": capacity is not None, "--configurations": configurations}
    several = [option for option, is_given in given.items() if is_given]
    if len(several) > 1:
        raise InputError(f"{' and '.join(several)}: give one of them")
    found = [load_technology(name) for name in names or known()]
    if configurations:
        return _configurations(found)
    if fit:
        return _fits(found, bool(names))
    if capacity is not None:
        return _figures(found, capacity, bool(names))
    return _technologies(found, None if names else TECHNOLOGIES)


_FOLDED = ("figures at", "basis")


def _technologies(found: Sequence[Technology], registry: Registry[Any] | None) -> Listing:
    from spmopt.reporting.quantities import si

    rows = []
    for each in found:
        sizes = [si(size, "B") for size in each.capacities_bytes]
        where = f"fit, {sizes[0]} to {sizes[-1]}" if each.between == "fit" else ", ".join(sizes)
        rows.append((each.name, each.cell, si(each.access_bytes, "B"), where, each.source))
    columns = ("technology", "cell", "access", "figures at", "source")
    document = {"technologies": [_record(each) for each in found]}
    tables = [(columns, rows, _FOLDED)]
    return _listing("technologies", document, tables, registry=registry)


def _figures(found: Sequence[Technology], capacity: str | int, named: bool) -> Listing:
    """List figures; those without any are an error if asked for by name, else an empty row."""
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.reporting.quantities import si

    size = capacity
    if isinstance(size, str):
        size = parse_quantity(size, Dimension.BYTES, "capacity", "3MB or 3MiB")
    pairs: list[tuple[Technology, ScratchpadFigures | None]] = []
    for each in found:
        try:
            pairs.append((each, each.at(size)))
        except InputError:
            if named:
                raise
            pairs.append((each, None))
    records = [_record(each) | {"scratchpad": _scratchpad(pad)} for each, pad in pairs]
    rows = [(each.name, *_cells(each, pad), each.source) for each, pad in pairs]
    names = ("read", "write", "read energy", "write energy", "leakage", "area")
    columns = ("technology", *names, "read rate", "write rate", "access", "basis", "source")
    note = f"{si(size, 'B')}. {_ACCESS}"
    tables = [(columns, rows, _FOLDED)]
    document = {"capacity_bytes": size, "technologies": records}
    return _listing("technologies", document, tables, note)


def _cells(technology: Technology, pad: ScratchpadFigures | None) -> tuple[str, ...]:
    from spmopt.reporting.quantities import si

    if pad is None:
        known = ", ".join(si(size, "B") for size in technology.capacities_bytes)
        where = f"up to {si(technology.most_bytes, 'B')}" if technology.has_fit else f"at {known}"
        return (*["-"] * 9, f"no figures, only {where}")
    return (
        *(si(getattr(pad.point, name) * scale, unit) for name, (scale, unit) in _UNITS.items()),
        f"{pad.point.area_mm2:.4g} mm2",
        si(pad.read_bytes_per_s, "B/s"),
        si(pad.write_bytes_per_s, "B/s"),
        si(pad.access_bytes, "B"),
        str(pad.basis),
    )


def _fits(found: Sequence[Technology], named: bool) -> Listing:
    from spmopt.reporting.quantities import share, si

    for each in found:
        if named and each.between != "fit":
            raise InputError(f"technology {each.name}: has no fit, only its points")
    fitted = [each for each in found if each.between == "fit"]
    rows, records = [], []
    for each in fitted:
        fits: dict[str, object] = {}
        for name, of in each.fits.items():
            numbers = (of.curve.constant, of.curve.factor, of.curve.exponent)
            residuals = " ".join(f"{100 * residual:+.1f}" for residual in of.residuals)
            row = (each.name, name, *(f"{number:g}" for number in numbers))
            rows.append((*row, share(of.worst), f"{residuals} %"))
            residual = {"worst": of.worst, "residuals": list(of.residuals)}
            fits[name] = {**asdict(of.curve), **residual}
        records.append(_record(each) | {"fits": fits})
    columns = ("technology", "figure", "constant", "factor", "exponent", "worst", "residuals")
    sizes = [
        f"{each.name}: {', '.join(si(size, 'B') for size in each.capacities_bytes)}"
        for each in fitted
    ]
    tables = [(columns, rows, _FOLDED)]
    document = {"curve": _CURVE, "technologies": records}
    return _listing("technologies", document, tables, _CURVE, *sizes)


def _configurations(found: Sequence[Technology]) -> Listing:
    from spmopt.reporting.quantities import si

    records = [
        _record(each)
        | {
            "points": [
                {**asdict(point), "edap": point.edap, "taken": point in each.best}
                for point in each.points
            ]
        }
        for each in found
    ]
    rows = [
        (
            each.name,
            si(point.capacity_bytes, "B"),
            point.configuration or "-",
            f"{point.edap:.4g}",
            "yes" if point in each.best else "no",
        )
        for each in found
        for point in each.points
    ]
    columns = ("technology", "capacity", "configuration", "EDAP", "taken")
    tables = [(columns, rows, _FOLDED)]
    return _listing("technologies", {"technologies": records}, tables, _EDAP)


def _record(technology: Technology) -> dict[str, object]:
    return {
        "name": technology.name,
        "cell": technology.cell,
        "source": technology.source,
        "access_bytes": technology.access_bytes,
        "between": str(technology.between),
        "capacities_bytes": list(technology.capacities_bytes),
    }


def _scratchpad(pad: ScratchpadFigures | None) -> dict[str, object] | None:
    if pad is None:
        return None
    names = ("read_pj_per_byte", "write_pj_per_byte", "leakage_w", "read_bytes_per_s")
    rates = {name: getattr(pad, name) for name in (*names, "write_bytes_per_s")}
    return {"basis": str(pad.basis), **asdict(pad.point), **rates}
