"""What every greedy rule leaves on the table, over many networks and capacities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from spmopt.frontends.shipped import shipped
from spmopt.hardware.machines import load_machine
from spmopt.studies.gaps import BOUND, PAGES, WIDTH, Gaps, gaps, levels, own_of, rule
from spmopt.studies.paper import MACHINE, MB
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Study
from spmopt.studies.tables import best_of_networks, by_network, by_rule, sentences
from spmopt.studies.words import megabytes, percent
from spmopt.sweep.cases import Case, Network
from spmopt.sweep.work import Search

CAPACITIES = (24 * MB, 64 * MB, 128 * MB, 296 * MB)
_GRANULAR = ("frequency", "lru", "belady", "belady-size")
RULES = (
    *("stream", "static", "next-layer", "autotm", "msa", "tsai"),
    *_GRANULAR,
    *(f"{name}{PAGES}" for name in _GRANULAR),
)
_ZOO = (
    *("resnet18", "resnet50", "vgg16", "alexnet", "googlenet", "squeezenet", "mobilenetv2"),
    *("transformer", "gnmt", "bert-tiny", "bert-large"),
)
_NEGLIGIBLE = 1e-3


def networks() -> tuple[Network, ...]:
    """Networks of the zoo and of the onnx package, each forward and as a training step."""
    own = [
        Network(name=name, parameters=(("steps", 10),) if name == "gnmt" else ()) for name in _ZOO
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
    own = [own_of(rows, name, found) for name, found in (("time", time), ("traffic", traffic))]
    return Findings(
        sheets=(
            by_rule("Time above the certified bound, %", time, own[0]),
            by_rule("Traffic above the certified bound, %", traffic, own[1]),
            by_network(time, traffic, levels(rows)),
            best_of_networks(time),
        ),
        sentences=sentences(time, traffic, own[0], levels(rows)),
        notes=_notes(rows, time),
    )


def _notes(rows: Rows, time: Gaps) -> tuple[str, ...]:
    points = list(next(iter(time.values())))
    small = sum(min(time[name][at] for name in time) < _NEGLIGIBLE for at in points)
    widths = [row["gap"] for row in rows.where(scheduler=BOUND)]
    width = max(gap for gap in widths if isinstance(gap, float))
    return (
        "The bound is that of the fluid relaxation in the order as listed. tsai runs in another, "
        "depth-first one: in the row *tsai, own order* it is held against the bound of that. "
        "Columns are medians, of all points, of some; but for mean and worst.",
        "Of a rule of whole tensors a part of the gap is what whole tensors cost at best "
        "([whole.md](whole.md)); by pages the bound is reached closely ([page.md](page.md)).",
        f"At {small} of {len(points)} points some rule is within {percent(_NEGLIGIBLE)} of the "
        "bound.",
        f"*Least traffic level from*: the least of these capacities at which the bound of the "
        f"traffic is that at {megabytes(rows.sizes()[-1])}, to {percent(WIDTH)}.",
        f"In the order as listed the optimum of the relaxation is enclosed to within "
        f"{100 * width:.2g} % everywhere; gaps are against the lower end. Bounds of the "
        "depth-first order are found in the same way; how far they are from that optimum is in no "
        "row.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Gaps of every rule, the best rule of time at the top."""
    from spmopt.report.plots.strips import Strip, Strips, save_strips
    from spmopt.report.plots.style import Heading

    del figures
    time, traffic = (
        {**found, **own_of(rows, name, found)}
        for name in ("time", "traffic")
        for found in [gaps(rows.where(part=name))]
    )
    ranked = sorted(time, key=lambda name: mean(time[name].values()))
    panels = [
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
    ]
    sizes = rows.sizes()
    heading = Heading(
        title=(
            f"What greedy rules leave: {len(rows.texts('network'))} networks, forward and "
            f"training, {megabytes(sizes[0])} to {megabytes(sizes[-1])}: {len(time[ranked[0]])} "
            "points a rule"
        ),
        conditions=f"{MACHINE}, batch 32 (Transformer 128), lowering tiled",
    )
    save_strips(panels, heading, path)


STUDY = Study(
    name="policies",
    title="what the greedy rules leave on the table",
    about=(
        "Every greedy rule, in its default options and where it can keep heads of tensors by "
        "pages also so, against the certified bound: eleven networks of the zoo at their own "
        "batch sizes (GNMT with 10 time steps) and the nine models that the onnx package ships "
        "(batch 32), forward and one training step, on rtx2080ti (616 GB/s, 13.45 TFLOP/s), "
        "lowering tiled. Capacities are the same for all networks, as a chip's is: 24 MB, 64 MB, "
        "128 MB and 296 MB, from on-chip memories of today to where Tsai's thesis has ResNet-50 "
        "level off; shares of a network's bytes would compare chips that nobody builds. Time and "
        "traffic are minimised apart."
    ),
    parts=parts,
    find=find,
    draw=draw,
)
