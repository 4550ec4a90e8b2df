"""What the batch size is worth, at a small and a large capacity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spmopt.studies.paper import MB, SMALL, TITLES, case
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing, megabytes, percent
from spmopt.sweep.cases import Case
from spmopt.sweep.work import Search

CAPACITIES = (24 * MB, 400 * MB)
BATCHES = (8, 16, 32, 64, 128, 256)
GNMT_BOUNDS = (8, 32, 128)
POLICY = "tsai"
_BOUNDS = ("fluid", "page")
_FLAT = 0.1
"""Times per sample that differ by less are called flat."""


def cases(names: Sequence[str], batches: Sequence[int]) -> tuple[Case, ...]:
    """Every network with every batch."""
    return tuple(case(name, CAPACITIES, batch=batch) for name in names for batch in batches)


def parts() -> tuple[Part, ...]:
    """GNMT apart: its bound is that of ``page``, which takes a minute; tsai needs none."""
    slow = Search(tolerance=1e-2, time_limit_s=120.0)
    gnmt = ("gnmt",)
    return (
        Part(name="small", cases=cases(SMALL, BATCHES), schedulers=(POLICY, "fluid")),
        Part(
            name="gnmt",
            cases=cases(gnmt, BATCHES),
            schedulers=(POLICY,),
            search=Search(time_limit_s=1.0),
        ),
        Part(
            name="gnmt optimum",
            cases=cases(gnmt, GNMT_BOUNDS),
            schedulers=("page",),
            search=slow,
        ),
    )


def find(rows: Rows, figures: Figures) -> Findings:
    """Times per sample."""
    del figures
    return Findings(
        sheets=tuple(_sheet(rows, size) for size in rows.sizes()),
        sentences=_sentences(rows),
        notes=(
            "The bound is that of `fluid` in the order as listed, enclosed to 0.1 %; of GNMT the "
            "one that `page` proves (- where it was not asked to).",
            "tsai runs in depth-first order: a part of its distance can be that of the order "
            "([ablation.md](ablation.md)). Bounds in its rows of GNMT were cut short after a "
            "second, and are not used.",
        ),
    )


def per_sample(rows: Rows, name: str, size: int, batch: int, of: str) -> float | None:
    """Seconds per sample of the policy, or of the bound; None where it is not known."""
    found = rows.where(network=name, spm_bytes=size, batch=batch)
    if of == POLICY:
        return found.number("time_s", scheduler=POLICY) / batch
    for row in found:
        if row["scheduler"] in _BOUNDS and isinstance(row["bound"], float):
            return row["bound"] / batch
    return None


def curve(rows: Rows, name: str, size: int, of: str) -> dict[int, float]:
    """Seconds per sample by batch size."""
    batches = [int(value) for value in rows.where(network=name).distinct("batch") if value]
    found = {batch: per_sample(rows, name, size, batch, of) for batch in sorted(batches)}
    return {batch: value for batch, value in found.items() if value is not None}


def _sheet(rows: Rows, size: int) -> Sheet:
    batches = sorted(int(value) for value in rows.distinct("batch") if value)
    lines = []
    for name in rows.texts("network"):
        for of in (POLICY, "bound"):
            known = curve(rows, name, size, of)
            cells = [f"{1e3 * known[n]:#.4g}" if n in known else "-" for n in batches]
            lines.append([_title(name), of, *cells, *_shape(known)])
    heads = ("network", "of", *map(str, batches), "best batch", "spread, %")
    return Sheet(title=f"ms per sample at {megabytes(size)}", heads=heads, rows=lines, left=2)


def spread(known: dict[int, float]) -> float:
    """How much the slowest sample takes more than the fastest, as a share."""
    return max(known.values()) / min(known.values()) - 1


def best(known: dict[int, float]) -> int:
    """The batch of the fastest sample."""
    return min(known, key=lambda batch: known[batch])


def _shape(known: dict[int, float]) -> list[str]:
    if not known:
        return ["-", "-"]
    return [str(best(known)), f"{100 * spread(known):.1f}"]


def _told(rows: Rows, name: str, size: int) -> str:
    known = curve(rows, name, size, POLICY)
    if spread(known) < _FLAT:
        return f"{_title(name)} is flat (within {percent(spread(known))})"
    word = f"is best at {best(known)}"
    if best(known) in (min(known), max(known)):
        word = f"prefers {'small' if best(known) == min(known) else 'large'} batches"
    return f"{_title(name)} {word} (the worst takes {percent(spread(known))} more)"


def _title(name: str) -> str:
    return TITLES.get(name, name)


def _sentences(rows: Rows) -> Sentences:
    names, (small, large) = rows.texts("network"), rows.sizes()
    lost = [
        (mine[batch] / known[batch] - 1, name, size, batch)
        for name in names
        for size in (small, large)
        for mine, known in [(curve(rows, name, size, POLICY), curve(rows, name, size, "bound"))]
        for batch in known
    ]
    most = [max(each for each in lost if each[1] == name) for name in names]
    told = [
        f"{_title(name)} {percent(more)} at batch {batch} and {megabytes(size)}"
        for more, name, size, batch in most
    ]
    return (
        f"At {megabytes(small)}, by time per sample of tsai, "
        f"{listing([_told(rows, name, small) for name in names])}.",
        f"At {megabytes(large)} {listing([_told(rows, name, large) for name in names])}.",
        "A batch that is badly scheduled is not a bad batch: tsai takes more time than the bound "
        f"by at most: {listing(told)}.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Time per sample against batch: a row of panels for each capacity."""
    from spmopt.report.plots.lines import Line, Panel, save_lines

    del figures
    panels = [
        [
            Panel(
                title=f"{_title(name)}, {megabytes(size)}",
                x_label="batch, samples",
                y_label="ms per sample",
                lines=tuple(
                    Line(
                        label=of,
                        x=list(known),
                        y=[1e3 * value for value in known.values()],
                        is_bound=of == "bound",
                    )
                    for of in ("bound", POLICY)
                    if (known := curve(rows, name, size, of))
                ),
                ticks=tuple(sorted(curve(rows, name, size, POLICY))),
            )
            for name in rows.texts("network")
        ]
        for size in rows.sizes()
    ]
    save_lines(panels, path)


STUDY = Study(
    name="batch",
    title="what the batch size is worth",
    about=(
        "Time of a training step per sample for batches of 8 to 256, for tsai and for the bound, "
        "at 24 and 400 MB (chapter 5 of Tsai's thesis: ResNet-50 and Transformer flat, MobileNetV2 "
        "prefers small batches, GNMT gains by larger ones at 24 MB and has its best between at 400 "
        "MB). 616 GB/s, 13.45 TFLOP/s, lowering ideal, objective time."
    ),
    parts=parts,
    find=find,
    draw=draw,
)
