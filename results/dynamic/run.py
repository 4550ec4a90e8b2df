"""Static allocation against dynamic allocation by access frequency (Tabbassum et al.)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pandas as pd

from results.policies.run import STEPS, ZOO
from results.shared.common import MB, Study, Tables, change, percent, signed, sweeps, tabulated
from spmopt.frontends.shipped import ship
from spmopt.hardware.machines import load_machine
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.run import Sweep
from spmopt.sweeps.work import SolveOptions

SIZES = (MB, 4 * MB, 24 * MB, 64 * MB)
GPU, NPU = "rtx2080ti", "small-npu"
BATCHES = {GPU: (1, 4, 32), NPU: (4,)}
OWN = ("resnet18", "resnet50", "vgg16", "vgg19.onnx")
BASE, RULE, KNOWN = "static", "frequency", "frequency:counts=run"
READINGS = {
    "dynamic alone": "lru",
    "frequency so far": RULE,
    "recent frequency": "frequency:counts=recent",
    "frequency known": KNOWN,
    "so far, by pages": "frequency:granularity=page",
}
OPTIMUM = {"optimum of the list": "residency"}
RULES = (BASE, *READINGS.values(), "residency", "fluid")
PAPER = {"time": -30, "energy": -25}
POINT = ["machine", "network", "training", "batch", "spm_bytes"]
Part = tuple[str, SweepCase, tuple[str, ...], SolveOptions]


def case(machine: str, name: str, training: bool, batch: int | None, *sizes: int) -> SweepCase:
    """Return a network of the zoo, or one that the package onnx ships, at some capacities."""
    path = ship()[name.removesuffix(".onnx")] if name.endswith(".onnx") else name
    return SweepCase(
        network=Network(name=str(path), title=name, training=training, batch=batch),
        machine=replace(load_machine(machine), spm_bytes=sizes[0]),
        capacities=sizes,
    )


def cases() -> dict[str, Sweep]:
    """Declare the paper's networks, the same in fusion tiles, then the zoo, for both objectives."""
    return sweeps(part for kind in PAPER for part in (*own(kind), *fusion(kind), *zoo(kind)))


def own(kind: str) -> Iterable[Part]:
    """Declare ResNet and VGG on both machines."""
    search = SolveOptions(objective=kind, time_limit_s=20.0)
    for (machine, batches), name, training in product(BATCHES.items(), OWN, STEPS):
        for batch in batches:
            yield kind, case(machine, name, training, batch, *SIZES), RULES, search


def fusion(kind: str) -> Iterable[Part]:
    """Declare the same in fusion tiles, at one batch size and one capacity."""
    search = SolveOptions(objective=kind, time_limit_s=30.0)
    for name, training in product(OWN, STEPS):
        yield f"{kind} in fusion tiles", case(GPU, name, training, 4, 24 * MB), ("fusion",), search


def zoo(kind: str) -> Iterable[Part]:
    """Declare other networks at their own batch sizes."""
    search = SolveOptions(objective=kind, time_limit_s=20.0)
    for name, training in product(ZOO, STEPS):
        yield f"{kind} of the zoo", case(GPU, name, training, None, 24 * MB), RULES, search


def measured(rows: pd.DataFrame, part: str, column: str) -> pd.DataFrame:
    """Return a column of a part, points by schedulers."""
    own = rows[rows.part == part].set_index([*POINT, "scheduler"])
    return own[column].unstack().loc[own.index.droplevel("scheduler").unique()]


def against_static(rows: pd.DataFrame, part: str, column: str) -> pd.DataFrame:
    """Return percents that schedulers change of static allocation, points by schedulers."""
    found = measured(rows, part, column).dropna(subset=[BASE])
    return 100 * (found.div(found[BASE], axis=0) - 1)


def summary(rows: pd.DataFrame, part: str = "") -> pd.DataFrame:
    """Return the most, the median and the least that every reading and the optimum save."""
    lines, shown = [], {**READINGS, **OPTIMUM}
    for what, kind, column in (
        ("time", "time", "time_s"),
        ("energy, the same schedules", "time", "energy_j"),
        ("energy, minimized", "energy", "energy_j"),
    ):
        found = against_static(rows, f"{kind}{part}", column)
        paper = PAPER[what.partition(",")[0]]
        for how, of in (("most", found.min()), ("median", found.median()), ("least", found.max())):
            given = f"{paper:+}" if how == "most" else ""
            lines.append([what, how, given, *(signed(of[rule]) for rule in shown.values())])
        reached = (found <= paper).sum()
        lines.append([what, f"points that save as much, of {len(found)}", "-"])
        lines[-1] += [str(reached[rule]) for rule in shown.values()]
    return tabulated(["figure", "of all points", "paper", *shown], lines, left=2)


def by_workload(rows: pd.DataFrame) -> pd.DataFrame:
    """Return changes of time and energy at all capacities."""
    shown: dict[str, pd.Series] = {}
    for what, column in (("time", "time_s"), ("energy", "energy_j")):
        found = against_static(rows, what, column)
        order = found.index.droplevel("spm_bytes").unique()
        for title, rule in (("frequency", RULE), ("optimum", "residency")):
            parts = found[rule].unstack().loc[order, [*SIZES]].map(signed)
            shown[f"{what}: {title}"] = parts.agg(" / ".join, axis=1)
    table = pd.DataFrame(shown).reset_index()
    table = table.assign(batch=table.batch.map(str), training=table.training.map(STEPS))
    return table.set_index(POINT[:4]).rename_axis(index={"training": "step"})


def fused(rows: pd.DataFrame) -> pd.DataFrame:
    """Return times and energies down to the best schedule in fusion tiles, and its gap."""
    lines = []
    for kind, column, unit, scale in (
        ("time", "time_s", "ms", 1e3),
        ("energy", "energy_j", "J", 1),
    ):
        best = measured(rows, f"{kind} in fusion tiles", column)["fusion"]
        gap = measured(rows, f"{kind} in fusion tiles", "gap")["fusion"]
        listed = measured(rows, kind, column)
        for point, found in best.items():
            at = listed.loc[point]
            ratios = [at[RULE], at["page"], found] / at[BASE]
            name = f"{point[1]} {STEPS[point[2]]}"
            lines.append([f"{kind}, {unit}", name, f"{scale * at[BASE]:.4g}"])
            lines[-1] += [*map(change, ratios), percent(gap[point])]
    heads = [
        "",
        "network",
        "static",
        "frequency",
        *OPTIMUM,
        "in fusion tiles",
        "gap to all fusion plans",
    ]
    return tabulated(heads, lines, left=2)


def of_zoo(rows: pd.DataFrame) -> pd.DataFrame:
    """Return changes on the zoo, forward / training."""
    shown = {}
    for what, column in (("time", "time_s"), ("energy", "energy_j")):
        found = against_static(rows, f"{what} of the zoo", column)
        found = found.droplevel(["machine", "batch", "spm_bytes"])
        for title, rule in (("frequency", RULE), ("known", KNOWN), ("optimum", "residency")):
            both = found[rule].unstack().reindex(columns=[*STEPS]).map(signed)
            shown[f"{what}: {title}"] = both.agg(" / ".join, axis=1)
    return pd.DataFrame(shown).loc[[*ZOO]]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate the paper's figures, then workloads, fusion tiles and the zoo."""
    at = " / ".join(f"{size / MB:g}" for size in SIZES)
    return {
        "Against static allocation, ResNet and VGG, %": summary(rows),
        f"ResNet and VGG by workload, % at {at} MB": by_workload(rows),
        f"With fusion tiles: {GPU}, batch 4, 24 MB": fused(rows),
        f"Against static allocation, ten networks, {GPU}, 24 MB, %": summary(rows, " of the zoo"),
        "The ten networks, % forward / training": of_zoo(rows),
    }


_FEW = ("time", case(GPU, "resnet18", False, 1, 4 * MB), RULES[:-2], SolveOptions())
STUDY = Study(file=__file__, cases=cases, quick=next(iter(sweeps([_FEW]).values())), tables=tables)

if __name__ == "__main__":
    sys.exit(STUDY.main())
