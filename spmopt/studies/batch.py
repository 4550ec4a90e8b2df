"""What the batch size is worth, at a small and a large capacity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spmopt.studies.paper import MACHINE, MB, SMALL, TITLES, case
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
SHAPES = ("flat", "prefers small batches", "prefers large batches", "is best between")
_FLAT_ONE, _SMALL_ONE, _LARGE_ONE, _BETWEEN = SHAPES
THESIS = {
    "resnet50": (_FLAT_ONE, _FLAT_ONE),
    "transformer": (_FLAT_ONE, _FLAT_ONE),
    "mobilenetv2": (_SMALL_ONE, _SMALL_ONE),
    "gnmt": (_LARGE_ONE, _BETWEEN),
}
"""What the thesis has at the small and at the large capacity."""


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
            "one that `page` proves (- where it was not asked to; its best "
            "batch is the best of those).",
            "*Spread*: time per sample of the slowest batch over that of the fastest, less one; "
            f"below {percent(_FLAT)} it is called flat.",
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
            lines.append([_title(name), of, *cells, *_cells(known, len(batches))])
    heads = ("network", "of", *map(str, batches), "best batch", "spread, %")
    return Sheet(title=f"ms per sample at {megabytes(size)}", heads=heads, rows=lines, left=2)


def spread(known: dict[int, float]) -> float:
    """How much the slowest sample takes more than the fastest, as a share."""
    return max(known.values()) / min(known.values()) - 1


def best(known: dict[int, float]) -> int:
    """The batch of the fastest sample."""
    return min(known, key=lambda batch: known[batch])


def _cells(known: dict[int, float], asked: int) -> list[str]:
    if not known:
        return ["-", "-"]
    of = f" (of {len(known)})" if len(known) < asked else ""
    return [f"{best(known)}{of}", f"{100 * spread(known):.1f}"]


def shape(known: dict[int, float]) -> str:
    """How time per sample depends on the batch: one of ``SHAPES``."""
    if spread(known) < _FLAT:
        return _FLAT_ONE
    if best(known) == min(known):
        return _SMALL_ONE
    return _LARGE_ONE if best(known) == max(known) else _BETWEEN


def _told(rows: Rows, name: str, size: int) -> str:
    known = curve(rows, name, size, POLICY)
    found = shape(known)
    if found == _FLAT_ONE:
        return f"{_title(name)} is flat (within {percent(spread(known))})"
    word = f"is best at {best(known)}" if found == _BETWEEN else found
    return f"{_title(name)} {word} (the worst takes {percent(spread(known))} more)"


def _against(rows: Rows) -> str:
    """Where the shape is another than the thesis has."""
    apart: dict[tuple[str, str, str], list[str]] = {}
    for name in (each for each in rows.texts("network") if each in THESIS):
        for size, thesis in zip(rows.sizes(), THESIS[name], strict=True):
            found = shape(curve(rows, name, size, POLICY))
            if found != thesis:
                apart.setdefault((name, thesis, found), []).append(megabytes(size))
    told = [
        f"{_title(name)} at {listing(sizes)} {thesis} there, {found} here"
        for (name, thesis, found), sizes in apart.items()
    ]
    if not told:
        return "All of this is as in the thesis."
    return f"The thesis has it otherwise, for a reason that is not known here: {'; '.join(told)}."


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
        f"{_title(name)} {percent(more)} at batch {batch} and {megabytes(size)}{_known(rows, name)}"
        for more, name, size, batch in most
    ]
    return (
        f"At {megabytes(small)}, by time per sample of tsai, "
        f"{listing([_told(rows, name, small) for name in names])}.",
        f"At {megabytes(large)} {listing([_told(rows, name, large) for name in names])}. "
        f"{_against(rows)}",
        "A batch that is badly scheduled is not a bad batch: tsai takes more time than the bound "
        f"by at most: {listing(told)}.",
    )


def _known(rows: Rows, name: str) -> str:
    """How many batches have a bound, where not all have."""
    small, *_ = rows.sizes()
    all_of, some = (len(curve(rows, name, small, of)) for of in (POLICY, "bound"))
    return f" (of {some} batches)" if some < all_of else ""


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Time per sample against batch: a row of panels for each capacity."""
    from spmopt.report.plots.lines import Line, Panel, save_lines
    from spmopt.report.plots.style import Heading

    del figures
    names, sizes = rows.texts("network"), rows.sizes()
    panels = [
        [
            Panel(
                title=f"{_title(name)}, {megabytes(size)}",
                x_label="batch, samples" if size == sizes[-1] else "",
                y_label="ms per sample" if name == names[0] else "",
                lines=tuple(
                    Line(
                        label="certified bound" if of == "bound" else of,
                        x=list(known),
                        y=[1e3 * value for value in known.values()],
                        is_bound=of == "bound",
                    )
                    for of in ("bound", POLICY)
                    if (known := curve(rows, name, size, of))
                ),
                ticks=tuple(sorted(curve(rows, name, size, POLICY))),
            )
            for name in names
        ]
        for size in sizes
    ]
    heading = Heading(
        title="Time of a training step per sample, by batch size",
        conditions=f"{MACHINE}, training, lowering ideal, objective time",
    )
    save_lines(panels, heading, path)


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
