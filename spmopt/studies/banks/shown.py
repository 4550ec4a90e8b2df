"""What the rows say: tables and sentences."""

from __future__ import annotations

from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Basis
from spmopt.studies.banks.designs import SRAM
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet
from spmopt.studies.words import change, listing, megabytes, percent
from spmopt.sweep.rows import Row


def find(rows: Rows, figures: Figures) -> Findings:
    """Designs, energies, and what the banks are used for."""
    del figures
    return Findings(
        sheets=(
            _designs(rows),
            _costs(rows, "energy", "energy_j", "Energy in mJ, and against SRAM alone"),
            _costs(rows, "time", "time_s", "Time in ms, banks of 64 ports, against SRAM alone"),
            _uses(rows),
        ),
        sentences=_sentences(rows),
        notes=(
            "Area, leakage, rates and energy per byte are those of each memory at its own size "
            "(`spmopt technologies --fit`); a small one takes less energy a byte.",
            "`*`: a memory of it has figures of its fit, beyond its points, as SRAM below 1 MiB.",
            "Streams pass by the SRAM where there is one.",
            "Every schedule is verified; gaps are to the certified bound of the same machine.",
        ),
    )


def _label(row: Row) -> str:
    """The scratchpad, with a star where a memory of it is beyond the points of its fit."""
    sram, all_of = int(number(row, "sram_bytes")), int(number(row, "spm_bytes"))
    parts = ((SRAM, sram), (str(row["mram"]), all_of - sram))
    bases = [load_technology(name).at(size).basis for name, size in parts if size]
    return f"{row['scratchpad']}{' *' * (Basis.EXTRAPOLATED in bases)}"


def labels(rows: Rows) -> dict[str, str]:
    """By scratchpad how it is shown; of any objective and network the same."""
    return {str(row["scratchpad"]): _label(row) for row in rows}


def _designs(rows: Rows) -> Sheet:
    lines = []
    first = rows.where(objective="energy", network=rows.texts("network")[0])
    for row in first:
        sram, all_of = number(row, "sram_bytes"), number(row, "spm_bytes")
        lines.append(
            [
                _label(row),
                megabytes(sram) if sram else "-",
                megabytes(all_of - sram) if all_of > sram else "-",
                f"{number(row, 'area_mm2'):.3f}",
                f"{1e3 * number(row, 'leakage_w'):.1f}",
            ]
        )
    heads = ("scratchpad", "SRAM", "other memory", "area, mm2", "leakage, mW")
    return Sheet(title="Scratchpads of one area", heads=heads, rows=lines)


def _costs(rows: Rows, objective: str, column: str, title: str) -> Sheet:
    own = rows.where(objective=objective)
    lines = []
    for label, shown in labels(own).items():
        cells = []
        for network in own.texts("network"):
            cost = own.number(column, network=network, scratchpad=label)
            base = own.number(column, network=network, scratchpad="SRAM")
            cells.append(f"{1e3 * cost:#.4g} ({change(cost / base)})")
        lines.append([shown, *cells])
    return Sheet(title=title, heads=("scratchpad", *own.texts("network")), rows=lines)


def _uses(rows: Rows) -> Sheet:
    lines = [
        [
            str(row["objective"]),
            str(row["network"]),
            _label(row),
            megabytes(number(row, "traffic_bytes")),
            megabytes(number(row, "moved_bytes")),
            percent(number(row, "sram_touched")),
            f"{100 * number(row, 'gap'):.4f} %",
        ]
        for row in rows
    ]
    heads = ("objective", "network", "scratchpad", "DRAM traffic", "moved", "by SRAM", "gap")
    return Sheet(title="What the banks are used for", heads=heads, rows=lines, left=3)


def _sentences(rows: Rows) -> Sentences:
    shares = [
        number(row, "moved_bytes") / number(row, "traffic_bytes")
        for row in rows
        if 0 < number(row, "share") < 1
    ]
    gaps = [number(row, "gap") for row in rows]
    return (
        f"Least energy, and against the best single memory: {leaders(rows, 'energy')}.",
        f"Least time with ports, likewise: {leaders(rows, 'time')}.",
        f"Moves between banks carry up to {percent(max(shares))} of the bytes that DRAM moves; "
        f"gaps to the certified bound are {100 * min(gaps):.4f} to {100 * max(gaps):.4f} %.",
    )


def leaders(rows: Rows, objective: str) -> str:
    """By network the best scratchpad, and its cost against the best of one memory.

    Where it rests on figures beyond the points of a fit, the best of the others too.
    """
    told = []
    for network in rows.texts("network"):
        own = rows.where(objective=objective, network=network)
        best = min(own, key=_value)
        alone = min(map(_value, (row for row in own if number(row, "share") in (0, 1))))
        said = f"{_label(best)} ({change(_value(best) / alone)}"
        if _label(best).endswith("*"):
            sure = min((row for row in own if not _label(row).endswith("*")), key=_value)
            said += f"; without those marked {sure['scratchpad']}, {change(_value(sure) / alone)}"
        told.append(f"{network} {said})")
    return listing(told)


def _value(row: Row) -> float:
    return number(row, "value")
