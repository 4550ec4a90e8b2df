"""What every greedy rule leaves on the table, over many networks and capacities."""

from __future__ import annotations

import sys
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from results.shared import thesis
from results.shared.common import MB, Study, Tables, megabytes, sweeps, tabulated, texts
from results.shared.plots import label, legend, strips
from spmopt.frontends.shipped import ship
from spmopt.hardware.machines import load_machine
from spmopt.reporting.plots.style import canvas
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.run import Sweep
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
STEPS = {False: "forward", True: "training"}
POINT = ["network", "training", "spm_bytes"]


def cases() -> dict[str, Sweep]:
    """Declare networks of the zoo and the onnx package, both steps; the largest last."""
    networks = [Network(name=name) for name in ZOO]
    networks += [
        Network(name=str(path), title=f"{name}.onnx", batch=32) for name, path in ship().items()
    ]
    networks.append(Network(name="gnmt", parameters=(("steps", 10),)))
    machine = replace(load_machine("rtx2080ti"), spm_bytes=SIZES[0])
    return sweeps(
        (
            kind,
            SweepCase(
                network=replace(each, training=step, mapper="panel"),
                machine=machine,
                capacities=SIZES,
            ),
            (*RULES, "fluid"),
            SolveOptions(objective=kind, tolerance=WIDTH),
        )
        for kind in KINDS
        for each in networks
        for step in STEPS
    )


def gaps(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return gaps to the bound of the listed order, points by rules, where all have schedules.

    A rule that runs in an order of its own is compared with the same bound as the others, so that
    all gaps at a point compare values; its gap to the bound of that is another column.
    """
    own = rows[rows.part == kind].set_index([*POINT, "scheduler"])
    value, bound, gap = (own[name].unstack() for name in ("value", "bound", "gap"))
    found = value[[*RULES]].div(bound["fluid"], axis=0) - 1
    found.insert(RULES.index("tsai") + 1, OWN, gap["tsai"])
    found = found.loc[own.index.droplevel("scheduler").unique()]
    return found.dropna().rename(columns=lambda rule: rule.replace(PAGES, " by pages"))


def number(gap: float) -> str:
    """Write a gap in percent, three digits."""
    if abs(gap) < 5e-5:
        return "0"
    return f"{100 * gap:.3g}" if gap < 10 else f"{100 * gap:.0f}"


def by_rule(found: pd.DataFrame) -> pd.DataFrame:
    """Return median, mean and worst gap of every rule."""
    least = found.drop(columns=OWN).min(axis=1)
    medians = {f"median {STEPS[step]}": own.median() for step, own in found.groupby(level=1)}
    medians |= {f"median {megabytes(size)}": of.median() for size, of in found.groupby(level=2)}
    table = pd.DataFrame({"mean": found.mean(), "median": found.median(), **medians})
    table = texts(table.assign(worst=found.max()), number).rename_axis("rule")
    # Of equals the last one by name and capacity.
    worst = found.sort_index(ascending=False).idxmax()
    table["where"] = [f"{name} {STEPS[step]}, {megabytes(size)}" for name, step, size in worst]
    best = found.le(least + 1e-9, axis=0).sum().astype(str)
    best[OWN] = "-"
    return table.assign(**{f"best, ties included, of {len(found)}": best})


def rules(found: pd.DataFrame) -> dict[str, list[str]]:
    """Return rules that keep whole tensors, and all."""
    everything = [name for name in found if name != OWN]
    return {"whole": [n for n in everything if not n.endswith("by pages")], "all": everything}


def levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the least capacity at which the bound of traffic is that at the largest, or ``-``."""
    own = rows[(rows.part == "traffic") & (rows.scheduler == "fluid")]
    bounds = own.set_index(POINT).bound.unstack()
    least = bounds.le((1 + WIDTH) * bounds[SIZES[-1]], axis=0).idxmax(axis=1)
    return least.map(lambda size: megabytes(size) if size < SIZES[-1] else "-").unstack()


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate gaps by rule and by network."""
    time, traffic = (gaps(rows, kind) for kind in KINDS)
    kinds = rules(time)
    whole, best = (time[names].mean().idxmin() for names in kinds.values())
    means, level = time.groupby(level=0, sort=False).mean(), levels(rows)
    shown = {f"{rule}: time": means[rule] for rule in ("stream", whole, best)}
    shown[f"{whole}: traffic"] = traffic[whole].groupby(level=0).mean()
    order = means.index[means[whole].argsort(kind="stable")][::-1]
    networks = texts(pd.DataFrame(shown).loc[order], number).rename_axis("network")
    networks["least traffic level from, forward / training"] = level[False] + " / " + level[True]
    lines = []
    for (network, training), own in time.groupby(level=[0, 1], sort=False):
        lines.append([network, STEPS[training]])
        for names in kinds.values():
            least = own[names].mean().idxmin()
            lines[-1] += [least, " / ".join(map(number, own[least]))]
    heads = ["network", "step", "best of whole tensors", "gaps", "best of all", "gaps"]
    at = " / ".join(f"{size / MB:g}" for size in SIZES)
    return {
        "Time above the certified bound, %": by_rule(time),
        "Traffic above the certified bound, %": by_rule(traffic),
        "By network, mean over capacities and steps, %": networks,
        f"The best rule of each network (least mean gap of time), % at {at} MB": tabulated(
            heads, lines, left=3
        ),
    }


def draw(rows: pd.DataFrame) -> Figure:
    """Draw gaps of every rule, the best rule of time at the top."""
    time, traffic = (100 * gaps(rows, kind) for kind in KINDS)
    figure, (axes,) = canvas(1, 2, 1.7 + 0.27 * len(time.columns))
    ranked = time.mean().sort_values().index
    for name, of, ax, ends in zip(("Time", "Traffic"), (time, traffic), axes, (5, 6), strict=True):
        strips(ax, of[ranked], (0, 1, 10, 100, 1000, 10_000)[:ends])
        x = f"{name.lower()} above the certified bound, %\n(linear to 1, then logarithmic)"
        label(ax, name, x)
    axes[1].set_yticklabels([])
    legend(figure)
    return figure


QUICK = replace(thesis.QUICK, schedulers=RULES)
STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
