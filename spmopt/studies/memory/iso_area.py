"""SRAM, STT-MRAM and SOT-MRAM of about the same area (figures 6 to 8 of DeepNVM++)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import mean

from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import TITLES, Claim, both, claimed, columns, inputs, missed, sheet
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
    area,
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
    name_of,
    relative,
    system,
    traffic,
)
from spmopt.studies.memory.rows import BANKS, EQUAL, OPTIMAL, SERIAL
from spmopt.studies.memory.workload_sheet import Measure, by_workload, draw_workloads, own
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet
from spmopt.studies.words import in_percent, listing, percent
from spmopt.sweep.rows import Row

SCRATCHPADS = {3 * MB: ("sram",), 7 * MB: ("stt",), 10 * MB: ("sot",)}
_RIVALS = ("stt", "sot")
_SIMULATED = "alexnet"
"""The network whose accesses to the DRAM the paper simulates."""


def _capacity(row: Row) -> float:
    return number(row, "spm_bytes")


def saved(rows: Rows, role: str) -> dict[str, float]:
    """Of each workload the part of SRAM's traffic to the DRAM that is saved."""
    return {name_of(case): 1 - ratio for case, ratio in relative(rows, role, traffic).items()}


def _simulated(role: str, rows: Rows) -> float:
    return 100 * saved(rows.where(training=False), role)[f"{_SIMULATED} I"]


def _mean(role: str, rows: Rows) -> float:
    return 100 * mean(saved(rows, role).values())


CLAIMS = (
    *(
        Claim(
            text=f"{TITLES[role]}: DRAM traffic saved, {which}, %",
            paper=paper,
            found=partial(found, role),
            is_percent=True,
        )
        for which, found, papers in (
            ("AlexNet I", _simulated, (14.6, 19.8)),
            ("mean", _mean, (None, None)),
        )
        for role, paper in zip(_RIVALS, papers, strict=True)
    ),
    *both("dynamic energy, times SRAM's", (2.5, 1.4), dynamic, more),
    *both("leakage, times less", (2.1, 2.3), leakage),
    *both("energy, times less", (2.0, 2.3), energy),
    *both("EDP without DRAM, times less", (1.1, 1.2), edp),
    *both("EDP with DRAM, times less", (2.0, 2.3), edp_dram),
    *inputs(both("capacity, times SRAM's", (2.3, 3.3), _capacity, more)),
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
    """Claims in every reading, traffic to the DRAM, then workloads."""
    del figures
    return Findings(
        sheets=(
            sheet(rows, CLAIMS, "Figures of the paper"),
            _traffic(rows),
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


def _traffic(rows: Rows) -> Sheet:
    """Traffic saved under the greedy policy and at the optimum, of time and of traffic."""
    shown = [each for each in columns(rows) if each[0] != BANKS]
    shown = [each for each in shown if each[1] == OPTIMAL or each[0] == SERIAL]
    found = [
        saved(rows.where(reading=reading, scheduler=scheduler), role)
        for reading, scheduler in shown
        for role in _RIVALS
    ]
    lines = [[name, *(in_percent(each[name]) for each in found)] for name in found[0]]
    lines.append(["mean", *(in_percent(mean(each.values())) for each in found)])
    heads = [
        f"{TITLES[role]}: {_goal(reading, scheduler)}"
        for reading, scheduler in shown
        for role in _RIVALS
    ]
    return Sheet(
        title="DRAM traffic saved against SRAM, %",
        heads=("workload (I: inference, T: training)", *heads),
        rows=lines,
    )


def _goal(reading: str, scheduler: str) -> str:
    if scheduler != OPTIMAL:
        return scheduler
    return f"{scheduler}, least traffic" if reading == SERIAL else f"{scheduler}, least energy"


def causes(rows: Rows) -> tuple[str, ...]:
    """Why figures differ from the paper, in figures of the rows."""
    serial, equal, banks = (own(rows, reading) for reading in (SERIAL, EQUAL, BANKS))
    slower = [f"{TITLES[role]} {more(relative(banks, role, delay)):.2f}" for role in _RIVALS]
    greedy = rows.where(reading=SERIAL, scheduler=columns(rows)[0][1])
    most = [max(saved(greedy, role).items(), key=lambda each: each[1]) for role in _RIVALS]
    told = [f"{percent(share)} on {name}" for name, share in most]
    return (
        "**DRAM traffic**. The paper simulates kernels of AlexNet, without saying of which step or "
        "batch, and has no figure of other networks: the mean here stands by itself. "
        "Kernels read an operand again and again, and what misses the cache comes from the DRAM; a "
        "schedule moves it once a use. Most of the traffic of AlexNet at batch 4 are weights that "
        "are used once, which no scratchpad spares. Under the greedy policy STT-MRAM and SOT-MRAM "
        f"save the most, {listing(told)}. Other steps and batches: `spmopt sweep alexnet "
        "--training --batch 64 --machine gtx1080ti --spm 3MB,7MB,10MB --objective traffic`.",
        "**Time and accesses**: as at the same capacity, see "
        "[memory-iso-capacity.md](memory-iso-capacity.md). Leakage is "
        f"{percent(leak_share(serial))} of SRAM's energy one by one and "
        f"{percent(leak_share(equal))} in the time of the schedule; with banks the times are, "
        f"SRAM's being 1, {listing(slower)}.",
        f"Areas are {listing(_areas(serial))} of SRAM's.",
    )


def _areas(rows: Rows) -> list[str]:
    return [f"{TITLES[role]} {more(relative(rows, role, area)):.2f}" for role in _RIVALS]


def _sentences(rows: Rows) -> Sentences:
    off, all_of = missed(rows, CLAIMS, SERIAL, OPTIMAL), len(claimed(CLAIMS))
    texts = [claim.text for claim in off]
    told = []
    for reading in (SERIAL, EQUAL, BANKS):
        some = own(rows, reading)
        each = [less(relative(some, role, energy)) for role in _RIVALS]
        told.append(f"{compared(each)} ({reading})")
    whole = [
        f"{TITLES[role]} {percent(1 - more(relative(own(rows, EQUAL), role, system)))}"
        for role in _RIVALS
    ]
    least = [
        f"{TITLES[role]} {percent(mean(saved(own(rows, SERIAL), role).values()))}"
        for role in _RIVALS
    ]
    return (
        f"Counted as the paper counts, {all_of - len(off)} of its {all_of} figures are "
        f"met{f' (not: {listing(texts)})' if off else ''}; inputs are not counted.",
        f"The room that the denser cells give saves, of the least traffic that a schedule of "
        f"SRAM's 3 MB has, {listing(least)} on average.",
        f"Energy of the scratchpad is by STT-MRAM and SOT-MRAM {listing(told)}; of "
        "scratchpad, DRAM and arithmetic together, with the time of the schedule, optimal "
        f"schedules save by {listing(whole)}. {_with_banks(rows)}",
    )


def _with_banks(rows: Rows) -> str:
    """What latencies cost: the time, and what it makes of the energy-delay product."""
    some = own(rows, BANKS)
    told = [
        f"{TITLES[role]} takes {more(relative(some, role, delay)):.2f} times the time of SRAM, "
        f"{more(relative(some, role, edp_dram)):.2f} times its EDP with DRAM and "
        f"{more(relative(some, role, edp)):.2f} times its EDP without"
        for role in _RIVALS
    ]
    return (
        "With banks, where latencies hold back engine and DMA channel, on average "
        f"{', and '.join(told)}."
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Energy-delay product with the DRAM, of each workload in every reading."""
    del figures
    title = "Energy-delay product (EDP) with DRAM: MRAM against SRAM of about the same area"
    measure = Measure(title="EDP with DRAM", of=edp_dram)
    sizes = "SRAM 3 MB, STT-MRAM 7 MB, SOT-MRAM 10 MB"
    draw_workloads(rows, _RIVALS, measure, (title, sizes), path)


QUESTION = Question(
    name="memory-iso-area",
    title="what memory technologies are worth in the same area",
    about=(
        "A scratchpad of 7 MB of STT-MRAM or 10 MB of SOT-MRAM in the place of 3 MB of SRAM: "
        "section IV-B of DeepNVM++ (Inci et al.). "
        f"{CONDITIONS}; GTX 1080 Ti (484 GB/s, 11.34 TFLOP/s), table II of the paper. {COUNTING}"
    ),
    workloads=workloads(SCRATCHPADS),
    find=find,
    draw=draw,
)
STUDY = QUESTION.study(Assumptions())
