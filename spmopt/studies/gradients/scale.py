"""Figures 14 to 16: cores, bandwidth, batch."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from spmopt.studies.gradient_networks import BATCHES as SAMPLES
from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.names import networks_of
from spmopt.studies.gradients.paper import bold
from spmopt.studies.gradients.rows import Sweep, average, measured, saving
from spmopt.studies.gradients.saved import HEADS, IN_WORDS, cells, panel
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    LAST,
    OPTIMAL,
    REPLACEMENTS,
)
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Sentences, Sheet, Study
from spmopt.studies.words import in_percent, listing, percent

_TECHNIQUES = (BASELINE, LAST)
_PAPER = {
    "1 core": 14.5,
    "4 cores": 23.7,
    "8 cores": 27.7,
    "150 GB/s": 14.5,
    "75 GB/s": 19.3,
    "37.5 GB/s": 22.7,
    "batch 8": 14.5,
    "batch 16": 14.7,
    "batch 32": 14.0,
}
CORES = (
    Setting(name="1 core", machine=LARGE),
    Setting(name="4 cores", machine=LARGE, cores=4),
    Setting(name="8 cores", machine=LARGE, cores=8),
)
BANDWIDTHS = (
    Setting(name="150 GB/s", machine=LARGE),
    Setting(name="75 GB/s", machine=LARGE, bandwidth=Fraction(1, 2)),
    Setting(name="37.5 GB/s", machine=LARGE, bandwidth=Fraction(1, 4)),
)
BATCHES = tuple(Setting(name=f"batch {size}", machine=LARGE, batch=size) for size in (8, 16, 32))


def find(rows: Rows, figures: Figures, *, notes: tuple[str, ...] = ()) -> Findings:
    """Means beside the paper's, then networks."""
    del figures
    settings = rows.texts("setting")
    return Findings(
        sheets=(_means(rows, settings), _networks(rows, settings)),
        sentences=_sentences(rows, settings),
        notes=(
            bold(),
            networks_of(rows),
            "Each setting is held against the baseline under the same setting and replacement.",
            *notes,
        ),
    )


def _own(rows: Rows, setting: str, replacement: str) -> Rows:
    return rows.where(setting=setting, scheduler=replacement)


def _means(rows: Rows, settings: list[str]) -> Sheet:
    lines = [
        [setting, LAST, f"{paper:.1f}", *cells(partial(_own, rows, setting), LAST, paper)]
        for setting in settings
        for paper in [_PAPER[setting]]
    ]
    return Sheet(
        title="Saved, mean of networks, %",
        heads=("setting", "technique", "paper: time", *HEADS),
        rows=lines,
        left=2,
    )


def _networks(rows: Rows, settings: list[str]) -> Sheet:
    found = [
        saving(_own(rows, setting, replacement), LAST)
        for setting in settings
        for replacement in REPLACEMENTS
    ]
    lines = [
        [network, *(in_percent(each[network]) for each in found)]
        for network in rows.texts("network")
    ]
    heads = tuple(f"{setting}: {each}" for setting in settings for each in REPLACEMENTS)
    return Sheet(title=f"Time that {LAST} saves, %", heads=("network", *heads), rows=lines)


def _sentences(rows: Rows, settings: list[str]) -> Sentences:
    def told(replacement: str) -> str:
        each = [
            f"{percent(average(saving(_own(rows, name, replacement), LAST)))} ({name})"
            for name in settings
        ]
        return listing(each)

    paper = [f"{_PAPER[name]:.1f} % ({name})" for name in settings]
    means = [average(saving(_own(rows, name, DOUBLE_BUFFER), LAST)) for name in settings]
    claimed = [_PAPER[name] for name in settings]
    same = _trend(means) == _trend([value / 100 for value in claimed])
    return (
        f"All techniques together save, under double buffering, {told(DOUBLE_BUFFER)}; the paper "
        f"has {listing(paper)}.",
        f"The trend is {'the same' if same else 'another one'}: {_trend(means)}.",
        f"Under Belady's rule they save {told(BELADY)}, under optimal residency {told(OPTIMAL)}.",
    )


def _trend(means: list[float]) -> str:
    rise = means[-1] - means[0]
    if abs(rise) < 0.02:
        return "the saving hardly changes"
    return "the saving grows" if rise > 0 else "the saving falls"


def draw(rows: Rows, figures: Figures, path: Path, *, title: str) -> None:
    """Time that all techniques together save, a colour for each setting."""
    from spmopt.report.plots.bars import save_bars
    from spmopt.report.plots.style import Heading

    del figures
    panels = []
    for replacement, words in IN_WORDS.items():
        saved = {
            setting: saving(_own(rows, setting, replacement), LAST)
            for setting in rows.texts("setting")
        }
        panels.append(panel(words, saved))
    heading = Heading(
        title=title,
        conditions=f"large NPU, {_batch(rows)}, all techniques, 4 bytes an element; each against "
        "the baseline under the same setting and replacement",
    )
    save_bars(panels, heading, path)


def _batch(rows: Rows) -> str:
    """Batch sizes of all rows."""
    a_core = " a core" if len(rows.distinct("cores")) > 1 else ""
    return f"batch {listing(rows.texts('batch'))}{a_core}"


def _study(
    name: str, title: str, figure: int, settings: tuple[Setting, ...], about: str, *notes: str
) -> Study:
    shown: Callable[[Rows, Figures, Path], None] = partial(
        draw, title=f"{title[0].upper()}{title[1:]}: time of both passes"
    )
    return Study(
        name=name,
        title=title,
        about=(
            f"Time of both passes with interleaving, rearrangement and partitioning, {about}: "
            f"figure {figure} of Kim et al., MICRO 2023. Large NPU, 4 bytes an element, output "
            "stationary."
        ),
        measured=measured(
            Sweep(settings=settings, techniques=_TECHNIQUES, replacements=REPLACEMENTS)
        ),
        find=partial(find, notes=notes),
        draw=shown,
    )


STUDIES = (
    _study(
        "gradient-cores",
        "what orders of gradients save on several cores",
        14,
        CORES,
        "on 1, 4 and 8 cores that share the scratchpad, with bandwidth, scratchpad and batch "
        f"({SAMPLES[LARGE]} a core) in proportion",
        "Cores run in lock-step; in the baseline each has its share of the batch, as in the "
        "forward pass (assumptions).",
    ),
    _study(
        "gradient-bandwidth",
        "what orders of gradients save with less bandwidth",
        15,
        BANDWIDTHS,
        f"with 150, 75 and 37.5 GB/s, at a batch size of {SAMPLES[LARGE]}",
    ),
    _study(
        "gradient-batch",
        "what orders of gradients save with larger batches",
        16,
        BATCHES,
        "at batch sizes of 8, 16 and 32",
    ),
)
