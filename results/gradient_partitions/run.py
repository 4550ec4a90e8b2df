"""Section 5: the best partition of layers on two cores, and whether nearest neighbors tell it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from results.shared.common import Row, Study, Tables, percent, points, tabulated
from results.shared.gradients import BASELINE, NETWORKS, Counted, NpuSetting, best_of
from spmopt.tiles.layer import Layer

SETTING = NpuSetting(name="2 cores", cores=2)
AXES = {"m": "weight-sharing", "k": "ifmap-sharing", "n": "dY-sharing"}
ACCURACY, IDEAL, PREDICTED = 91.0, 22.4, 21.5  # percent in the paper
Ints = NDArray[np.int64]


def sizes(setting: NpuSetting) -> dict[str, list[tuple[str, Counted]]]:
    """Return sizes of all layers that have both gradients, with the networks that have them."""
    found: dict[str, list[tuple[str, Counted]]] = {}
    for abbreviation in NETWORKS[setting.machine]:
        for each in setting.layers(abbreviation):
            if each.input_gradient:
                one = each.layer
                name = f"{one.m}x{one.k}x{one.n}x{one.groups}{_of_map(one)}"
                found.setdefault(name, []).append((abbreviation, each))
    return found


def _of_map(layer: Layer) -> str:
    return f", {layer.window}" if layer.window else ""


def cut(shared: Sequence[tuple[str, Counted]]) -> list[Row]:
    """Measure the baseline, and algorithm 1 with each cut, of a size."""
    one = shared[0][1]
    (rearranged,) = SETTING.cases("+rearrangement", one)
    cuts = {a: [replace(rearranged, partition=f"{a}/{SETTING.cores}")] for a in AXES}
    found = best_of({BASELINE: SETTING.cases(BASELINE, one), **cuts})
    cycles = {name: row.cost.makespan_cycles for name, row in found.items()}
    best = min(AXES, key=cycles.__getitem__)
    return [
        {
            "what": "size",
            "machine": SETTING.machine,
            "cores": SETTING.cores,
            **{name: getattr(one.layer, name) for name in ("m", "k", "n", "groups")},
            "distances": "",
            "neighbours": None,
            "layers": sum(each.count for _, each in shared),
            "networks": " ".join(name for name, _ in shared),
            "spm_bytes": SETTING.hardware().spm_bytes,
            **{f"{name}_cycles": took for name, took in cycles.items()},
            "best": best,
            **dict.fromkeys(("accuracy", "spread", "ideal", "predicted")),
            "value": float(cycles[best]),
            "bound": float(found[best].cost.makespan_bound_cycles),
            "verified": True,
        }
    ]


def predicted(
    rows: pd.DataFrame, repeated: bool, logarithmic: bool, k: int, repetitions: int = 1000
) -> dict[str, float]:
    """Predict the best cut by nearest neighbors, again and again, 80 % of the layers known.

    "Using the dimensions of dX, dW, and dY as features in the KNN algorithm": six numbers a layer,
    rows and columns of each. ``repeated``: layers of equal size count as often as they are there,
    so that one of the same size can be among the known. ``ideal`` and ``predicted`` are sums of
    cycles of what is best, and of what is predicted, over those of the baseline.
    """
    if repeated:
        rows = rows.loc[rows.index.repeat(rows.layers)]
    points = rows[["m", "k", "k", "n", "m", "n"]].to_numpy(np.float64)
    costs: Ints = rows[[f"{axis}_cycles" for axis in AXES]].to_numpy(np.int64)
    base, label = rows.baseline_cycles.to_numpy(np.int64), np.argmin(costs, axis=1)
    points = np.log(points) if logarithmic else points
    found = []
    for seed in range(repetitions):
        order = np.random.default_rng(seed).permutation(len(rows))
        learned, asked = np.split(order, [round(0.8 * len(rows))])
        model: Any = KNeighborsClassifier(n_neighbors=k, algorithm="kd_tree")
        guess: Ints = model.fit(points[learned], label[learned]).predict(points[asked])
        best, taken = (costs[asked, of].sum() / base[asked].sum() for of in (label[asked], guess))
        found.append(((guess == label[asked]).mean(), best, taken))
    accuracy, ideal, taken = np.mean(found, axis=0).tolist()
    spread = float(np.std([right for right, *_ in found]))
    return {"accuracy": accuracy, "spread": spread, "ideal": ideal, "predicted": taken}


def predictions(rows: Sequence[Row]) -> list[Row]:
    """Predict best cuts over all layers and over sizes, by distance and k."""
    nothing = dict.fromkeys(rows[0])
    table = pd.DataFrame(rows).astype({"layers": int})
    return [
        {**nothing, "what": what, "distances": distances, "neighbours": k}
        | predicted(table, what == "all layers", distances == "logarithms", k)
        for what, distances, k in product(
            ("all layers", "sizes"), ("dimensions", "logarithms"), (1, 3, 5)
        )
    ]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate accuracy by k, and what the partitions save."""
    lines = [["paper", "-", "-", f"{ACCURACY:.0f}", "-", f"{IDEAL}", f"{PREDICTED}"]]
    for row in rows[rows.what != "size"].itertuples():
        saved = [f"{100 * (1 - left):.1f}" for left in (row.ideal, row.predicted)]
        accuracy = points(100 * row.accuracy, ACCURACY)
        about = [row.what, row.distances, f"{row.neighbours:.0f}", accuracy]
        lines.append([*about, f"{100 * row.spread:.1f}", *saved])
    heads = ["layers", "distances of", "k", "accuracy, %", "spread"]
    heads += ["saved: ideal, %", "saved: predicted, %"]
    rows = rows[rows.what == "size"]
    base, total = (rows.baseline_cycles * rows.layers).sum(), rows.layers.sum()
    axes = []
    for axis, name in AXES.items():
        own = rows[rows.best == axis]
        saved = 1 - (rows[f"{axis}_cycles"] * rows.layers).sum() / base
        cells = [str(len(own)), percent(own.layers.sum() / total), percent(saved)]
        axes.append([name, axis.upper(), *cells])
    cuts = ["partition", "cut along", "sizes where it is best", "layers", "saved if for all"]
    return {
        "K-nearest neighbors: 80 % known, 1000 repetitions": tabulated(heads, lines, left=2),
        "Which partition is best": tabulated(cuts, axes, left=2),
    }


STUDY = Study(
    file=__file__,
    cases=lambda: sizes(SETTING),
    work=cut,
    quick=[("quick", Counted(layer=Layer(name="quick", m=512, k=512, n=512)))],
    tables=tables,
    finish=predictions,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
