"""Technologies by name, or from a TOML file: settings, and a table ``[[point]]`` for each capacity.

All quantities have units: ``read_latency = "2.91ns"``. ``technology_presets`` has examples. Several
points of one capacity are configurations, each with a name: ``configuration = "read EDP, normal
access"``.

``nvsim-*`` come from runs of NVSim, a public circuit-level model, at 1 to 32 MiB. ``nvsim_ppa.csv``
has one run a line: NVSim (SEAL-UCSB, commit 6334d00), 22 nm LOP, 350 K, words of 512 bits, each run
optimized for the energy-delay product of reads: one configuration of each capacity, where algorithm
1 of DeepNVM++ chooses among 8 targets and 3 kinds of access. Its cell of SOT-MRAM is an assumption,
those of SRAM and STT-MRAM come with NVSim. Columns that are not read here: NVSim's own bandwidths,
of banks that overlap their accesses where they can. A megabyte of NVSim and of the file is a MiB:
the area of 1 "MB" of SRAM times its efficiency is that of 2**23 cells of 146 F^2.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from os import PathLike
from pathlib import Path

from spmopt.core.errors import InputError, unknown
from spmopt.core.plugins import Registry
from spmopt.core.units import Dimension
from spmopt.core.validation import is_file, read_toml
from spmopt.hardware.reader import FOLDER, Reader, no_toml, preset_files
from spmopt.hardware.technology import FIGURES, Interpolation, Point, Technology

_KEYS = ("cell", "source", "access", "between", "retention", "point")
_UNITS = {
    "ns": Dimension.NANOSECONDS,
    "pj": Dimension.PICOJOULES,
    "mw": Dimension.MILLIWATTS,
    "mm2": Dimension.SQUARE_MILLIMETERS,
}
_MEASURES = {figure.rpartition("_")[0]: figure for figure in FIGURES}
"""Figure of each setting of a point: ``read_latency`` gives ``read_latency_ns``."""
_NVSIM_CELLS = {
    "nvsim-sram": ("SRAM", "SRAM"),
    "nvsim-stt": ("STT-MRAM", "STT-MRAM"),
    "nvsim-sot": ("SOT-MRAM", "SOT-MRAM(assumed cell)"),
}
_NVSIM_COLUMNS = {
    "read_energy_pj": "read_energy_pJ_per_access",
    "write_energy_pj": "write_energy_pJ_per_access",
    "leakage_mw": "leakage_mW",
}
"""Where a figure has another name in the file."""
_MIB = 2**20


def _technology(name: str, found: object) -> Technology:
    """Technology that a package or a user gave: it, a TOML file, its tables, a function."""
    given = found() if callable(found) else found
    if isinstance(given, Technology):
        return given if given.name == name else replace(given, name=name)
    where = f"technology {name}"
    if isinstance(given, str | PathLike):
        given = read_toml(Path(given), where)
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: is none, nor a TOML file or its tables")
    return _from_tables(given, name, where)


TECHNOLOGIES: Registry[Technology] = Registry(group="spmopt.technologies", make=_technology, own={})
"""Technologies of packages."""


def names() -> list[str]:
    """Return the names of the technologies that come with the program, sorted."""
    return sorted([*preset_files("technology"), *_NVSIM_CELLS])


def load_technology(name_or_path: str) -> Technology:
    """Load a technology by name, or from a file that ends in ``.toml``.

    Raises
    ------
    InputError
        No such technology or file, not TOML, or a setting that cannot be used.
    """
    # Own names first, so that no package can replace published figures.
    if name_or_path in (*preset_files("technology"), *_NVSIM_CELLS):
        return _ship(name_or_path)
    known = TECHNOLOGIES.find(name_or_path)
    if known is not None:
        return known
    path = Path(name_or_path)
    where = f"technology {name_or_path}"
    if path.suffix == ".toml":
        return _from_tables(read_toml(path, where), path.stem, where)
    if is_file(path):
        raise no_toml("technology", path)
    raise unknown("technology", name_or_path, [*names(), *TECHNOLOGIES.foreign()])


@cache
def _ship(name: str) -> Technology:
    if name in _NVSIM_CELLS:
        return _nvsim(name)
    where = f"technology {name}"
    return _from_tables(read_toml(preset_files("technology")[name], where), name, where)


def _from_tables(tables: Mapping[str, object], name: str, where: str) -> Technology:
    read = Reader(tables, where)
    read.require_known(_KEYS, "technology setting")
    between = read.text("between")
    if between not in tuple(Interpolation):
        raise InputError(f"{where}: between = {between!r}: must be {' or '.join(Interpolation)}")
    # quantity() below would accept a bare number; files must state the unit.
    read.text("access")
    return Technology(
        name=name,
        cell=read.text("cell"),
        source=read.text("source"),
        access_bytes=read.quantity("access", Dimension.BYTES, "32B"),
        between=Interpolation(between),
        retention_ns=read.measure("retention", Dimension.NANOSECONDS)
        if "retention" in tables
        else None,
        points=tuple(
            _point(Reader(table, f"{where}: point {number}"))
            for number, table in enumerate(read.tables("point"), start=1)
        ),
    )


def _point(read: Reader) -> Point:
    read.require_known(("capacity", "configuration", *_MEASURES), "setting of a point")
    values = {
        figure: read.measure(key, _UNITS[figure.rpartition("_")[2]])
        for key, figure in _MEASURES.items()
    }
    # As for access: a bare number has no unit.
    read.text("capacity")
    return Point(
        capacity_bytes=read.quantity("capacity", Dimension.BYTES, "3MB or 3MiB"),
        configuration=read.text("configuration") if "configuration" in read.table else "",
        **values,
    )


def _nvsim(name: str) -> Technology:
    """Return a fit through the runs of one cell."""
    cell, label = _NVSIM_CELLS[name]
    with (FOLDER / "nvsim_ppa.csv").open(encoding="utf-8") as stream:
        runs = [run for run in csv.DictReader(stream) if run["tech"] == label]
    words = {run["word_bits"] for run in runs}
    # Energies are per access: runs of other widths cannot share one fit.
    if len(words) != 1:
        raise InputError(f"technology {name}: its runs differ in the width of a word")
    assumed = "" if runs[0]["cell_provided"] == "yes" else ", assumed cell"
    return Technology(
        name=name,
        cell=cell,
        source=f"NVSim, {runs[0]['node_nm']} nm{assumed}",
        access_bytes=int(words.pop()) // 8,
        between=Interpolation.FIT,
        points=tuple(
            Point(
                # A megabyte of NVSim is a MiB, see above.
                capacity_bytes=int(run["capacity_MB"]) * _MIB,
                configuration=run["opt_target"],
                **{figure: float(run[_NVSIM_COLUMNS.get(figure, figure)]) for figure in FIGURES},
            )
            for run in runs
        ),
    )
