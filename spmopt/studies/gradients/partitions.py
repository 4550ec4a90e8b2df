"""Partitions on two cores: the best one by evaluation, and by k-nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from spmopt.core.table import Ints
from spmopt.gradients.batch import run_all
from spmopt.gradients.spent import Spent
from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.measure import Tell
from spmopt.studies.gradients.neighbours import Accuracy, Protocol, accuracy
from spmopt.studies.gradients.paper import ACCURACY, IDEAL, PREDICTED, points
from spmopt.studies.gradients.setting import Counted, Setting
from spmopt.studies.gradients.technique import BASELINE, cases
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Known, Measured, Sentences, Sheet, Study
from spmopt.studies.words import listing, percent
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value
from spmopt.tiles.layer import Layer
from spmopt.tiles.partition import AXIS_NAMES

SETTING = Setting(name="2 cores", machine=LARGE, cores=2)
_NAMES = {"m": "weight-sharing", "k": "ifmap-sharing", "n": "dY-sharing"}
COLUMNS = Columns.of(
    {
        "what": str,
        "machine": str,
        "cores": int,
        "m": int,
        "k": int,
        "n": int,
        "groups": int,
        "distances": str,
        "neighbours": int,
    },
    {
        "layers": int,
        "networks": str,
        "spm_bytes": int,
        "baseline_cycles": int,
        **{f"{axis}_cycles": int for axis in AXIS_NAMES},
        "best": str,
        "accuracy": float,
        "spread": float,
        "ideal": float,
        "predicted": float,
        "value": float,
        "bound": float,
        "verified": bool,
    },
)
_NOTHING: Mapping[str, Value] = dict.fromkeys(COLUMNS.types)
_SIZE, _ALL, _SIZES = "size", "all layers", "sizes"
"""What a row is about: a size of layers, or how well it is predicted, over layers or sizes."""
_KS = (1, 3, 5)
_AT_ONCE = 16


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """A size, and the networks that have it."""

    counted: Counted
    networks: tuple[str, ...]


def sizes(setting: Setting) -> tuple[_Shared, ...]:
    """Sizes of all layers that have both gradients, of all networks."""
    found: dict[Layer, _Shared] = {}
    for network in setting.networks():
        for each in setting.layers(network):
            if not each.input_gradient:
                continue
            key = replace(each.layer, name="layer")
            known = found.get(key, _Shared(counted=replace(each, count=0), networks=()))
            found[key] = _Shared(
                counted=replace(known.counted, count=known.counted.count + each.count),
                networks=(*known.networks, network.abbreviation),
            )
    return tuple(found.values())


def measured(setting: Setting, repetitions: int = 1000) -> Measured:
    """A row a size: cycles of the baseline, and of each cut with algorithm 1; then predictions."""

    def run(pool: Pool, tell: Tell, known: Known) -> Iterator[Sequence[Row]]:
        evaluated: list[Row] = []
        for some in _batched(sizes(setting)):
            before = [known(_about(setting, each)) for each in some]
            rows = [row for row in before if row is not None]
            if len(rows) < len(some):
                rows = _evaluated(setting, some, pool, tell)
            evaluated += rows
            yield rows
        tell("nearest neighbours")
        yield predictions(Rows(evaluated), repetitions)

    return Measured(columns=COLUMNS, run=run, what=repr(setting))


def _batched(shared: Sequence[_Shared]) -> Iterator[Sequence[_Shared]]:
    """Some sizes at a time: what a killed run has to do again."""
    for begin in range(0, len(shared), _AT_ONCE):
        yield shared[begin : begin + _AT_ONCE]


def _evaluated(setting: Setting, some: Sequence[_Shared], pool: Pool, tell: Tell) -> list[Row]:
    asked = []
    for each in some:
        (base,) = cases(BASELINE, each.counted, setting)
        (rearranged,) = cases("+rearrangement", each.counted, setting)
        cuts = (replace(rearranged, partition=f"{a}/{setting.cores}") for a in AXIS_NAMES)
        asked += [base, *cuts]
    rows = dict(found for part in run_all(asked, pool, tell) for found in part)
    width = 1 + len(AXIS_NAMES)
    return [
        _row(setting, each, [rows[place * width + of].spent for of in range(width)])
        for place, each in enumerate(some)
    ]


def _about(setting: Setting, shared: _Shared) -> dict[str, Value]:
    """What tells rows apart."""
    layer = shared.counted.layer
    return {
        **_NOTHING,
        "what": _SIZE,
        "distances": "",
        "machine": setting.machine,
        "cores": setting.cores,
        "m": layer.m,
        "k": layer.k,
        "n": layer.n,
        "groups": layer.groups,
    }


def _row(setting: Setting, shared: _Shared, spent: Sequence[Spent]) -> Row:
    cycles = [each.makespan_cycles for each in spent]
    bound = [each.makespan_bound_cycles for each in spent]
    best = int(np.argmin(cycles[1:]))
    return {
        **_about(setting, shared),
        "layers": shared.counted.count,
        "networks": " ".join(shared.networks),
        "spm_bytes": setting.hardware().spm_bytes,
        "baseline_cycles": cycles[0],
        **{f"{axis}_cycles": cycles[1 + at] for at, axis in enumerate(AXIS_NAMES)},
        "best": AXIS_NAMES[best],
        "value": float(cycles[1 + best]),
        "bound": float(bound[1 + best]),
        "verified": True,
    }


def predicted(rows: Rows, protocol: Protocol, *, repeated: bool) -> Accuracy:
    """Accuracy over sizes, or over layers: then one of the same size can be among the known."""
    layers, costs, base = [], [], []
    for row in rows:
        m, k, n, count = (int(number(row, name)) for name in ("m", "k", "n", "layers"))
        for _ in range(count if repeated else 1):
            layers.append(Layer(name="layer", m=m, k=k, n=n))
            costs.append([int(number(row, f"{axis}_cycles")) for axis in AXIS_NAMES])
            base.append(int(number(row, "baseline_cycles")))
    table: Ints = np.array(costs, np.int64)
    return accuracy(layers, table, np.array(base, np.int64), protocol)


def predictions(rows: Rows, repetitions: int) -> list[Row]:
    """How well sizes are predicted, over all layers and over sizes, by distance and k."""
    found: list[Row] = []
    for what, logarithmic, k in product((_ALL, _SIZES), (False, True), _KS):
        protocol = Protocol(neighbours=k, logarithmic=logarithmic, repetitions=repetitions)
        got = predicted(rows, protocol, repeated=what == _ALL)
        found.append(
            {
                **_NOTHING,
                "what": what,
                "machine": "",
                "distances": "logarithms" if logarithmic else "dimensions",
                "neighbours": k,
                "networks": "",
                "best": "",
                "accuracy": got.mean,
                "spread": got.spread,
                "ideal": got.ideal,
                "predicted": got.predicted,
            }
        )
    return found


def find(rows: Rows, figures: Figures) -> Findings:
    """Accuracy by k, and what the partitions save."""
    del figures
    evaluated = rows.where(what=_SIZE)
    told = [row for row in rows if row["what"] != _SIZE]
    lines = [_line(row) for row in told]
    paper = ["paper", "-", "-", f"{ACCURACY:.0f}", "-", f"{IDEAL}", f"{PREDICTED}"]
    heads = (
        *("layers", "distances of", "k", "accuracy, %", "spread", "saved: ideal, %"),
        "saved: predicted, %",
    )
    return Findings(
        sheets=(
            Sheet(
                title="K-nearest neighbours: 80 % known, 1000 repetitions",
                heads=heads,
                rows=[paper, *lines],
                left=2,
            ),
            _axes(evaluated),
        ),
        sentences=_sentences(evaluated, told),
        notes=(
            "Saved: time of the backward pass against the baseline (sequential, each core with "
            "its share of the batch), sums over the layers predicted. The paper's is of both "
            "passes.",
            "*All layers*: equal layers count as often as they are there, so that a layer of the "
            "same size is often among the known. *Sizes*: each size once.",
            "Features are the six dimensions of dX, dW and dY, or their logarithms; the paper "
            "gives neither k nor scale. Layers without dX are left out.",
        ),
    )


def _line(row: Row) -> list[str]:
    return [
        str(row["what"]),
        str(row["distances"]),
        str(row["neighbours"]),
        points(number(row, "accuracy"), ACCURACY),
        f"{100 * number(row, 'spread'):.1f}",
        f"{100 * (1 - number(row, 'ideal')):.1f}",
        f"{100 * (1 - number(row, 'predicted')):.1f}",
    ]


def _axes(rows: Rows) -> Sheet:
    lines = []
    total = sum(number(row, "layers") for row in rows)
    for axis in AXIS_NAMES:
        own = rows.where(best=axis)
        layers = sum(number(row, "layers") for row in own)
        saved = 1 - _cycles(rows, f"{axis}_cycles") / _cycles(rows, "baseline_cycles")
        lines.append(
            [_NAMES[axis], axis.upper(), str(len(own)), percent(layers / total), percent(saved)]
        )
    heads = ("partition", "cut along", "sizes where it is best", "layers", "saved if for all")
    return Sheet(title="Which partition is best", heads=heads, rows=lines, left=2)


def _cycles(rows: Rows, column: str) -> float:
    return sum(number(row, column) * number(row, "layers") for row in rows)


def _sentences(rows: Rows, told: Sequence[Row]) -> Sentences:
    known, unseen = (
        max((row for row in told if row["what"] == what), key=lambda row: number(row, "accuracy"))
        for what in (_ALL, _SIZES)
    )
    best = max(AXIS_NAMES, key=lambda axis: len(rows.where(best=axis)))
    share = len(rows.where(best=best)) / len(rows)
    lost = [
        f"{percent(number(row, 'predicted') - number(row, 'ideal'))} of the baseline's time "
        f"({row['what']})"
        for row in (known, unseen)
    ]
    return (
        f"The best k predicts {percent(number(known, 'accuracy'))} of all layers and "
        f"{percent(number(unseen, 'accuracy'))} of sizes that it has not seen (paper: "
        f"{ACCURACY:.0f} %).",
        f"To say {_NAMES[best]} always is right for {percent(share)} of the sizes.",
        f"Wrong predictions lose {listing(lost)}; in the paper {IDEAL - PREDICTED:.1f} %.",
    )


STUDY = Study(
    name="gradient-partitions",
    title="which partition is best, and whether sizes tell",
    about=(
        "The best of three partitions (along M, K and N) of each layer on two cores, with "
        "gradients ordered by algorithm 1, by evaluation; and how often k-nearest neighbours "
        "predict it: section 5 of Kim et al., MICRO 2023. Large NPU, two cores that share the "
        "scratchpad, batch 16, 4 bytes an element, double buffering."
    ),
    measured=measured(SETTING),
    find=find,
)
