"""What every greedy rule leaves on the table, over many networks and capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

from spmopt.frontends import zoo
from spmopt.machines.load import load_machine
from spmopt.studies.gaps import (
    BOUND,
    PAGES,
    Gaps,
    Point,
    best_of,
    gaps,
    place,
    rule,
    whole_of,
    worst_of,
)
from spmopt.studies.models import shipped
from spmopt.studies.paper import MB
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing, megabytes, percent
from spmopt.sweep.cases import Case, Network
from spmopt.sweep.work import Search

CAPACITIES = (24 * MB, 64 * MB, 128 * MB, 296 * MB)
_GRANULAR = ("frequency", "lru", "belady", "belady-size")
RULES = (
    *("stream", "static", "next-layer", "autotm", "msa", "tsai"),
    *_GRANULAR,
    *(f"{name}{PAGES}" for name in _GRANULAR),
)
PUBLISHED = ("tsai", "autotm", "msa")
_NEGLIGIBLE = 1e-3
_TIE = 1e-9


def networks() -> tuple[Network, ...]:
    """The zoo, and the models of the onnx package, each forward and as a training step."""
    own = [
        Network(name=name, parameters=(("steps", 10),) if name == "gnmt" else ())
        for name in zoo.names()
    ]
    others = [
        Network(name=str(path), title=f"{name}.onnx", batch=32) for name, path in shipped().items()
    ]
    # The one with most operations last.
    forward = sorted((*own, *others), key=lambda network: network.name == "gnmt")
    return tuple(
        replace(network, training=training) for network in forward for training in (False, True)
    )


def parts_of(some: Sequence[Network], capacities: Sequence[int]) -> tuple[Part, ...]:
    """Both objectives; bounds are enclosed to half a percent."""
    machine = replace(load_machine("rtx2080ti"), spm_bytes=capacities[0])
    cases = tuple(
        Case(network=network, machine=machine, capacities=tuple(capacities)) for network in some
    )
    return tuple(
        Part(
            name=objective,
            cases=cases,
            schedulers=(*RULES, BOUND),
            search=Search(objective=objective, tolerance=5e-3),
        )
        for objective in ("time", "traffic")
    )


def parts() -> tuple[Part, ...]:
    """All networks at the four capacities."""
    return parts_of(networks(), CAPACITIES)


def find(rows: Rows, figures: Figures) -> Findings:
    """Gaps by rule and by network."""
    del figures
    time, traffic = (gaps(rows.where(part=name)) for name in ("time", "traffic"))
    return Findings(
        sheets=(
            _by_rule("Time above the certified bound, %", time),
            _by_rule("Traffic above the certified bound, %", traffic),
            _by_network(time),
        ),
        sentences=_sentences(time, traffic),
        notes=_notes(rows, time),
    )


def _by_rule(title: str, found: Gaps) -> Sheet:
    points = next(iter(found.values())).keys()
    sizes = sorted({size for _, _, size in points})
    least = {point: min(found[name][point] for name in found) for point in points}
    lines = []
    for name, of in found.items():
        worst, where = worst_of(of)
        best = sum(gap <= least[point] + _TIE for point, gap in of.items())
        lines.append(
            [
                rule(name),
                *(_median(of, training=training) for training in (False, True)),
                *(_median(of, size=size) for size in sizes),
                _median(of),
                _number(mean(of.values())),
                _number(worst),
                place(where),
                str(best),
            ]
        )
    heads = (
        *("rule", "forward", "training", *map(megabytes, sizes), "median", "mean"),
        *("worst", "where", f"best at, of {len(points)}"),
    )
    return Sheet(title=title, heads=heads, rows=lines)


def _by_network(found: Gaps) -> Sheet:
    points = next(iter(found.values())).keys()
    sizes = sorted({size for _, _, size in points})
    lines = []
    for network, training in dict.fromkeys(point[:2] for point in points):
        cells = [network, "training" if training else "forward"]
        for rules in (whole_of(found), list(found)):
            own = {
                name: {at: gap for at, gap in found[name].items() if at[:2] == (network, training)}
                for name in rules
            }
            best = best_of(own, rules)
            cells += [rule(best), " / ".join(map(_number, own[best].values()))]
        lines.append(cells)
    at = " / ".join(f"{size / MB:g}" for size in sizes)
    return Sheet(
        title=f"The best rule of each network (least mean gap of time), % at {at} MB",
        heads=("network", "step", "best of whole tensors", "gaps", "best of all", "gaps"),
        rows=lines,
        left=3,
    )


def _median(
    of: Mapping[Point, float], *, training: bool | None = None, size: int | None = None
) -> str:
    chosen = [
        gap
        for (_, trains, spm_bytes), gap in of.items()
        if training in (None, trains) and size in (None, spm_bytes)
    ]
    return _number(median(chosen)) if chosen else "-"


def _number(gap: float) -> str:
    return f"{100 * gap:.3g}" if gap >= 5e-5 else "0"


def _sentences(time: Gaps, traffic: Gaps) -> Sentences:
    best, whole = best_of(time, list(time)), best_of(time, whole_of(time))
    published = [f"{_mean(time[name])} ({name})" for name in PUBLISHED if name in time]
    return (
        f"The best greedy rule of whole tensors, {rule(whole)}, takes {_mean(time[whole])} more "
        f"time than the certified bound on average ({_spread(time[whole])}), the published ones "
        f"{listing(published)}; the best of all, {rule(best)}, takes {_mean(time[best])} "
        f"({_spread(time[best])}).",
        _where(time, traffic, whole),
        _why(time),
    )


def _mean(of: Mapping[Point, float]) -> str:
    return percent(mean(of.values()))


def _spread(of: Mapping[Point, float]) -> str:
    worst, where = worst_of(of)
    return f"median {percent(median(of.values()))}, at worst {percent(worst)}: {place(where)}"


def _where(time: Gaps, traffic: Gaps, whole: str) -> str:
    """Networks that lose most, and how far they wait for DRAM."""
    names = dict.fromkeys(network for network, _, _ in time[whole])

    def average(rule_name: str, network: str) -> float:
        return mean(gap for at, gap in time[rule_name].items() if at[0] == network)

    ranked = sorted(names, key=lambda name: average(whole, name), reverse=True)
    most, least = ranked[:3], ranked[-3:]
    waits = [percent(mean(average("stream", name) for name in some)) for some in (most, least)]
    told = [
        listing([f"{name} ({percent(average(whole, name))})" for name in some])
        for some in (most, least)
    ]
    moved = percent(median(traffic[whole].values()))
    return (
        f"{rule(whole).capitalize()} loses most, on average over capacities and steps, on "
        f"{told[0]}, least on {told[1]}: traffic above the bound ({moved} in the median) costs "
        "time where computation does not cover it, and to keep nothing at "
        f"all costs the first {waits[0]}, the last {waits[1]}."
    )


def _why(time: Gaps) -> str:
    """What pages are worth, and what the choice of a victim is."""
    return (
        "Two things are missing, and neither is enough by itself: to keep heads of tensors where "
        f"the whole does not fit takes belady from {_mean(time['belady'])} on average to "
        f"{_mean(time[f'belady{PAGES}'])}, to weigh a victim's bytes against its absence takes it "
        f"to {_mean(time['belady-size'])}, and both together to "
        f"{_mean(time[f'belady-size{PAGES}'])}."
    )


def _notes(rows: Rows, time: Gaps) -> tuple[str, ...]:
    points = list(next(iter(time.values())))
    small = sum(min(time[name][at] for name in time) < _NEGLIGIBLE for at in points)
    widths = [row["gap"] for row in rows.where(scheduler=BOUND)]
    width = max(gap for gap in widths if isinstance(gap, float))
    return (
        "The bound is that of the fluid relaxation: for tsai in its own, depth-first order, for "
        "all others in the order as listed.",
        "Of a rule of whole tensors a part of the gap is what whole tensors cost at best "
        "([whole.md](whole.md)); by pages the bound is reached closely ([page.md](page.md)).",
        f"At {small} of {len(points)} points some rule is within {percent(_NEGLIGIBLE)} of the "
        "bound: all fits, or computation hides what does not.",
        f"In the order as listed the optimum of the relaxation is enclosed to within "
        f"{100 * width:.2g} % everywhere; gaps are against the lower end. Bounds of the "
        "depth-first order are found in the same way; how far they are from that optimum is in no "
        "row.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Gaps of every rule, the best rule of time at the top."""
    from spmopt.report.plots.strips import Strip, Strips, save_strips

    del figures
    time, traffic = (gaps(rows.where(part=name)) for name in ("time", "traffic"))
    ranked = sorted(time, key=lambda name: mean(time[name].values()))
    save_strips(
        [
            Strips(
                title=title,
                x_label=f"{title.lower()} above the certified bound, %",
                strips=tuple(
                    Strip(label=rule(name), values=[100 * gap for gap in of[name].values()])
                    for name in ranked
                ),
                linear=1.0,
                ticks=(0, 1, 10, 100, 1000, 10_000)[:ends],
            )
            for title, of, ends in (("Time", time, 5), ("Traffic", traffic, 6))
        ],
        path,
    )


STUDY = Study(
    name="policies",
    title="what the greedy rules leave on the table",
    about=(
        "Every greedy rule, in its default options and where it can keep heads of tensors by "
        "pages also so, against the certified bound: the zoo at its own batch sizes (GNMT with 10 "
        "time steps) and the nine models that the onnx package ships (batch 32), forward and one "
        "training step, on rtx2080ti (616 GB/s, 13.45 TFLOP/s), lowering tiled. Capacities are "
        "the same for all networks, as a chip's is: 24 MB, 64 MB, 128 MB and 296 MB, from on-chip "
        "memories of today to where Tsai's thesis has ResNet-50 level off; shares of a network's "
        "bytes would compare chips that nobody builds. Time and traffic are minimised apart."
    ),
    parts=parts,
    find=find,
    draw=draw,
)
