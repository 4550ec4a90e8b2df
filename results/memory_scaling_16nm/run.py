"""Technologies from 1 to 32 MB (figures 9 and 10 of DeepNVM++), by its own table II at 16 nm."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from results.memory_scaling import run as nvsim
from results.memory_scaling_16nm.curves import ANCHOR, LAST, SIZES, counted, derived
from results.shared import memory
from results.shared.common import MB, Tables, tabulated, texts
from results.shared.memory import EQUAL, READINGS, RIVALS, TITLES
from spmopt.hardware.technology import FIGURES

ROLES = ("sram", *RIVALS)
READ, WRITE = "read_latency_ns", "write_latency_ns"
READ_J, WRITE_J, AREA = "read_energy_pj", "write_energy_pj", "area_mm2"
TIME, EDP = "time_s", "edp"
NO_LAW = "at 32 MB its MRAMs lie on no power law through table II, whatever SRAM is (Curves, below)"


def claims(anchor: str) -> list[memory.PaperFigure]:
    """Return figures of the paper; those that made SRAM's curves, or follow from them, are input.

    Of the anchor, energy and latency at best, and so their product, and the area.
    """
    made = ("energy, times less", "latency, times less", "EDP, times less", "area saved")
    return [
        replace(
            each,
            is_input=each.text.startswith(TITLES[anchor]) and any(m in each.text for m in made),
            why=NO_LAW if "at best" in each.text else "",
        )
        for each in nvsim.CLAIMS
    ]


CLAIMS = claims(ANCHOR)


def anchored() -> dict[str, float]:
    """Compute curves, and by each anchor what the paper prints; no schedule enters these."""
    found = {anchor: derived(anchor) for anchor in RIVALS}
    by_size = {
        f"{role}: {figure}: {size // MB}": getattr(technology.at(size).point, figure)
        for role, technology in found[ANCHOR].items()
        for figure in FIGURES
        for size in SIZES
    }
    rows = {anchor: counted(technologies) for anchor, technologies in found.items()}
    by_size |= {
        f"{role}: {column}: {size // MB}": ratio
        for role in ROLES
        for column in (TIME, EDP)
        for size, ratio in nvsim.means(rows[ANCHOR], role, column).items()
    }
    of_claims = {
        f"{anchor}: {each.text}": each.found(own)
        for anchor, own in rows.items()
        for each in nvsim.CLAIMS
    }
    return by_size | of_claims


class Curves:
    """Figures of the three memories by capacity, as they were recorded."""

    def __init__(self, recorded: Mapping[str, float]) -> None:
        self._recorded = recorded

    def of(self, role: str, figure: str) -> pd.Series:
        """Return a figure by MB."""
        values = {size // MB: self._recorded[f"{role}: {figure}: {size // MB}"] for size in SIZES}
        return pd.Series(values)


@dataclass(frozen=True)
class Statement:
    """What the paper says of its curves in words, and at which capacities (MB) it should hold."""

    text: str
    at: Sequence[int]
    holds: Callable[[Curves], pd.Series]
    is_input: bool = False
    why: str = "not explained"

    def line(self, curves: Curves) -> list[str]:
        """Return where it holds, and whether that is where it should."""
        held = self.holds(curves)[[*self.at]]
        missing = ", ".join(f"{size} MB" for size in held.index[~held])
        verdict = "met" if held.all() else f"missed at {missing}: {self.why}"
        where = ", ".join(map(str, held.index[held])) or "-"
        return [
            self.text,
            ", ".join(map(str, self.at)),
            where,
            "input" if self.is_input else verdict,
        ]


def than(figure: str, low: str, *high: str) -> Callable[[Curves], pd.Series]:
    """Say where a figure of ``low`` is below those of all ``high``; equal within 0.1 % will do."""

    def holds(curves: Curves) -> pd.Series:
        return pd.concat(
            [curves.of(low, figure) <= 1.001 * curves.of(role, figure) for role in high], axis=1
        ).all(axis=1)

    return holds


def falling(figure: str, role: str) -> Callable[[Curves], pd.Series]:
    """Say where a figure over SRAM's is less than at the capacity before."""
    return lambda curves: (curves.of(role, figure) / curves.of("sram", figure)).diff() < 0


def equal(figure: str, one: str, other: str) -> Callable[[Curves], pd.Series]:
    """Say where two have the same figure, to 1 %."""
    return lambda curves: (curves.of(one, figure) / curves.of(other, figure) - 1).abs() < 0.01


def all_of(*parts: Callable[[Curves], pd.Series]) -> Callable[[Curves], pd.Series]:
    """Say where all hold."""
    return lambda curves: pd.concat([part(curves) for part in parts], axis=1).all(axis=1)


ALL = tuple(size // MB for size in SIZES)
STATEMENTS = [
    *(
        Statement(
            f"area: {TITLES[role]}'s part of SRAM's falls with the capacity",
            ALL[1:],
            falling(AREA, role),
            why="between its points it grows faster than SOT-MRAM's saving lets SRAM grow",
        )
        for role in RIVALS
    ),
    Statement("read latency: SRAM's is least below 3 MB", (1, 2), than(READ, "sram", *RIVALS)),
    Statement(
        "read latency: both MRAMs' is below SRAM's beyond 4 MB",
        ALL[3:],
        all_of(than(READ, "stt", "sram"), than(READ, "sot", "sram")),
    ),
    Statement(
        "write latency: STT-MRAM's is most",
        ALL,
        all_of(than(WRITE, "sram", "stt"), than(WRITE, "sot", "stt")),
    ),
    Statement("write latency: SOT-MRAM's falls, over SRAM's", ALL[1:], falling(WRITE, "sot")),
    Statement(
        "write latency: SRAM's is STT-MRAM's at 32 MB",
        (LAST // MB,),
        equal(WRITE, "sram", "stt"),
        is_input=True,
    ),
    Statement(
        "read energy: SOT-MRAM's is below SRAM's from 7 MB on",
        ALL[3:],
        than(READ_J, "sot", "sram"),
        is_input=True,
    ),
    Statement(
        "read energy: STT-MRAM's is most",
        ALL,
        all_of(than(READ_J, "sram", "stt"), than(READ_J, "sot", "stt")),
    ),
    Statement("write energy: SOT-MRAM's is least", ALL, than(WRITE_J, "sot", "sram", "stt")),
    Statement(
        "write energy: SRAM's is most beyond 3 MB",
        ALL[2:],
        all_of(than(WRITE_J, "stt", "sram"), than(WRITE_J, "sot", "sram")),
    ),
    Statement("latency: SRAM's is least up to 4 MB", ALL[:3], than(TIME, "sram", *RIVALS)),
    Statement(
        "latency: both MRAMs' is below SRAM's beyond 4 MB",
        ALL[3:],
        all_of(than(TIME, "stt", "sram"), than(TIME, "sot", "sram")),
    ),
    Statement("EDP: SRAM's is below STT-MRAM's at 1 MB", ALL[:1], than(EDP, "sram", "stt")),
    Statement("EDP: SRAM's is below SOT-MRAM's at 1 MB", ALL[:1], than(EDP, "sram", "sot")),
]
WORDS = ["in words (figures 9 and 10)", "said of, MB", "holds at, MB", "verdict"]
UNITS = {
    READ: "read, ns",
    WRITE: "write, ns",
    READ_J: "read, pJ",
    WRITE_J: "write, pJ",
    "leakage_mw": "leakage, mW",
    AREA: "area, mm2",
}


def of_curves(recorded: Mapping[str, float]) -> Tables:
    """Tabulate what is in no row: both anchors, statements, curves."""
    if not recorded:
        return {}
    curves, lines = Curves(recorded), []
    for anchor in RIVALS:
        for each in claims(anchor):
            value = recorded[f"{anchor}: {each.text}"]
            if not each.is_input:
                paper = f"{each.paper:g}"
                cells = [each.cell(value), each.deviation(value), each.verdict(value)]
                lines.append([TITLES[anchor], each.text, paper, *cells])
    shown = {
        f"{unit}: {TITLES[role]}": curves.of(role, figure).map("{:.4g}".format)
        for figure, unit in UNITS.items()
        for role in ROLES
    }
    heads = ["SRAM's curves by", "figure", "paper", "one by one", "deviation", "verdict"]
    return {
        "What is predicted, by whose printed figures made SRAM's curves": tabulated(
            heads, lines, left=2
        ),
        "Statements of the paper": tabulated(WORDS, [each.line(curves) for each in STATEMENTS]),
        "Curves": pd.DataFrame(shown)
        .rename(index=lambda size: f"{size} MB")
        .rename_axis("capacity"),
    }


def training(rows: pd.DataFrame, reading: str, column: str) -> pd.Series:
    """Return how many times less STT-MRAM takes in training, mean of networks, by capacity."""
    own = memory.optimal(memory.measures(rows), reading)
    return 1 / nvsim.means(own[own.training], "stt", column)


def by_training(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate what STT-MRAM saves in training; in equal time no more than leakage power."""
    shown = {"leakage power": training(rows, EQUAL, "leakage_j")}
    for reading in READINGS:
        shown[f"scratchpad, {reading}"] = training(rows, reading, "energy")
        shown[f"system, {reading}"] = training(rows, reading, "system")
    return texts(pd.DataFrame(shown), "{:.2f}").rename(index=nvsim.named).rename_axis("capacity")


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate claims in every reading, what curves predict, then means by capacity."""
    found = dict(nvsim.tables(rows, CLAIMS))
    first = "Figures of the paper"
    return {
        first: found.pop(first),
        **of_curves(rows.attrs["figures"]),
        "Training: STT-MRAM, times less than SRAM of the same capacity": by_training(rows),
        **found,
    }


STUDY = replace(
    memory.memory_study(
        __file__,
        dict.fromkeys(SIZES, ROLES),
        tables,
        lambda rows: nvsim.draw(rows, "MB"),
        assumed=memory.Assumptions(sram="scaled-sram", stt="scaled-stt", sot="scaled-sot"),
    ),
    figures=anchored,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
