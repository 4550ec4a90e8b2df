"""Technologies from runs of NVSim, a public circuit-level model, at 1 to 32 MiB.

``nvsim_ppa.csv`` has one run a line: NVSim (SEAL-UCSB, commit 6334d00), 22 nm LOP, 350 K, words
of 512 bits, each run optimised for the energy-delay product of reads: one configuration of each
capacity, where algorithm 1 of DeepNVM++ chooses among 8 targets and 3 kinds of access. Its cell
of SOT-MRAM is an assumption, those of SRAM and STT-MRAM come with NVSim. Columns that are not read
here: NVSim's own bandwidths, of banks that overlap their accesses where they can.

What NVSim and the file call a megabyte is a MiB: the area of 1 "MB" of SRAM times its efficiency
is that of 2**23 cells of 146 F^2.
"""

from __future__ import annotations

import csv
from importlib.resources import files

from spmopt.core.errors import InputError
from spmopt.technology.figures import Point
from spmopt.technology.technology import Between, Technology

_FILE = files("spmopt.technology") / "nvsim_ppa.csv"
_CELLS = {
    "nvsim-sram": ("SRAM", "SRAM"),
    "nvsim-stt": ("STT-MRAM", "STT-MRAM"),
    "nvsim-sot": ("SOT-MRAM", "SOT-MRAM(assumed cell)"),
}
_COLUMNS = {
    "read_latency_ns": "read_latency_ns",
    "write_latency_ns": "write_latency_ns",
    "read_energy_pj": "read_energy_pJ_per_access",
    "write_energy_pj": "write_energy_pJ_per_access",
    "leakage_mw": "leakage_mW",
    "area_mm2": "area_mm2",
}
_MIB = 2**20
NAMES = tuple(_CELLS)


def nvsim(name: str) -> Technology:
    """The technology called ``name``, one of ``NAMES``: a fit through its runs."""
    cell, label = _CELLS[name]
    with _FILE.open(encoding="utf-8") as stream:
        runs = [run for run in csv.DictReader(stream) if run["tech"] == label]
    words = {run["word_bits"] for run in runs}
    if len(words) != 1:
        raise InputError(f"technology {name}: its runs differ in the width of a word")
    assumed = "" if runs[0]["cell_provided"] == "yes" else ", assumed cell"
    return Technology(
        name=name,
        cell=cell,
        source=f"NVSim, {runs[0]['node_nm']} nm{assumed}",
        access_bytes=int(words.pop()) // 8,
        between=Between.FIT,
        points=tuple(_point(run) for run in runs),
    )


def _point(run: dict[str, str]) -> Point:
    values = {field: float(run[column]) for field, column in _COLUMNS.items()}
    return Point(
        capacity_bytes=int(run["capacity_MB"]) * _MIB, configuration=run["opt_target"], **values
    )
