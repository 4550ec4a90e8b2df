"""What each part of the policy of Tsai's thesis is worth, and what the order alone is."""

from __future__ import annotations

from spmopt.studies.paper import MB, SMALL, TITLES, case
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import change, megabytes, milliseconds, percent
from spmopt.sweep.work import Search

CAPACITIES = (24 * MB, 128 * MB, 500 * MB)
COMPLETE = "tsai"
NAIVE = "tsai:order=listed:prefetch=next:offload=full"
VARIANTS = {
    "complete": COMPLETE,
    "listed order": "tsai:order=listed",
    "prefetch next only": "tsai:prefetch=next",
    "no prefetch": "tsai:prefetch=none",
    "offload when full": "tsai:offload=full",
    "all three off": NAIVE,
}
_ALONE = [name for name in VARIANTS if name not in ("complete", "all three off")]


def parts() -> tuple[Part, ...]:
    """All variants; GNMT, whose bounds take a minute each, with more time for them."""
    schedulers = (*VARIANTS.values(), "fluid")
    small = tuple(case(name, CAPACITIES) for name in SMALL)
    return (
        Part(name="small", cases=small, schedulers=schedulers),
        Part(
            name="gnmt",
            cases=(case("gnmt", CAPACITIES),),
            schedulers=schedulers,
            search=Search(time_limit_s=150.0, tolerance=5e-3),
        ),
    )


def find(rows: Rows, figures: Figures) -> Findings:
    """Times, gaps to the bound of the own order, and the bounds of both orders."""
    del figures
    points = [(name, size) for name in rows.texts("network") for size in rows.sizes()]
    return Findings(
        sheets=(_times(rows, points), _gaps(rows, points), _orders(rows, points)),
        sentences=_sentences(rows, points),
    )


Points = list[tuple[str, int]]


def _time(rows: Rows, point: tuple[str, int], scheduler: str, column: str = "time_s") -> float:
    return rows.number(column, network=point[0], spm_bytes=point[1], scheduler=scheduler)


def _where(point: tuple[str, int]) -> str:
    return f"{TITLES.get(point[0], point[0])} at {megabytes(point[1])}"


def _cells(point: tuple[str, int]) -> list[str]:
    return [TITLES.get(point[0], point[0]), megabytes(point[1])]


def _times(rows: Rows, points: Points) -> Sheet:
    lines = []
    for point in points:
        complete = _time(rows, point, COMPLETE)
        others = [_time(rows, point, name) / complete for name in list(VARIANTS.values())[1:]]
        lines.append([*_cells(point), milliseconds(complete), *map(change, others)])
    return Sheet(
        title="Time, and what it is with a part switched off",
        heads=("network", "SPM", "complete, ms", *list(VARIANTS)[1:]),
        rows=lines,
        left=2,
    )


def _gaps(rows: Rows, points: Points) -> Sheet:
    lines = [
        [*_cells(at), *(percent(_time(rows, at, name, "gap")) for name in VARIANTS.values())]
        for at in points
    ]
    return Sheet(
        title="Gap to the certified bound of the own order",
        heads=("network", "SPM", *VARIANTS),
        rows=lines,
        left=2,
    )


def _orders(rows: Rows, points: Points) -> Sheet:
    lines = [
        [
            *_cells(at),
            milliseconds(_time(rows, at, "fluid", "bound")),
            milliseconds(_time(rows, at, COMPLETE, "bound")),
            change(_worth(rows, at)),
            change(_time(rows, at, COMPLETE) / _time(rows, at, VARIANTS["listed order"])),
        ]
        for at in points
    ]
    heads = ("network", "SPM", "listed, ms", "depth-first, ms", "bound changes", "policy changes")
    return Sheet(title="What the order alone is worth: bounds", heads=heads, rows=lines, left=2)


def _worth(rows: Rows, point: tuple[str, int]) -> float:
    """Bound of the depth-first order over that of the listed one."""
    return _time(rows, point, COMPLETE, "bound") / _time(rows, point, "fluid", "bound")


def _sentences(rows: Rows, points: Points) -> Sentences:
    told = []
    for name in _ALONE:
        ratios = [
            (_time(rows, at, VARIANTS[name]) / _time(rows, at, COMPLETE), at) for at in points
        ]
        ends = [f"{change(ratio)} ({_where(at)})" for ratio, at in (min(ratios), max(ratios))]
        told.append(f"{name} {' to '.join(ends)}")
    gaps = [(_time(rows, at, COMPLETE, "gap"), at) for at in points]
    least, worst = min(gaps), max(gaps)
    return (
        f"One part switched off changes time by: {'; '.join(told)}.",
        f"With all parts on, the schedule is still {percent(least[0])} ({_where(least[1])}) to "
        f"{percent(worst[0])} ({_where(worst[1])}) above the bound of its own order.",
        _on_orders(rows, points),
    )


def _on_orders(rows: Rows, points: Points) -> str:
    """How far the order moves the bound: of most networks, of the one that it moves most."""
    most = max(points, key=lambda at: abs(_worth(rows, at) - 1))[0]
    own = [_worth(rows, at) for at in points if at[0] == most]
    others = [_worth(rows, at) for at in points if at[0] != most]
    rest = f", of the others by {change(min(others))} to {change(max(others))}" if others else ""
    return (
        f"Depth-first order moves the bound of {TITLES.get(most, most)} by {change(min(own))} to "
        f"{change(max(own))}{rest}: by the bounds no network here gains more than "
        f"{percent(1 - min(*own, *others, 1.0))} by it."
    )


STUDY = Study(
    name="ablation",
    title="what the three parts of Tsai's policy are worth",
    about=(
        "The policy has three parts beside Belady's rule: depth-first order, prefetch by latency, "
        "offload ahead of need. Each is switched off by itself: the order as listed; prefetch for "
        "the next operation only, as in the thesis's baseline, or none at all; offload only when "
        "full. *All three off* is that baseline: it still prefetches for the next operation. One "
        "training step, batch 32 (Transformer 128), 616 GB/s, 13.45 TFLOP/s, lowering ideal, "
        "objective time. A gap is to the certified bound of the order that the schedule has."
    ),
    parts=parts,
    find=find,
)
