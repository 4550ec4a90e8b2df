"""Suite of one large layer in tiles: optimal residency of an order, the whole way."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target
from spmopt.bench.suites.common import CERTIFIED, OPERATIONS, PEAK, within
from spmopt.bench.tiles import LAYER, SCALESIM

_EQUAL = MappingProxyType({"m": 4096, "k": 1024, "n": 4096, "tile": 128})
_RAGGED = MappingProxyType({"m": 3999, "k": 999, "n": 3999, "tile": 128})
_ORDERS = ("sequential", "interleaved", "dx-major")
_MACHINES = (("small-npu", "1MB"), ("large-npu", "8MB"))
_TOLERANCE = MappingProxyType({"traffic": 1e-4, "time": 1e-3})
_LIMIT_S = 120.0


def tiles() -> Suite:
    """A feed-forward layer of BERT-large on two machines, and the runs of SCALE-Sim."""
    traffic = [
        _row(sizes, order, place, "traffic", *within(limit_s, gap))
        for (sizes, limit_s, gap), place, order in product(
            ((_EQUAL, 10, 1e-4), (_RAGGED, 30, 1e-3)), _MACHINES, _ORDERS
        )
    ]
    time = [_row(sizes, "interleaved", _MACHINES[0], "time") for sizes in (_EQUAL, _RAGGED)]
    scalesim = Row(
        case=Case(network=SCALESIM, machine=_MACHINES[0][0], spm=_MACHINES[0][1]),
        cells=(SCALESIM, "-", "-", "compute cycles"),
        parts={"": Part(measure="cycles", options={})},
        targets=(Target(figure="equal", value=1, at_least=True),),
    )
    return Suite(
        name="tiles",
        title="both gradients of one layer of 16,384 tile products: optimal residency of an order",
        about="Sizes are M x K x N, tiles cubes of 128 elements of 4 bytes, all stationary. The "
        "seconds run from the instance to the result: policies to start from where any are "
        "needed, the verifier and the exact bound are in them. The second size leaves ragged "
        "tiles that do not fill their last page. Objective traffic to a gap of 0.01 %, objective "
        f"time to 0.1 %; the limit is {_LIMIT_S:g} s. The last line: matrix products of which "
        "SCALE-Sim reports the cycles of this program's model.",
        heads=("layer", "order", "machine", "objective"),
        rows=(*traffic, *time, scalesim),
        columns=(
            OPERATIONS,
            Column(figure="wall_s", heading="wall s"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="solve_s", heading="scheduler s"),
            CERTIFIED,
            PEAK,
            Column(figure="verified", heading="verified", form="yes"),
            Column(figure="equal", heading="equal cycles %", form="%"),
        ),
    )


def _row(
    sizes: Mapping[str, int], order: str, place: tuple[str, str], objective: str, *targets: Target
) -> Row:
    options: Options = {
        "scheduler": "page",
        "objective": objective,
        "tolerance": _TOLERANCE[objective],
        "limit_s": _LIMIT_S,
    }
    machine, spm = place
    case = Case(network=LAYER, spm=spm, parameters=dict(sizes), lowering=order, machine=machine)
    return Row(
        case=case,
        cells=(" x ".join(str(sizes[side]) for side in "mkn"), order, machine, objective),
        parts={"": Part(measure="solved", options=options)},
        targets=targets,
    )
