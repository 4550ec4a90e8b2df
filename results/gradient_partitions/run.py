"""Section 5: the best partition of layers on two cores, and whether nearest neighbors tell it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import gradients
from results.shared.common import Row, Study, Table, percent
from results.shared.gradients import BASELINE, Counted, Setting, best_of
from spmopt.tiles.layer import Layer

SETTING = Setting(name="2 cores", cores=2)
AXES = {"m": "weight-sharing", "k": "ifmap-sharing", "n": "dY-sharing"}
ACCURACY, IDEAL, PREDICTED = 91.0, 22.4, 21.5  # percent in the paper
Ints = NDArray[np.int64]


def sizes(setting: Setting) -> dict[str, list[tuple[str, Counted]]]:
    """Sizes of all layers that have both gradients, with the networks that have them."""
    found: dict[str, list[tuple[str, Counted]]] = {}
    for network in setting.networks():
        for each in setting.layers(network):
            if each.input_gradient:
                one = each.layer
                name = f"{one.m}x{one.k}x{one.n}x{one.groups}"
                found.setdefault(name, []).append((network.abbreviation, each))
    return found


def cut(shared: Sequence[tuple[str, Counted]]) -> list[Row]:
    """Cycles of the baseline, and of algorithm 1 with each cut, of a size."""
    one = shared[0][1]
    (rearranged,) = SETTING.cases("+rearrangement", one)
    cuts = [[replace(rearranged, partition=f"{axis}/{SETTING.cores}")] for axis in AXES]
    base, *found = (row.cost for row in best_of([SETTING.cases(BASELINE, one), *cuts]))
    cycles = [each.makespan_cycles for each in found]
    best = int(np.argmin(cycles))
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
            "baseline_cycles": base.makespan_cycles,
            **{f"{axis}_cycles": took for axis, took in zip(AXES, cycles, strict=True)},
            "best": list(AXES)[best],
            **dict.fromkeys(("accuracy", "spread", "ideal", "predicted")),
            "value": float(cycles[best]),
            "bound": float(found[best].makespan_bound_cycles),
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
    known, right, sums = round(0.8 * len(rows)), list[float](), list[tuple[float, float]]()
    for seed in range(repetitions):
        order = np.random.default_rng(seed).permutation(len(rows))
        learned, asked = order[:known], order[known:]
        model: Any = KNeighborsClassifier(n_neighbors=k, algorithm="kd_tree")
        told: Ints = model.fit(points[learned], label[learned]).predict(points[asked])
        right.append(float((told == label[asked]).mean()))
        best, taken = costs[asked, label[asked]].sum(), costs[asked, told].sum()
        sums.append((best / base[asked].sum(), taken / base[asked].sum()))
    ideal, taken = np.mean(sums, axis=0).tolist()
    spread = float(np.std(right))
    return {"accuracy": float(np.mean(right)), "spread": spread, "ideal": ideal, "predicted": taken}


def predictions(rows: Sequence[Row]) -> list[Row]:
    """How well sizes are predicted, over all layers and over sizes, by distance and k."""
    nothing = dict.fromkeys(rows[0])
    table = pd.DataFrame(rows).astype({"layers": int})
    return [
        {**nothing, "what": what, "distances": distances, "neighbours": k}
        | predicted(table, what == "all layers", distances == "logarithms", k)
        for what, distances, k in product(
            ("all layers", "sizes"), ("dimensions", "logarithms"), (1, 3, 5)
        )
    ]


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Accuracy by k, and what the partitions save."""
    lines = [["paper", "-", "-", f"{ACCURACY:.0f}", "-", f"{IDEAL}", f"{PREDICTED}"]]
    for row in rows[rows.what != "size"].itertuples():
        saved = [f"{100 * (1 - left):.1f}" for left in (row.ideal, row.predicted)]
        accuracy = gradients.points(row.accuracy, ACCURACY)
        about = [row.what, row.distances, f"{row.neighbours:.0f}", accuracy]
        lines.append([*about, f"{100 * row.spread:.1f}", *saved])
    yield Table(
        title="K-nearest neighbors: 80 % known, 1000 repetitions",
        heads=[
            *("layers", "distances of", "k", "accuracy, %", "spread", "saved: ideal, %"),
            "saved: predicted, %",
        ],
        lines=lines,
        left=2,
    )
    rows = rows[rows.what == "size"]
    base, total = (rows.baseline_cycles * rows.layers).sum(), rows.layers.sum()
    axes = []
    for axis, name in AXES.items():
        own = rows[rows.best == axis]
        saved = 1 - (rows[f"{axis}_cycles"] * rows.layers).sum() / base
        cells = [str(len(own)), percent(own.layers.sum() / total), percent(saved)]
        axes.append([name, axis.upper(), *cells])
    yield Table(
        title="Which partition is best",
        heads=["partition", "cut along", "sizes where it is best", "layers", "saved if for all"],
        lines=axes,
        left=2,
    )


QUICK = Counted(
    layer=Layer(name="quick", m=512, k=512, n=512), count=1, number=1, input_gradient=True
)
STUDY = Study(
    file=__file__,
    cases=lambda: sizes(SETTING),
    work=cut,
    quick=[("quick", QUICK)],
    tables=tables,
    finish=predictions,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
