"""The paper's techniques as cases of one layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from spmopt.studies.gradients.setting import Counted, Setting
from spmopt.tiles.case import BEST, WHOLE, Case
from spmopt.tiles.layer import Tile

DOUBLE_BUFFER, BELADY, OPTIMAL = "double-buffer", "belady", "page"
REPLACEMENTS = (DOUBLE_BUFFER, BELADY, OPTIMAL)
BASELINE, POTENTIAL = "baseline", "second dY free"
TOLERANCE, LIMIT_S = 1e-2, 5.0
"""Of an optimiser, for one layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Technique:
    """Orders, the best of which for each layer is taken, and whether the layer is cut."""

    orders: tuple[str, ...]
    cut: bool = False


IDEAL = "+rearrangement, ideal"
IDEAL_ORDERS = ("interleaved", "dx-major", "dw-major")
TECHNIQUES: Mapping[str, Technique] = MappingProxyType(
    {
        BASELINE: Technique(orders=("sequential",)),
        POTENTIAL: Technique(orders=("sequential",)),
        "interleaving": Technique(orders=("interleaved",)),
        "+rearrangement": Technique(orders=("algorithm-1",)),
        IDEAL: Technique(orders=IDEAL_ORDERS),
        "+partitioning": Technique(orders=("algorithm-1",), cut=True),
    }
)
"""By name; each includes what the one before it does, but the second."""
LAST = "+partitioning"


def cases(
    technique: str,
    layer: Counted,
    setting: Setting,
    tile: Tile | None = None,
) -> tuple[Case, ...]:
    """Cases of a layer under double buffering, of which the best one counts.

    Several cores have shares of the batch in all techniques but the last. A layer without dX is
    computed as in the baseline: there is nothing to interleave.
    """
    chosen = TECHNIQUES[technique if layer.input_gradient else BASELINE]
    shares = WHOLE if setting.cores == 1 else f"m/{setting.cores}"
    return tuple(
        Case(
            layer=layer.layer,
            machine=setting.hardware(),
            order=order,
            replacement=setting.scheduler(DOUBLE_BUFFER),
            partition=BEST if chosen.cut else shares,
            cores=setting.cores,
            tile=tile,
            element_bytes=setting.element_bytes,
            input_gradient=layer.input_gradient,
            add_early=setting.add_early,
        )
        for order in chosen.orders
    )


def other(ran: Case, replacement: str) -> Case:
    """What ran (order, tile, partition) under another replacement."""
    return replace(ran, replacement=replacement, tolerance=TOLERANCE, time_limit_s=LIMIT_S)
