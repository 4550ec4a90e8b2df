"""SRAM, STT-MRAM and SOT-MRAM of the same capacity (figures 3 and 4 of DeepNVM++)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import mean

from spmopt.studies.memory import blocks
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import TITLES, Claim, both, claimed, inputs, missed, sheet
from spmopt.studies.memory.conditions import (
    CONDITIONS,
    COUNTING,
    MB,
    TIMES_LESS,
    Question,
    remarks,
    workloads,
)
from spmopt.studies.memory.ratios import (
    BASE,
    across,
    area,
    best,
    compared,
    delay,
    dynamic,
    edp,
    edp_dram,
    energy,
    leak_share,
    leakage,
    less,
    more,
    read_share,
    relative,
    system,
    time,
)
from spmopt.studies.memory.rows import BANKS, EQUAL, OPTIMAL, SERIAL
from spmopt.studies.memory.workload_sheet import Measure, by_workload, draw_workloads, own
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences
from spmopt.studies.words import listing, percent

ROLES = ("sram", "stt", "sot")
_RIVALS = ROLES[1:]
CLAIMS = (
    *both("dynamic energy, times SRAM's", (2.1, 1.3), dynamic, more),
    *both("leakage, times less", (5.9, 10.0), leakage),
    *both("energy, times less", (5.1, 8.6), energy),
    *both("EDP with DRAM, times less, at best", (3.8, 4.7), edp_dram, best),
    *inputs(both("area, times less", (2.4, 2.8), area)),
    Claim(
        text="SRAM: reads, % of dynamic energy",
        paper=83.0,
        found=lambda rows: 100 * read_share(rows),
        is_percent=True,
    ),
)
_OF_BLOCKS = tuple(
    claim for claim in CLAIMS if not any(word in claim.text for word in ("DRAM", "area"))
)
MEASURES = (
    Measure(title="dynamic", of=dynamic),
    Measure(title="leakage", of=leakage),
    Measure(title="energy", of=energy),
    Measure(title="EDP", of=edp),
    Measure(title="EDP with DRAM", of=edp_dram),
    Measure(title="energy with DRAM and arithmetic", of=system),
)


def find(rows: Rows, figures: Figures) -> Findings:
    """Claims in every reading, what blocks change of them, then workloads."""
    return Findings(
        sheets=(
            sheet(rows, CLAIMS, "Figures of the paper"),
            *([blocks.sheet(figures, _OF_BLOCKS)] if figures else []),
            *(
                by_workload(rows, _RIVALS, MEASURES, reading, OPTIMAL)
                for reading in rows.texts("reading")
            ),
        ),
        sentences=_sentences(rows),
        notes=(
            "Bold: more than 20 % (of percentages: 5 points) from the paper. Means are of what is "
            "left of SRAM's, as in the paper's charts.",
            TIMES_LESS,
            *causes(rows),
            *remarks(rows),
        ),
    )


def causes(rows: Rows) -> tuple[str, ...]:
    """Why the other readings differ from the paper, in figures of the rows."""
    serial, equal, banks = (own(rows, reading) for reading in (SERIAL, EQUAL, BANKS))
    longer = more(across(serial, equal, time))
    slower = [f"{TITLES[role]} {more(relative(banks, role, time)):.2f}" for role in _RIVALS]
    return (
        f"**Time**, the main cause. One by one SRAM takes {longer:.0f} times as long (mean) as a "
        f"schedule whose accesses overlap, and leaks all the while: leakage is "
        f"{percent(leak_share(serial))} of its energy one by one, {percent(leak_share(equal))} in "
        f"the time of the schedule, {percent(leak_share(banks))} with banks. With banks the times "
        f"are, SRAM's being 1, {listing(slower)}. On the command line: `spmopt solve` without or "
        "with `--banks`.",
        f"**Accesses**. Kernels in blocks read operands again and again: reads are "
        f"{percent(read_share(serial))} of SRAM's dynamic energy. Of a scheduled scratchpad they "
        f"are {percent(read_share(equal))}: an operand is read once for each use, what comes from "
        "the DRAM is written as well, what goes there is read. So the costly reads of STT-MRAM "
        "weigh less.",
        f"**EDP with DRAM**. One by one the latency of the DRAM is {percent(_dram_share(serial))} "
        "of the time, so that EDP follows the energy. In the other readings transfers are hidden "
        f"behind computation, and the DRAM has {percent(_dram_energy(equal))} of the energy of "
        "both, which no technology of the scratchpad changes.",
        "Networks are the zoo's: GoogLeNet has batch normalisation, Caffe's has none. Blocks of "
        "128 and the latency of the DRAM are usual values, not fitted ones; that the paper's "
        "figures follow from them does not prove that its profiles have the same accesses.",
    )


def _dram_share(rows: Rows) -> float:
    return mean(number(row, "dram_s") / delay(row) for row in rows.where(role=BASE))


def _dram_energy(rows: Rows) -> float:
    parts = [(number(row, "dram_j"), energy(row)) for row in rows.where(role=BASE)]
    return mean(dram / (dram + spm) for dram, spm in parts)


def _sentences(rows: Rows) -> Sentences:
    told = []
    for reading in (SERIAL, EQUAL, BANKS):
        each = [less(relative(own(rows, reading), role, energy)) for role in _RIVALS]
        told.append(f"{compared(each, 1)} ({reading})")
    off, all_of = missed(rows, CLAIMS, SERIAL, OPTIMAL), len(claimed(CLAIMS))
    serial = [claim.text for claim in off]
    whole = [
        f"{TITLES[role]} {percent(1 - more(relative(own(rows, EQUAL), role, system)))}"
        for role in _RIVALS
    ]
    return (
        f"Counted as the paper counts, {all_of - len(off)} of its {all_of} figures are "
        f"met within 20 %{f' (not: {listing(serial)})' if serial else ''}, from table II, the "
        "networks, blocks of products and a latency of the DRAM; inputs are not counted.",
        f"Energy of the scratchpad is, by STT-MRAM and SOT-MRAM, {listing(told)}: what the paper "
        "finds is mostly leakage while accesses wait for each other.",
        "Of the energy of scratchpad, DRAM and arithmetic together, with equal time, optimal "
        f"schedules save by {listing(whole)}.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Energy of each workload in every reading."""
    del figures
    title = "Energy of the scratchpad alone (without DRAM): MRAM against SRAM of the same capacity"
    measure = Measure(title="energy", of=energy)
    draw_workloads(rows, _RIVALS, measure, (title, "3 MB of each"), path)


_WORKLOADS = workloads({3 * MB: ROLES})
QUESTION = Question(
    name="memory-iso-capacity",
    title="what memory technologies are worth at the same capacity",
    about=(
        "Dynamic energy, leakage, energy and energy-delay product of scratchpads of STT-MRAM and "
        "SOT-MRAM of 3 MB against SRAM: section IV-A of DeepNVM++ (Inci et al.). "
        f"{CONDITIONS}; GTX 1080 Ti (484 GB/s, 11.34 TFLOP/s), table II of the paper. {COUNTING}"
    ),
    workloads=_WORKLOADS,
    find=find,
    draw=draw,
    figures=partial(blocks.figures, _WORKLOADS, _OF_BLOCKS),
)
STUDY = QUESTION.study(Assumptions())
