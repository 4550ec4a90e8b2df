"""What the batch size changes (figure 5 of DeepNVM++)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spmopt.studies.memory import blocks
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import TITLES, Claim, missed, sheet
from spmopt.studies.memory.conditions import (
    COUNTING,
    MB,
    OVER_ONE,
    READINGS_SHOWN,
    TIMES_LESS,
    Question,
    remarks,
    workloads,
)
from spmopt.studies.memory.ratio_axes import alike
from spmopt.studies.memory.ratios import BASE, dynamic, edp, relative
from spmopt.studies.memory.rows import OPTIMAL, SERIAL
from spmopt.studies.memory.workload_sheet import own
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet
from spmopt.studies.words import in_percent, listing

NETWORK = "alexnet"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ROLES = ("sram", "stt", "sot")
_RIVALS = ROLES[1:]
_STAGES = {True: "training", False: "inference"}
_PAPER = {
    (True, "stt"): (2.3, 4.6),
    (True, "sot"): (7.2, 7.6),
    (False, "stt"): (4.1, 5.4),
    (False, "sot"): (7.1, 7.3),
}
"""Least and most over the batch sizes, which the paper shows in a picture only."""


def curve(rows: Rows, training: bool, role: str) -> dict[int, float]:
    """SRAM's energy-delay product over that of ``role``, by batch size."""
    found = relative(rows.where(training=training), role, edp)
    return {batch: 1 / ratio for (_, _, batch), ratio in sorted(found.items())}


def _least(training: bool, role: str, rows: Rows) -> float:
    return min(curve(rows, training, role).values())


def _most(training: bool, role: str, rows: Rows) -> float:
    return max(curve(rows, training, role).values())


CLAIMS = tuple(
    Claim(
        text=f"{TITLES[role]}, {_STAGES[training]}: EDP, times less, {which}",
        paper=paper,
        found=partial(found, training, role),
        is_less=True,
    )
    for (training, role), both in _PAPER.items()
    for which, paper, found in zip(("least", "most"), both, (_least, _most), strict=True)
)


def find(rows: Rows, figures: Figures) -> Findings:
    """Claims in every reading, then batch sizes."""
    return Findings(
        sheets=(
            sheet(rows, CLAIMS, "Figures of the paper"),
            *([blocks.sheet(figures, CLAIMS)] if figures else []),
            *(_by_batch(rows, reading) for reading in rows.texts("reading")),
        ),
        sentences=_sentences(rows),
        notes=(
            "Bold: more than 20 % from the paper. EDP is of the scratchpad, without the DRAM: "
            "with it the paper's figures at batch 4 and 64 would be lower, as in its figure 4.",
            TIMES_LESS,
            *causes(rows),
            *remarks(rows),
        ),
    )


def _by_batch(rows: Rows, reading: str) -> Sheet:
    some = own(rows, reading)
    curves = [curve(some, training, role) for training in _STAGES for role in _RIVALS]
    shares = [reads(some, training) for training in _STAGES]
    lines = [
        [str(batch), *(f"{each[batch]:.2f}" for each in curves)]
        + [in_percent(each[batch]) for each in shares]
        for batch in curves[0]
    ]
    heads = (
        *(f"{_STAGES[training]}: {TITLES[role]}" for training in _STAGES for role in _RIVALS),
        *(f"{stage}: reads of SRAM's dynamic energy, %" for stage in _STAGES.values()),
    )
    return Sheet(
        title=f"EDP of SRAM over the MRAM's, {reading}, {OPTIMAL}",
        heads=("batch", *heads),
        rows=lines,
    )


def reads(rows: Rows, training: bool) -> dict[int, float]:
    """Part of reads in SRAM's dynamic energy, by batch size."""
    found = {
        int(number(row, "batch")): number(row, "spm_read_j") / dynamic(row)
        for row in rows.where(training=training, role=BASE)
    }
    return dict(sorted(found.items()))


def _ends(rows: Rows, training: bool, role: str) -> str:
    found = list(curve(rows, training, role).values())
    return f"from {found[0]:.2f} to {found[-1]:.2f}"


def causes(rows: Rows) -> tuple[str, ...]:
    """Why figures differ from the paper, in figures of the rows."""
    serial = own(rows, SERIAL)
    shares = [
        f"{_STAGES[training]} {in_percent(found[0])} to {in_percent(found[-1])} %"
        for training in _STAGES
        for found in [list(reads(serial, training).values())]
    ]
    return (
        "One by one, what differs between batches is the share of reads alone: the more reads, the "
        "better STT-MRAM, whose writes take long, and the worse SOT-MRAM, whose writes are the "
        f"quickest. From the smallest batch to the largest it goes, {listing(shares)}. The paper "
        "says as well that reads gain in training and lose in inference, but gives no shares, and "
        "its batch sizes are in the picture alone. Larger blocks have fewer reads: see the table, "
        "`--assume tile=256`.",
        "With the time of the schedule and with banks: see "
        "[memory-iso-capacity.md](memory-iso-capacity.md).",
    )


def _sentences(rows: Rows) -> Sentences:
    off = missed(rows, CLAIMS, SERIAL, OPTIMAL)
    texts = [claim.text for claim in off]
    readings = {reading: own(rows, reading) for reading in rows.texts("reading")}
    rising = {reading: _rising(some) for reading, some in readings.items()}
    others = [f"{reading}, {told}" for reading, told in rising.items() if reading != SERIAL]
    return (
        f"Counted as the paper counts, {len(CLAIMS) - len(off)} of its {len(CLAIMS)} figures are "
        f"met{f' (not: {listing(texts)})' if off else ''}.",
        f"From batch {BATCHES[0]} to {BATCHES[-1]} the EDP of SRAM's scratchpad over the MRAM's "
        f"goes, {SERIAL}, {rising[SERIAL]}; above 1 the MRAM is better, below 1 SRAM.",
        f"With schedules it goes, {'; '.join(others)}.",
    )


def _rising(rows: Rows) -> str:
    """Ends of every curve of a reading."""
    stages = []
    for training, stage in _STAGES.items():
        told = [f"{TITLES[role]} {_ends(rows, training, role)}" for role in _RIVALS]
        stages.append(f"in {stage} {listing(told)}")
    return listing(stages)


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """EDP over the batch size, of both stages in every reading."""
    from spmopt.report.plots.lines import Line, Panel, save_lines
    from spmopt.report.plots.style import Heading

    del figures
    panels = []
    for training, stage in _STAGES.items():
        line = []
        for reading in rows.texts("reading"):
            found = {role: curve(own(rows, reading), training, role) for role in _RIVALS}
            curves = tuple(
                Line(label=TITLES[role], x=list(of), y=list(of.values()), rank=rank)
                for rank, (role, of) in enumerate(found.items())
            )
            line.append(
                Panel(
                    title=f"{stage}, {reading}",
                    x_label="batch",
                    y_label="EDP, SRAM over MRAM",
                    lines=curves,
                    ticks=(1, 4, 16, 64, 256),
                )
            )
        panels.append(line)
    heading = Heading(
        title="Energy-delay product of the scratchpad alone (without DRAM): SRAM over MRAM, by "
        "batch size",
        conditions=f"AlexNet, 3 MB, GTX 1080 Ti, optimal schedules; {OVER_ONE}\n{READINGS_SHOWN}",
    )
    save_lines(alike(panels), heading, path)


_WORKLOADS = workloads(
    {3 * MB: ROLES},
    networks=(NETWORK,),
    stages=tuple((training, batch) for training in _STAGES for batch in BATCHES),
)
QUESTION = Question(
    name="memory-batch",
    title="what the batch size changes between memory technologies",
    about=(
        "Energy-delay product of scratchpads of STT-MRAM and SOT-MRAM of 3 MB against SRAM, of "
        "AlexNet at several batch sizes: figure 5 of DeepNVM++ (Inci et al.). GTX 1080 Ti (484 "
        f"GB/s, 11.34 TFLOP/s), table II of the paper. {COUNTING}"
    ),
    workloads=_WORKLOADS,
    find=find,
    draw=draw,
    figures=partial(blocks.figures, _WORKLOADS, CLAIMS),
)
STUDY = QUESTION.study(Assumptions())
