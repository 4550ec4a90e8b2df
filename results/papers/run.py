"""Every figure of the papers, ours and that at the optimum, gathered of the studies' pages.

Nothing is computed here: each study's script writes its own table, and this page has its lines that
stand beside a printed figure.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.shared.page import (
    BEGIN,
    END,
    comma_separated,
    markdown,
    replace_tables,
    table_file,
)
from spmopt.io.document import write_text

RESULTS = Path(__file__).parents[1]
NEAR_POINTS = 5.0
HEADS = ("paper", "figure", "printed", "here", "at the optimum", "deviation", "verdict", "study")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table of a study's page.

    Attributes
    ----------
    paper
        Whose figures they are.
    study
        Folder.
    title
        Of the table; empty for the first, which has none.
    figure
        Headings of the cells that name a line.
    printed, here, optimum, deviation, verdict
        Headings of the others; where there is none for a deviation it is the difference in points.
    kept
        Texts of which one ends the name of each line that is taken; all without any.
    up_to
        What is printed is the most that was saved: it is reached by what saves more.
    """

    paper: str
    study: str
    title: str = ""
    figure: Sequence[str] = ("figure",)
    printed: str = "paper"
    here: str = "double-buffer"
    optimum: str = "residency"
    deviation: str = ""
    verdict: str = ""
    kept: Sequence[str] = ()
    up_to: bool = False


TSAI, KIM = "Tsai 2021", "Kim et al. 2023"
INCI, ROY, TABBASSUM = "Inci et al. 2021", "Roy et al. 2023", "Tabbassum et al."


def _memory(paper: str, study: str) -> Source:
    one = "one by one: {}".format
    return Source(
        paper=paper,
        study=study,
        title="Figures of the paper",
        here=one("lru"),
        optimum=one("residency"),
        deviation="deviation, one by one: residency",
        verdict="verdict",
    )


def _orders(study: str, title: str, *figure: str) -> Source:
    return Source(
        paper=KIM,
        study=study,
        title=title,
        figure=figure,
        printed="paper: time",
        here="time: double-buffer",
        optimum="time: residency",
    )


SOURCES = (
    Source(
        paper=TSAI,
        study="claims",
        printed="paper, %",
        here="text, %",
        optimum="optimum, text",
        deviation="deviation",
        verdict="explained by",
    ),
    Source(
        paper=TABBASSUM,
        study="dynamic",
        title="Against static allocation, ResNet and VGG, %",
        figure=("figure", "of all points"),
        here="frequency so far",
        optimum="optimum of the list",
        kept=("time, most", "the same schedules, most"),
        up_to=True,
    ),
    Source(paper=KIM, study="gradient_reads", title="Means of networks"),
    _orders(
        "gradient_orders",
        "Saved against the baseline under the same replacement, mean of networks, %",
        "machine",
        "technique",
    ),
    *(
        Source(
            paper=KIM,
            study=f"gradient_{study}",
            title="Saved by +partitioning under double buffering, mean of networks, %",
            figure=("setting",),
            printed="paper: time",
            here="time",
            optimum="",
        )
        for study in ("cores", "batch", "bandwidth")
    ),
    *(
        _memory(INCI, f"memory_{study}")
        for study in ("iso_capacity", "iso_area", "batch", "scaling_16nm")
    ),
    _memory(ROY, "memory_training"),
)


def lines(source: Source) -> Iterator[list[str]]:
    """Yield the lines of a study's table beside which the paper has a figure.

    Raises
    ------
    ValueError
        The table has not these headings.
    """
    for row in _table(RESULTS / source.study / "tables" / table_file(source.title)):
        name = ", ".join(row[each] for each in source.figure)
        printed, here = row[source.printed], row[source.here]
        if not re.search(r"\d", printed) or not re.search(r"\d", here):
            continue
        if source.kept and not name.endswith(tuple(source.kept)):
            continue
        if name.startswith("speedup"):
            printed, here = (f"{_saved(each):.1f} % saved" for each in (printed, here))
        deviation = row[source.deviation] if source.deviation else _points(printed, here)
        optimum = _plain(row[source.optimum]) if source.optimum else "-"
        link = f"[{source.study}](../{source.study}/README.md)"
        verdict = row[source.verdict] if source.verdict else _verdict(deviation)
        if source.up_to and float(_plain(here)) <= float(printed):
            verdict = "reached"
        cells = [name, printed, _plain(here), optimum or "-", _plain(deviation), verdict]
        yield [source.paper, *cells, link]


def _table(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of a study's table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _plain(cell: str) -> str:
    """Return a cell without marks and without what it has in brackets of its deviation."""
    return re.sub(r"\s*\([+-][\d.]+( %)?\)", "", cell.replace("**", ""))


def _points(printed: str, here: str) -> str:
    """Return by how much a figure is off, in its own unit."""
    paper, found = (float(re.findall(r"-?[\d.]+", each)[0]) for each in (printed, _plain(here)))
    return f"{found - paper:+.3g}"


def _saved(speedup: str) -> float:
    """Return the share of the time that a speedup saves, in percent."""
    return 100 * (1 - 1 / float(_plain(speedup)))


def _verdict(deviation: str) -> str:
    off = abs(float(deviation.replace("points", "")))
    return f"within {NEAR_POINTS:g}" if off <= NEAR_POINTS else "missed, see the study"


def table(found: Sequence[Sequence[str]]) -> str:
    """Return how many figures of each paper are met."""
    every = Counter(line[0] for line in found)
    inputs = Counter(line[0] for line in found if line[6].startswith("input"))
    missed = ("missed", "not explained")
    met = Counter(line[0] for line in found if not line[6].startswith((*missed, "input")))
    counts = [
        [paper, str(count), str(inputs[paper]), str(met[paper])] for paper, count in every.items()
    ]
    return markdown(["paper", "figures", "of these inputs", "met or explained"], counts)


def main() -> int:
    """Write the page, and the whole table."""
    found = [line for source in SOURCES for line in lines(source)]
    replace_tables(Path(__file__).parent / "README.md", f"{BEGIN}\n\n{table(found)}\n\n{END}")
    write_text(Path(__file__).with_name("table.csv"), comma_separated(HEADS, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
