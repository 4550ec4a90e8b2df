"""STT-MRAM as a scratchpad for training, and what relaxed writes save (Roy et al.)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import mean

from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import TITLES, Claim, sheet
from spmopt.studies.memory.conditions import COUNTING, MB, TIMES_LESS, Question, remarks, workloads
from spmopt.studies.memory.ratios import (
    BASE,
    Of,
    area,
    best,
    compared,
    delay,
    dynamic,
    energy,
    leakage,
    less,
    more,
    name_of,
    relative,
    system,
    time,
    write_energy,
)
from spmopt.studies.memory.rows import BANKS, EQUAL, SERIAL
from spmopt.studies.memory.workload_sheet import own
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet
from spmopt.studies.words import listing, percent

SAME, LARGE = 3 * MB, 7 * MB
"""Capacities of STT-MRAM: that of the SRAM, and what fits in its area."""
_STT, _RELAXED = "stt", "relaxed"
_TITLES = {SAME: "same capacity", LARGE: "same area"}


def at(rows: Rows, size: int) -> Rows:
    """SRAM, and STT-MRAM of one capacity."""
    return Rows([row for row in rows if row["role"] == BASE or row["spm_bytes"] == size])


def _best(size: int, of: Of, rows: Rows) -> float:
    return best(relative(at(rows, size), _STT, of))


def _less(size: int, of: Of, base: str, role: str, rows: Rows) -> float:
    return less(relative(at(rows, size), role, of, base))


CLAIMS = (
    *(
        Claim(
            text=f"{title}: {what}, times less, at best (15 to 22)",
            paper=15.0,
            found=partial(_best, size, of),
            is_less=True,
        )
        for size, title in _TITLES.items()
        for what, of in (("system energy", system), ("energy of the scratchpad", energy))
    ),
    Claim(
        text="density, times SRAM's (3 to 4)",
        paper=3.0,
        found=partial(_less, SAME, area, BASE, _STT),
        is_input=True,
    ),
    Claim(
        text="relaxed writes: write energy, times less (over 2)",
        paper=2.0,
        found=partial(_less, SAME, write_energy, _STT, _RELAXED),
        is_less=True,
        is_input=True,
    ),
)


def find(rows: Rows, figures: Figures) -> Findings:
    """Claims in every reading, then networks, then what relaxed writes save."""
    del figures
    return Findings(
        sheets=(
            sheet(rows, CLAIMS, "Figures of the paper"),
            *(_by_network(rows, reading) for reading in rows.texts("reading")),
            _saved(rows),
        ),
        sentences=_sentences(rows),
        notes=(
            "Bold: more than 20 % from the lower end of what the paper has, of which the abstract "
            "alone was at hand: no capacity, network or technology node.",
            TIMES_LESS,
            *causes(rows),
            *remarks(rows),
        ),
    )


_MEASURES = (("system energy", system), ("scratchpad", energy), ("time", delay))


def _by_network(rows: Rows, reading: str) -> Sheet:
    some = own(rows, reading)
    found = {
        f"{what}, {TITLES[role]}, {size // MB} MB": relative(at(some, size), role, of)
        for what, of in _MEASURES
        for size in _TITLES
        for role in (_STT, _RELAXED)
    }
    cases = next(iter(found.values()))
    lines = [[name_of(case), *(f"{of[case]:.3f}" for of in found.values())] for case in cases]
    lines.append(["mean", *(f"{more(of):.3f}" for of in found.values())])
    return Sheet(
        title=f"In terms of 3 MB of SRAM, {reading}, page",
        heads=("workload", *found),
        rows=lines,
    )


def _saved(rows: Rows) -> Sheet:
    """What relaxed writes save of STT-MRAM's, means of networks."""
    quantities: tuple[tuple[str, Of], ...] = (
        ("write energy", write_energy),
        ("dynamic energy", dynamic),
        ("energy of the scratchpad", energy),
        ("system energy", system),
        ("time", delay),
    )
    lines = []
    for reading in rows.texts("reading"):
        for size, title in _TITLES.items():
            some = at(own(rows, reading), size)
            cells = [
                f"{100 * (1 - more(relative(some, _RELAXED, of, _STT))):.1f}"
                for _, of in quantities
            ]
            lines.append([reading, title, *cells])
    return Sheet(
        title="What relaxed writes save of STT-MRAM's, mean of networks, %",
        heads=("reading", "scratchpad", *(name for name, _ in quantities)),
        rows=lines,
        left=2,
    )


def most_possible(rows: Rows, size: int) -> float:
    """How many times less energy there can be, whatever is accessed, in equal time.

    Energy is a sum of reads, writes and leakage, each of which falls by a factor of its own: the
    sum falls by no more than the largest of them.
    """
    some = at(own(rows, EQUAL), size)
    parts = (("spm_read_j", "read_bytes"), ("spm_write_j", "write_bytes"), ("leakage_j", "time_s"))

    def each(of: str, over: str) -> Of:
        return lambda row: number(row, of) / number(row, over)

    return max(best(relative(some, _STT, each(of, over))) for of, over in parts)


def causes(rows: Rows) -> tuple[str, ...]:
    """Why figures differ from the paper, in figures of the rows."""
    most = {size: most_possible(rows, size) for size in _TITLES}
    serial, equal = at(own(rows, SERIAL), SAME), at(own(rows, EQUAL), SAME)
    shares = [
        f"{percent(_outside(some))} ({reading})"
        for reading, some in ((SERIAL, serial), (EQUAL, equal))
    ]
    return (
        "**System energy**. Table II of DeepNVM++ cannot give the paper's factor: a read, a write "
        "and leakage each take less by a factor of their own, or more, so that the same accesses "
        f"in the same time take at most {most[SAME]:.1f} times less of the scratchpad at 3 MB, "
        f"{most[LARGE]:.1f} times at 7 MB, whatever they are. DRAM and arithmetic, which the "
        "scratchpad changes only by its size, are "
        f"{listing(shares)} of SRAM's system energy. A larger SRAM comes near such factors, one by "
        "one: [memory-scaling.md](memory-scaling.md). Another technology, or the systolic array "
        "that the abstract speaks of: `--assume stt=FILE.toml`, `--assume machine=large-npu`.",
        "**Density**: table II has whole memories, periphery included; cells alone are 0.34 of "
        "SRAM's (its table I), 2.9 times as dense.",
        "**Relaxed writes** take half of the energy and half of the latency by assumption "
        "(`relaxed-stt`; another factor: `--assume relaxed=FILE.toml`), so that the factor of two "
        "is put in; what follows from it is what they save of the whole. In table II a write of "
        "STT-MRAM takes less than half of the energy of a read, where NVSim has more than a read "
        "takes (`spmopt technologies --capacity 3MB`). What wrong writes cost in accuracy is "
        "not modelled.",
        "**Mixed scratchpads** of SRAM and STT-MRAM, by which the paper lets training converge, "
        "are not part of this study.",
    )


def _outside(rows: Rows) -> float:
    """Part of DRAM and arithmetic in the system energy with SRAM, mean of networks."""
    return mean(1 - energy(row) / system(row) for row in rows.where(role=BASE))


def _sentences(rows: Rows) -> Sentences:
    told, relaxed = [], []
    for reading in (SERIAL, EQUAL, BANKS):
        factors = [less(relative(at(own(rows, reading), s), _STT, system)) for s in _TITLES]
        told.append(f"{compared(factors)} ({reading})")
        some = at(own(rows, reading), SAME)
        less_energy, less_time = (
            percent(1 - more(relative(some, _RELAXED, of, _STT))) for of in (energy, time)
        )
        relaxed.append(f"{less_energy} of its energy and {less_time} of its time ({reading})")
    kept = less(relative(at(own(rows, EQUAL), SAME), _STT, leakage))
    return (
        "Training with STT-MRAM of the same capacity and of the same area takes, of scratchpad, "
        f"DRAM and arithmetic together, {listing(told)} energy than with SRAM; the paper has 15 to "
        "22 times, at best.",
        f"Leakage alone is {compared([kept], 1)} in equal time.",
        f"Relaxed writes save of STT-MRAM's scratchpad of 3 MB {listing(relaxed)}: where latencies "
        "bind, time is what they are worth.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Energy of the scratchpad, and time with banks."""
    from spmopt.report.plots.bars import BarPanel, Series, save_bars
    from spmopt.report.plots.style import Heading

    del figures
    panels = []
    for title, reading, of in (
        ("energy of the scratchpad, one by one", SERIAL, energy),
        ("energy of the scratchpad, banks", BANKS, energy),
        ("time, banks", BANKS, delay),
    ):
        found = {
            f"{TITLES[role]}, {size // MB} MB": relative(at(own(rows, reading), size), role, of)
            for size in _TITLES
            for role in (_STT, _RELAXED)
        }
        cases = next(iter(found.values()))
        panels.append(
            BarPanel(
                title=title,
                y_label="SRAM of 3 MB = 1",
                groups=(*(case[0] for case in cases), "mean"),
                series=tuple(
                    Series(label=label, values=[*ratios.values(), more(ratios)])
                    for label, ratios in found.items()
                ),
                level=1.0,
            )
        )
    heading = Heading(
        title="Training with a scratchpad of STT-MRAM, and with relaxed writes, against SRAM",
        conditions="batch 64, GTX 1080 Ti, table II of DeepNVM++, optimal schedules",
    )
    save_bars(panels, heading, path)


QUESTION = Question(
    name="memory-training",
    title="what STT-MRAM and relaxed writes are worth in training",
    about=(
        "Energy of training with a scratchpad of STT-MRAM of the same capacity (3 MB) and of about "
        "the same area (7 MB) as 3 MB of SRAM, and what writes of half the energy and latency "
        "save: Roy et al. (2023), by table II of DeepNVM++ (Inci et al.). AlexNet, GoogLeNet, "
        "VGG-16, ResNet-18 and SqueezeNet, batch 64; GTX 1080 Ti (484 GB/s, 11.34 TFLOP/s). "
        f"{COUNTING}"
    ),
    workloads=workloads(
        {SAME: (BASE, _STT, _RELAXED), LARGE: (_STT, _RELAXED)}, stages=((True, 64),)
    ),
    find=find,
    draw=draw,
)
STUDY = QUESTION.study(Assumptions())
