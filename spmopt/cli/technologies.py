"""The command that lists memory technologies, their figures at a capacity, and their fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.hardware.fit import Fit
    from spmopt.hardware.technology import Scratchpad, Technology

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


def technologies(
    technology: Annotated[
        list[str] | None, Argument(help="Names or TOML files; default: those of the program.")
    ] = None,
    capacity: Annotated[
        str | None, Option(help="Show the figures of a scratchpad of this size, as 3MB.")
    ] = None,
    fit: Annotated[
        bool, Option("--fit", help="Show the fitted curves, and how far from the points they are.")
    ] = False,
    configurations: Annotated[
        bool,
        Option(
            "--configurations",
            help="Show the configurations of each capacity, and which is taken.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """List memory technologies, their figures at a capacity, or their fits."""
    from spmopt.hardware.technologies import load_technology, names

    given = {"--fit": fit, "--capacity": capacity is not None, "--configurations": configurations}
    several = [option for option, is_given in given.items() if is_given]
    if len(several) > 1:
        raise InputError(f"{' and '.join(several)}: give one of them")
    found = [load_technology(name) for name in technology or names()]
    if configurations:
        return _configurations(found, json)
    if fit:
        return _fits(found, bool(technology), json)
    if capacity is not None:
        return _figures(found, capacity, bool(technology), json)
    return _list(found, json)


def _list(found: Sequence[Technology], as_json: bool) -> int:
    from spmopt.cli.terminal.output import print_json
    from spmopt.report.quantities import si

    if as_json:
        print_json({"technologies": [_record(each) for each in found]})
        return Code.OK
    rows = []
    for each in found:
        sizes = [si(size, "B") for size in each.capacities_bytes]
        where = f"fit, {sizes[0]} to {sizes[-1]}" if each.between == "fit" else ", ".join(sizes)
        rows.append((each.name, each.cell, si(each.access_bytes, "B"), where, each.source))
    _draw(("technology", "cell", "access", "figures at", "source"), rows)
    return Code.OK


def _figures(found: Sequence[Technology], capacity: str, named: bool, as_json: bool) -> int:
    """Those without figures there are an error if asked for by name, else an empty row."""
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.report.quantities import si

    size = parse_quantity(capacity, Dimension.BYTES, "--capacity", "3MB or 3MiB")
    scratchpads: list[Scratchpad | None] = []
    for each in found:
        try:
            scratchpads.append(each.at(size))
        except InputError:
            if named:
                raise
            scratchpads.append(None)
    pairs = list(zip(found, scratchpads, strict=True))
    if as_json:
        records = [_record(each) | {"scratchpad": _scratchpad(pad)} for each, pad in pairs]
        print_json({"capacity_bytes": size, "technologies": records})
        return Code.OK
    rows = [(each.name, *_cells(each, pad), each.source) for each, pad in pairs]
    names = ("read", "write", "read energy", "write energy", "leakage", "area")
    rates = ("read rate", "write rate", "access")
    _draw(("technology", *names, *rates, "basis", "source"), rows)
    say("")
    say(f"{si(size, 'B')}. {_ACCESS}")
    return Code.OK


def _cells(technology: Technology, pad: Scratchpad | None) -> tuple[str, ...]:
    from spmopt.report.quantities import si

    if pad is None:
        known = ", ".join(si(size, "B") for size in technology.capacities_bytes)
        where = f"up to {si(technology.most_bytes, 'B')}" if technology.has_fit else f"at {known}"
        return (*["-"] * 9, f"no figures, only {where}")
    figures = [si(getattr(pad.point, name) * scale, unit) for name, (scale, unit) in _UNITS.items()]
    return (
        *figures,
        f"{pad.point.area_mm2:.4g} mm2",
        si(pad.read_bytes_per_s, "B/s"),
        si(pad.write_bytes_per_s, "B/s"),
        si(pad.access_bytes, "B"),
        str(pad.basis),
    )


def _fits(found: Sequence[Technology], named: bool, as_json: bool) -> int:
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.report.quantities import share, si

    for each in found:
        if named and each.between != "fit":
            raise InputError(f"technology {each.name}: has no fit, only its points")
    fitted = [each for each in found if each.between == "fit"]
    if as_json:
        records = [
            _record(each) | {"fits": {name: _fit(of) for name, of in each.fits.items()}}
            for each in fitted
        ]
        print_json({"curve": _CURVE, "technologies": records})
        return Code.OK
    rows = []
    for each in fitted:
        for name, of in each.fits.items():
            numbers = (of.curve.constant, of.curve.factor, of.curve.exponent)
            residuals = " ".join(f"{100 * residual:+.1f}" for residual in of.residuals)
            row = (each.name, name, *(f"{number:g}" for number in numbers))
            rows.append((*row, share(of.worst), f"{residuals} %"))
    columns = ("technology", "figure", "constant", "factor", "exponent", "worst", "residuals")
    _draw(columns, rows)
    say("")
    say(_CURVE)
    for each in fitted:
        say(f"{each.name}: {', '.join(si(size, 'B') for size in each.capacities_bytes)}")
    return Code.OK


def _configurations(found: Sequence[Technology], as_json: bool) -> int:
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.report.quantities import si

    if as_json:
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
        print_json({"technologies": records})
        return Code.OK
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
    _draw(("technology", "capacity", "configuration", "EDAP", "taken"), rows)
    say("")
    say(_EDAP)
    return Code.OK


def _record(technology: Technology) -> dict[str, object]:
    return {
        "name": technology.name,
        "cell": technology.cell,
        "source": technology.source,
        "access_bytes": technology.access_bytes,
        "between": str(technology.between),
        "capacities_bytes": list(technology.capacities_bytes),
    }


def _scratchpad(pad: Scratchpad | None) -> dict[str, object] | None:
    if pad is None:
        return None
    return {
        "basis": str(pad.basis),
        **asdict(pad.point),
        "read_pj_per_byte": pad.read_pj_per_byte,
        "write_pj_per_byte": pad.write_pj_per_byte,
        "leakage_w": pad.leakage_w,
        "read_bytes_per_s": pad.read_bytes_per_s,
        "write_bytes_per_s": pad.write_bytes_per_s,
    }


def _fit(fit: Fit) -> dict[str, object]:
    return {**asdict(fit.curve), "worst": fit.worst, "residuals": list(fit.residuals)}


def _draw(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from spmopt.cli.terminal.output import results
    from spmopt.report.tables import draw_rows

    draw_rows(columns, rows, results(), words=("figures at", "basis"))
