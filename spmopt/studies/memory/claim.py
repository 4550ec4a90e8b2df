"""Figures of the papers, beside what the rows have in every reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from spmopt.studies.memory.ratios import Case, Of, less, more, relative
from spmopt.studies.memory.rows import OPTIMAL, READINGS
from spmopt.studies.rows import Rows
from spmopt.studies.study import Sheet
from spmopt.studies.words import signed

POINTS, SHARE = 5.0, 0.2
"""Deviations from which on a figure has to be explained: of percentages, of factors."""
TITLES = {"stt": "STT-MRAM", "sot": "SOT-MRAM", "sram": "SRAM", "relaxed": "STT, relaxed writes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A figure of a paper.

    Attributes
    ----------
    text
        What is claimed.
    paper
        The figure; in percent if ``is_percent``, else a factor, of how many times less if
        ``is_less``. None where the paper has none: what is found stands by itself.
    found
        The same figure of rows of one reading and scheduler.
    is_input
        Whether it is what the rows were made with, so that it is met by itself.
    """

    text: str
    paper: float | None
    found: Callable[[Rows], float]
    is_percent: bool = False
    is_less: bool = False
    is_input: bool = False

    @property
    def title(self) -> str:
        """What is claimed, and whether it is an input."""
        return f"{self.text} (input)" if self.is_input else self.text

    def cell(self, value: float) -> str:
        """A figure found, bold with its deviation where it is too far from the paper's."""
        if self.paper is None:
            return f"{value:.{self.digits}f}"
        if self.is_percent:
            text, points = f"{value:.1f}", value - self.paper
            return text if abs(points) <= POINTS else f"**{text}** ({signed(points)})"
        share = value / self.paper - 1
        is_more = self.is_less and round(1 / value, 2) > 1
        text = f"{1 / value:.2f} times more" if is_more else f"{value:.2f}"
        return text if abs(share) <= SHARE else f"**{text}** ({signed(100 * share)} %)"

    @property
    def digits(self) -> int:
        """Decimals that it is shown with."""
        return 1 if self.is_percent else 2

    def is_missed_by(self, value: float) -> bool:
        """Whether a figure found is too far from the paper's."""
        return self.cell(value).startswith("**")


def factor(
    text: str, role: str, paper: float, of: Of, by: Callable[[dict[Case, float]], float] = less
) -> Claim:
    """A factor against SRAM: how many times ``less``, at ``best``, or how many times ``more``."""
    return Claim(
        text=f"{TITLES[role]}: {text}",
        paper=paper,
        found=partial(_factor, role, of, by),
        is_less=by is not more,
    )


def _factor(role: str, of: Of, by: Callable[[dict[Case, float]], float], rows: Rows) -> float:
    return by(relative(rows, role, of))


def both(
    text: str,
    paper: tuple[float, float],
    of: Of,
    by: Callable[[dict[Case, float]], float] = less,
) -> tuple[Claim, ...]:
    """The same figure of STT-MRAM and of SOT-MRAM."""
    return tuple(
        factor(text, role, value, of, by) for role, value in zip(("stt", "sot"), paper, strict=True)
    )


def inputs(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """``claims`` as what the rows were made with."""
    return tuple(replace(claim, is_input=True) for claim in claims)


def columns(rows: Rows) -> list[tuple[str, str]]:
    """Readings and schedulers of rows, the paper's reading first."""
    found = {(str(row["reading"]), str(row["scheduler"])) for row in rows}
    return sorted(found, key=lambda each: (READINGS.index(each[0]), each[1] == OPTIMAL))


def sheet(rows: Rows, claims: Sequence[Claim], title: str) -> Sheet:
    """Claims by line, readings and schedulers by column."""
    shown = columns(rows)
    lines = []
    for claim in claims:
        cells = [claim.cell(claim.found(rows.where(reading=r, scheduler=s))) for r, s in shown]
        paper = "-" if claim.paper is None else f"{claim.paper:.{claim.digits}f}"
        lines.append([claim.title, paper, *cells])
    heads = ("figure", "paper", *(f"{reading}: {scheduler}" for reading, scheduler in shown))
    return Sheet(title=title, heads=heads, rows=lines)


def missed(rows: Rows, claims: Sequence[Claim], reading: str, scheduler: str) -> list[Claim]:
    """Claims that rows of a reading and scheduler are too far from; inputs are none."""
    own = rows.where(reading=reading, scheduler=scheduler)
    return [claim for claim in claimed(claims) if claim.is_missed_by(claim.found(own))]


def claimed(claims: Sequence[Claim]) -> list[Claim]:
    """Those that the paper has a figure of, and rows can miss."""
    return [claim for claim in claims if claim.paper is not None and not claim.is_input]
