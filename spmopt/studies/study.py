"""What a study is: sweeps, and what is made of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from spmopt.studies.rows import Rows
from spmopt.sweep.cases import Case
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value
from spmopt.sweep.work import Search

Sentences = tuple[str, str, str]
Figures = Mapping[str, float]
Known = Callable[[Mapping[str, Value]], Row | None]

PART = "part"
"""The column that says of which part a row is."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One sweep of a study; ``name`` is in the column ``part`` of its rows.

    ``extra`` of the cases must have the same keys in all parts of a study.
    """

    name: str
    cases: tuple[Case, ...]
    schedulers: tuple[str, ...]
    search: Search = field(default_factory=Search)

    @property
    def labelled(self) -> tuple[Case, ...]:
        """Cases whose rows say of which part they are."""
        return tuple(replace(case, extra=((PART, self.name), *case.extra)) for case in self.cases)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Rows that no sweep of networks gives.

    Attributes
    ----------
    columns
        Of the rows.
    run
        Gives them, some at a time, in their order. It tells of progress, and may ask for the row
        of a run that was killed by what it is about.
    what
        All that they depend on, as text.
    """

    columns: Columns
    run: Callable[[Pool, Callable[[str], None], Known], Iterator[Sequence[Row]]]
    what: str


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table: the first ``left`` columns are texts, the others numbers."""

    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What the rows show: tables, three sentences on what they mean, notes below."""

    sheets: tuple[Sheet, ...]
    sentences: Sentences
    notes: tuple[str, ...] = ()


def _nothing() -> Figures:
    return {}


def _no_parts() -> tuple[Part, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A question, the sweeps that answer it, and how the answer is told.

    Attributes
    ----------
    title
        The question in a few words.
    about
        One paragraph: what is asked, under which conditions.
    parts
        The sweeps; a function, so that listing studies builds nothing. None where ``measured``
        gives the rows.
    find
        Tables and sentences of rows and figures. Depends on nothing else, so that they can be
        made again from what was recorded.
    figures
        Measures what is in no row; kept in the first line of the CSV file.
    kept
        What is in the CSV file, said on the page.
    draw
        Writes a picture of rows and figures to a PNG file; None where there is none.
    assume
        The same study under other assumptions, texts by name; None where it has no settings.
    """

    name: str
    title: str
    about: str
    find: Callable[[Rows, Figures], Findings]
    parts: Callable[[], tuple[Part, ...]] = _no_parts
    measured: Measured | None = None
    figures: Callable[[], Figures] = _nothing
    kept: str = "All rows are in {csv}; every schedule in them is verified."
    draw: Callable[[Rows, Figures, Path], None] | None = None
    assume: Callable[[Mapping[str, str]], Study] | None = None
