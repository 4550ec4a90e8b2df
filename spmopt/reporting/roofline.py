"""Layers of a schedule under the roof of its machine: one record for all views."""

from __future__ import annotations

import numpy as np

from spmopt.analysis.breakdown import Breakdown
from spmopt.analysis.steps import dram_peak, ridge_point
from spmopt.core.machine import Machine
from spmopt.reporting.plain import Json, plain
from spmopt.reporting.quantities import si


def roofline_record(layers: Breakdown) -> Json:
    """Return the roof, and a row for each layer and pass that computes.

    Parameters
    ----------
    layers
        As :meth:`spmopt.analysis.Analysis.by_layer` returns them.

    Returns
    -------
    dict
        ``roof`` as :func:`roof`; ``points``, columns: ``intensity`` (FLOP/B, None where nothing
        crosses the DRAM boundary), ``attained`` (FLOP/s), ``bound`` (compute or memory),
        ``time_s``, ``stall_s`` and ``traffic_bytes``; ``without_flop``: how many are left out.
    """
    computes = np.flatnonzero((layers.flop > 0) & (layers.cycles > 0))
    return {
        "roof": roof(layers.machine),
        "points": {
            "name": [layers.names[row] for row in computes.tolist()],
            "pass": [layers.labels[row] for row in computes.tolist()],
            "intensity": plain(layers.flop_per_byte[computes]),
            "attained": plain(layers.flop_per_s[computes]),
            "bound": layers.roofline[computes].tolist(),
            "time_s": plain(layers.time_s[computes]),
            "stall_s": plain(layers.stall_s[computes]),
            "traffic_bytes": plain(layers.traffic_bytes[computes]),
        },
        "without_flop": len(layers.names) - computes.size,
    }


def roof(machine: Machine) -> Json:
    """Return peaks of computing and of DRAM traffic, with their labels, and the ridge point."""
    peaks = {si(machine.operations_per_s, "FLOP/s"): machine.operations_per_s}
    for each in machine.types:
        if each.operations_per_s is not None:
            peaks[f"{each.element_type} {si(each.operations_per_s, 'OP/s')}"] = (
                each.operations_per_s
            )
    ways = " both ways" if machine.duplex else ""
    return {
        "peaks": [{"label": label, "flop_per_s": float(peak)} for label, peak in peaks.items()],
        "dram": f"DRAM {si(dram_peak(machine), 'B/s')}{ways}",
        "bytes_per_s": float(dram_peak(machine)),
        "ridge": ridge_point(machine),
    }
