"""Operations under the roofline, as a schedule runs them.

An operation's bytes are those that cross the DRAM boundary while it runs, whosever they are: no
point is above the roof then, and what stays on chip moves points to the right. Williams, Waterman,
Patterson: Roofline, CACM 52(4), 2009.
"""

from __future__ import annotations

import numpy as np

from spmopt.analysis.steps import StepFigures, step_figures, sums
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import Result
from spmopt.reporting.plain import Json
from spmopt.reporting.quantities import si
from spmopt.verifier import ScheduleArrays

WAITS = 0.01
"""Of its time: what waits for more waits for DRAM, else it is bound by computing."""


def measured(instance: Instance, result: Result) -> StepFigures:
    """Return what every step of a verified schedule spends."""
    assert result.schedule is not None
    return step_figures(ScheduleArrays.of(instance, result.schedule))


def roofline_points(figures: StepFigures) -> Json:
    """Return columns with a row for each operation that computes, its pieces together.

    ``intensity`` is null where nothing is moved meanwhile. ``time_s`` and ``waits_s``: in all, and
    beyond the computation.
    """
    instance, of = figures.view.instance, figures.layers
    order = figures.view.timeline.order.tolist()
    names = [instance.operations[index].name for index in order]
    whole = [instance.piece_of.get(name, name) for name in names]
    known = {name: place for place, name in enumerate(dict.fromkeys(whole))}
    group = np.array([known[name] for name in whole], np.int64)

    def total(values: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.float64]:
        return sums(values.astype(float), group, len(known))

    flop, cycles = total(figures.flop), total(figures.cycles)
    moved = total(figures.dram_in_bytes + figures.dram_out_bytes)
    waits = total(figures.cycles - figures.compute_cycles)
    clock = instance.machine.clock_hz
    passes = dict(zip(whole, of.backward.tolist(), strict=True))
    products = dict(zip(whole, of.product.tolist(), strict=True))
    shown = np.flatnonzero((flop > 0) & (cycles > 0))
    rate = flop[shown] * clock / cycles[shown]
    chosen = [list(known)[place] for place in shown.tolist()]
    return {
        "name": chosen,
        "pass": ["backward" if passes[name] else "forward" for name in chosen],
        "kind": ["product" if products[name] else "point-wise" for name in chosen],
        "intensity": [
            flop_ / bytes_ if bytes_ else None
            for flop_, bytes_ in zip(flop[shown].tolist(), moved[shown].tolist(), strict=True)
        ],
        "attained": rate.tolist(),
        "time_s": (cycles[shown] / clock).tolist(),
        "waits_s": (waits[shown] / clock).tolist(),
        "bytes": moved[shown].tolist(),
        "left_out": len(known) - shown.size,
    }


def ceilings(machine: Machine) -> Json:
    """Return what bounds all points: rates of computing, and of DRAM one way or both."""
    rates = {f"{si(machine.operations_per_s, 'FLOP/s')}": machine.operations_per_s}
    for each in machine.types:
        if each.operations_per_s is not None:
            rates[f"{each.element_type} {si(each.operations_per_s, 'OP/s')}"] = (
                each.operations_per_s
            )
    dram = machine.dram_bytes_per_s
    slopes = {f"DRAM {si(dram, 'B/s')}": dram}
    if machine.duplex:
        slopes = {f"DRAM {si(2 * dram, 'B/s')} both ways": 2 * dram, **slopes}
    return {
        "rates": [{"label": label, "ops_per_s": float(rate)} for label, rate in rates.items()],
        "slopes": [{"label": label, "bytes_per_s": float(each)} for label, each in slopes.items()],
    }
