"""Sizes of layers on two cores, cut along each axis, and predictions of the best cut: rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from spmopt.core.table import Ints
from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.measure import Tell
from spmopt.studies.gradients.neighbours import Accuracy, Protocol, accuracy
from spmopt.studies.gradients.setting import Counted, Setting
from spmopt.studies.gradients.technique import BASELINE, cases
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Known, Measured
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value
from spmopt.tiles.batch import run_all
from spmopt.tiles.layer import Layer
from spmopt.tiles.partition import AXIS_NAMES
from spmopt.tiles.run import Spent

SETTING = Setting(name="2 cores", machine=LARGE, cores=2)
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
SIZE, ALL, SIZES = "size", "all layers", "sizes"
"""What a row is about: a size of layers, or how well it is predicted, over layers or sizes."""
DIMENSIONS = "dimensions"
"""Distances that are not of logarithms."""
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
        "what": SIZE,
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
    for what, logarithmic, k in product((ALL, SIZES), (False, True), _KS):
        protocol = Protocol(neighbours=k, logarithmic=logarithmic, repetitions=repetitions)
        got = predicted(rows, protocol, repeated=what == ALL)
        found.append(
            {
                **_NOTHING,
                "what": what,
                "machine": "",
                "distances": "logarithms" if logarithmic else DIMENSIONS,
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
