"""Technologies from 1 to 32 MB (figures 9 and 10 of DeepNVM++), by another source of figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean

from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import TITLES, Claim, missed, sheet
from spmopt.studies.memory.conditions import (
    CONDITIONS,
    COUNTING,
    MIB,
    OVER_ONE,
    READINGS_SHOWN,
    TIMES_LESS,
    Question,
    remarks,
    workloads,
)
from spmopt.studies.memory.ratio_axes import alike
from spmopt.studies.memory.ratios import (
    BASE,
    Of,
    area,
    edp,
    energy,
    leak_share,
    leakage,
    less,
    more,
    relative,
    system,
    time,
)
from spmopt.studies.memory.rows import OPTIMAL, SERIAL
from spmopt.studies.memory.workload_sheet import Measure, own
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Sentences, Sheet
from spmopt.studies.words import change, in_percent, listing

ROLES = ("sram", "stt", "sot")
_RIVALS = ROLES[1:]
CAPACITIES = tuple(2**power * MIB for power in range(6))
MEASURES = (
    Measure(title="energy", of=energy),
    Measure(title="time", of=time),
    Measure(title="EDP", of=edp),
    Measure(title="energy with DRAM and arithmetic", of=system),
)


def _points(rows: Rows) -> list[Rows]:
    """Rows of each capacity and stage: figure 10 has means of each."""
    return [
        rows.where(spm_bytes=size, training=training)
        for size in rows.sizes()
        for training in rows.distinct("training")
    ]


def at_best(role: str, of: Of, rows: Rows) -> float:
    """How many times less than SRAM where that is most, of means of workloads."""
    return max(less(relative(point, role, of)) for point in _points(rows))


def at_worst(role: str, of: Of, rows: Rows) -> float:
    """How many times as much as SRAM where that is most, of means of workloads."""
    return max(more(relative(point, role, of)) for point in _points(rows))


def smaller(role: str, rows: Rows) -> float:
    """Percent of SRAM's area that is saved, mean of capacities."""
    return 100 * (1 - mean(more(relative(point, role, area)) for point in _points(rows)))


def _both(
    text: str, paper: tuple[float, float], found: Callable[[str, Of, Rows], float], of: Of
) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            text=f"{TITLES[role]}: {text}",
            paper=value,
            found=partial(found, role, of),
            is_less=found is at_best,
        )
        for role, value in zip(_RIVALS, paper, strict=True)
    )


CLAIMS = (
    *_both("energy, times less, at best", (31.2, 36.4), at_best, energy),
    *_both("latency, times less, at best", (2.1, 2.6), at_best, time),
    *_both("latency, times SRAM's, at worst", (3.2, 2.0), at_worst, time),
    *_both("EDP, times less, at best", (65.0, 95.0), at_best, edp),
    *(
        Claim(
            text=f"{TITLES[role]}: area saved, mean, %",
            paper=paper,
            found=partial(smaller, role),
            is_percent=True,
        )
        for role, paper in zip(_RIVALS, (58.0, 65.0), strict=True)
    ),
)


def find(rows: Rows, figures: Figures) -> Findings:
    """Claims in every reading, then means by capacity."""
    del figures
    return Findings(
        sheets=(
            sheet(rows, CLAIMS, "Figures of the paper"),
            *(_by_capacity(rows, reading) for reading in rows.texts("reading")),
        ),
        sentences=_sentences(rows),
        notes=(
            "Bold: more than 20 % (of percentages: 5 points) from the paper, whose figures are at "
            "some capacity and stage where the mean of workloads is best or worst, and so are "
            "these.",
            TIMES_LESS,
            *causes(rows),
            *remarks(rows),
        ),
    )


def _by_capacity(rows: Rows, reading: str) -> Sheet:
    some = own(rows, reading)
    lines = []
    for size in some.sizes():
        at = some.where(spm_bytes=size)
        cells = [
            f"{more(relative(at, role, measure.of)):.3f}"
            for measure in MEASURES
            for role in _RIVALS
        ]
        shares = [in_percent(leak_share(at, role)) for role in ROLES]
        lines.append([f"{size / MIB:g} MiB", *cells, *shares])
    heads = (
        *(f"{measure.title}: {TITLES[role]}" for measure in MEASURES for role in _RIVALS),
        *(f"leakage of energy, %: {TITLES[role]}" for role in ROLES),
    )
    return Sheet(
        title=f"In terms of SRAM, mean of workloads, {reading}, {OPTIMAL}",
        heads=("capacity", *heads),
        rows=lines,
    )


def _watts(rows: Rows, role: str, size: int) -> float:
    row = next(iter(rows.where(role=role, spm_bytes=size)))
    return leakage(row) / time(row)


def causes(rows: Rows) -> tuple[str, ...]:
    """Why figures differ from the paper, in figures of the rows."""
    serial = own(rows, SERIAL)
    last = serial.sizes()[-1]
    power = _watts(serial, BASE, last)
    ratios = [f"{power / _watts(serial, role, last):.1f} ({TITLES[role]})" for role in _RIVALS]
    return (
        "**Source**, the main cause: the paper gives table II at 3, 7 and 10 MB only, its other "
        "capacities in pictures. These are curves through runs of NVSim at 22 nm with low "
        "operating power and a sample cell of STT-MRAM; the cell of SOT-MRAM is assumed. SRAM of "
        f"{last / MIB:g} MiB leaks {1000 * power:.0f} mW here; table II has 6442 mW of 3 MB at 16 "
        f"nm. SRAM's leakage at {last / MIB:g} MiB is {listing(ratios)} times that of the MRAM: "
        "with accesses in the same time, energy can fall by no more. Other cells: a TOML file, "
        "`--assume stt=FILE.toml`.",
        "**Writes** of this STT-MRAM take more energy than SRAM's (`spmopt technologies "
        "--capacity 3MB`), in table II they take less.",
        "**Time**: with the time of the schedule, and with banks, accesses overlap, and leakage "
        "has less of the energy; see [memory-iso-capacity.md](memory-iso-capacity.md).",
    )


def _sentences(rows: Rows) -> Sentences:
    sizes = rows.sizes()
    first, last = sizes[0], sizes[-1]
    off = missed(rows, CLAIMS, SERIAL, OPTIMAL)
    readings = {reading: own(rows, reading) for reading in rows.texts("reading")}
    ends, whole = (
        "; ".join(f"{reading}, {told(some)}" for reading, some in readings.items())
        for told in (_ends, _whole)
    )
    return (
        f"Of {len(CLAIMS)} figures of the paper {len(CLAIMS) - len(off)} are met by this source, "
        "counted as the paper counts.",
        f"SRAM takes, at {first / MIB:g} and {last / MIB:g} MiB, so many times the energy of MRAM: "
        f"{ends}. As in the paper MRAM gains with the capacity, because SRAM's leakage grows with "
        "it and a read of MRAM hardly does.",
        f"At {last / MIB:g} MiB the energy of scratchpad, DRAM and arithmetic together changes: "
        f"{whole}.",
    )


def _ends(rows: Rows) -> str:
    """Energy of SRAM over that of each rival, at the least and at the largest capacity."""
    sizes = rows.sizes()
    told = []
    for role in _RIVALS:
        small, large = (
            less(relative(rows.where(spm_bytes=size), role, energy))
            for size in (sizes[0], sizes[-1])
        )
        told.append(f"{TITLES[role]} {small:.2f} and {large:.2f}")
    return listing(told)


def _whole(rows: Rows) -> str:
    """By how much each rival changes the energy of all, at the largest capacity."""
    largest = rows.where(spm_bytes=rows.sizes()[-1])
    changes = {role: change(more(relative(largest, role, system))) for role in _RIVALS}
    return listing([f"{TITLES[role]} {told}" for role, told in changes.items()])


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Energy and EDP of SRAM over those of MRAM, over the capacity."""
    from spmopt.report.plots.lines import Line, Panel, save_lines
    from spmopt.report.plots.style import Heading

    del figures
    sizes = rows.sizes()
    panels = []
    for measure in (MEASURES[0], MEASURES[2]):
        line = []
        for reading in rows.texts("reading"):
            some = own(rows, reading)
            curves = tuple(
                Line(
                    label=TITLES[role],
                    x=[size / MIB for size in sizes],
                    y=[less(relative(some.where(spm_bytes=s), role, measure.of)) for s in sizes],
                    rank=rank,
                )
                for rank, role in enumerate(_RIVALS)
            )
            line.append(
                Panel(
                    title=reading,
                    x_label="scratchpad, MiB",
                    y_label=f"{measure.title}, SRAM over MRAM",
                    lines=curves,
                    ticks=tuple(size / MIB for size in sizes),
                )
            )
        panels.append(line)
    heading = Heading(
        title="Energy and energy-delay product (EDP) of the scratchpad alone (without DRAM): SRAM "
        "over MRAM, by capacity",
        conditions="curves through runs of NVSim (22 nm), GTX 1080 Ti, mean of 5 networks and 2 "
        f"stages, optimal schedules;\n{OVER_ONE}\n{READINGS_SHOWN}",
    )
    save_lines(alike(panels), heading, path)


QUESTION = Question(
    name="memory-scaling",
    title="what memory technologies are worth from 1 to 32 MB",
    about=(
        "Energy, time and energy-delay product of STT-MRAM and SOT-MRAM against SRAM of the same "
        "capacity, 1 to 32 MiB: section IV-C of DeepNVM++ (Inci et al.), but by curves through "
        "runs of NVSim at 22 nm, another source than the paper's, because that has three "
        f"capacities in numbers. {CONDITIONS}; GTX 1080 Ti (484 GB/s, 11.34 TFLOP/s). {COUNTING}"
    ),
    workloads=workloads(dict.fromkeys(CAPACITIES, ROLES)),
    find=find,
    draw=draw,
)
STUDY = QUESTION.study(Assumptions(sram="nvsim-sram", stt="nvsim-stt", sot="nvsim-sot"))
