"""What every greedy rule leaves on the table, over many networks and capacities."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import thesis
from results.shared.common import MB, Study, Sweep, Table, megabytes, sweeps
from results.shared.plots import canvas, dress, legend, strips
from spmopt.frontends.shipped import shipped
from spmopt.hardware.machines import load_machine
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.work import SolveOptions

SIZES = (24 * MB, 64 * MB, 128 * MB, 296 * MB)
GRANULAR = ("frequency", "lru", "belady", "belady-size")
PAGES, OWN = ":granularity=page", "tsai, own order"
RULES = (
    *("stream", "static", "next-layer", "autotm", "msa", "tsai", *GRANULAR),
    *(f"{name}{PAGES}" for name in GRANULAR),
)
ZOO = (
    *("resnet18", "resnet50", "vgg16", "alexnet", "googlenet", "squeezenet", "mobilenetv2"),
    *("transformer", "bert-tiny", "bert-large"),
)
WIDTH = 5e-3  # to which bounds are enclosed
KINDS = ("time", "traffic")
POINT = ["network", "training", "spm_bytes"]


def cases() -> dict[str, Sweep]:
    """Networks of the zoo and of the onnx package, forward and training; the largest last."""
    networks = [Network(name=name) for name in ZOO]
    networks += [
        Network(name=str(path), title=f"{name}.onnx", batch=32) for name, path in shipped().items()
    ]
    networks.append(Network(name="gnmt", parameters=(("steps", 10),)))
    machine = replace(load_machine("rtx2080ti"), spm_bytes=SIZES[0])
    steps = [replace(each, training=training) for each in networks for training in (False, True)]
    return sweeps(
        Sweep(
            kind,
            SweepCase(network=step, machine=machine, capacities=SIZES),
            (*RULES, "fluid"),
            SolveOptions(objective=kind, tolerance=WIDTH),
        )
        for kind in KINDS
        for step in steps
    )


def called(rule: str) -> str:
    """A rule as the tables call it."""
    return rule.replace(PAGES, " by pages")


def gaps(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Gaps to the bound of the listed order, points by rules, where every rule has a schedule.

    A rule that runs in an order of its own is held against the same bound as the others, so that
    all gaps at a point compare values; its gap to the bound of that is another column.
    """
    own = rows[rows.part == kind]
    value = own.pivot_table(index=POINT, columns="scheduler", values="value", sort=False)
    bound = own[own.scheduler == "fluid"].set_index(POINT).bound
    found = value[list(RULES)].div(bound, axis=0) - 1
    found.insert(RULES.index("tsai") + 1, OWN, own[own.scheduler == "tsai"].set_index(POINT).gap)
    return found.dropna().rename(columns=called)


def number(gap: float) -> str:
    """A gap in percent, three digits."""
    if abs(gap) < 5e-5:
        return "0"
    return f"{100 * gap:.3g}" if gap < 10 else f"{100 * gap:.0f}"


def by_rule(found: pd.DataFrame, title: str) -> Table:
    """Medians, mean and worst gap of every rule."""
    least, lines = found.drop(columns=OWN).min(axis=1), []
    for name, of in found.items():
        network, training, size = max((gap, point) for point, gap in of.items())[1]
        medians = [of.median(), *of.groupby(level=1).median(), *of.groupby(level=2).median()]
        where = f"{network} {'training' if training else 'forward'}, {megabytes(size)}"
        best = "-" if name == OWN else str((of <= least + 1e-9).sum())
        lines.append([name, *map(number, [of.mean(), *medians, of.max()]), where, best])
    heads = [
        *("rule", "mean", "median", "median forward", "median training"),
        *(f"median {megabytes(size)}" for size in SIZES),
        *("worst", "where", f"best, ties included, of {len(found)}"),
    ]
    return Table(title=title, heads=heads, lines=lines)


def rules(found: pd.DataFrame) -> dict[str, list[str]]:
    """Rules that keep whole tensors, and all."""
    everything = [name for name in found if name != OWN]
    return {"whole": [n for n in everything if not n.endswith("by pages")], "all": everything}


def levels(rows: pd.DataFrame) -> dict[tuple[str, bool], str]:
    """The least capacity at which the bound of the traffic is that at the largest, or ``-``."""
    own = rows[(rows.part == "traffic") & (rows.scheduler == "fluid")]
    found = {}
    for about, some in own.groupby(POINT[:2]):
        bounds = some.set_index("spm_bytes").bound
        least = bounds.index[bounds <= (1 + WIDTH) * bounds[SIZES[-1]]].min()
        found[about] = megabytes(least) if least < SIZES[-1] else "-"
    return found


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Gaps by rule and by network."""
    time, traffic = (gaps(rows, kind) for kind in KINDS)
    yield by_rule(time, "Time above the certified bound, %")
    yield by_rule(traffic, "Traffic above the certified bound, %")
    kinds = rules(time)
    whole, best = (time[names].mean().idxmin() for names in kinds.values())
    means, level = time.groupby(level=0, sort=False).mean(), levels(rows)
    more, lines = traffic.groupby(level=0).mean(), []
    for name in means.index[means[whole].argsort(kind="stable")][::-1]:
        cells = [*means.loc[name, ["stream", whole, best]], more.loc[name, whole]]
        lines.append(
            [name, *map(number, cells), f"{level[name, False]} / {level[name, True]}"],
        )
    heads = ["network", "stream: time", f"{whole}: time", f"{best}: time", f"{whole}: traffic"]
    yield Table(
        title="By network, mean over capacities and steps, %",
        heads=[*heads, "least traffic level from, forward / training"],
        lines=lines,
    )
    lines = []
    for (network, training), own in time.groupby(level=[0, 1], sort=False):
        cells = [network, "training" if training else "forward"]
        for names in kinds.values():
            least = own[names].mean().idxmin()
            cells += [least, " / ".join(map(number, own[least]))]
        lines.append(cells)
    at = " / ".join(f"{size / MB:g}" for size in SIZES)
    yield Table(
        title=f"The best rule of each network (least mean gap of time), % at {at} MB",
        heads=["network", "step", "best of whole tensors", "gaps", "best of all", "gaps"],
        lines=lines,
        left=3,
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Gaps of every rule, the best rule of time at the top."""
    time, traffic = (100 * gaps(rows, kind) for kind in KINDS)
    title = (
        f"What greedy rules leave: {rows.network.nunique()} networks, forward and training, 24 MB "
        f"to 296 MB: {len(time)} points a rule\nRTX 2080 Ti (616 GB/s, 13.45 TFLOP/s), batch 32 "
        "(Transformer 128), lowering tiled"
    )
    figure, (axes,) = canvas(1, 2, 1.7 + 0.27 * len(time.columns), title)
    ranked = time.mean().sort_values().index
    for name, of, ax, ends in zip(("Time", "Traffic"), (time, traffic), axes, (5, 6), strict=True):
        strips(ax, {rule: of[rule] for rule in ranked}, (0, 1, 10, 100, 1000, 10_000)[:ends])
        x = f"{name.lower()} above the certified bound, %\n(linear to 1, then logarithmic)"
        dress(ax, name, x)
    axes[1].set_yticklabels([])
    legend(figure)
    return figure


QUICK = thesis.QUICK._replace(schedulers=RULES)
STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
