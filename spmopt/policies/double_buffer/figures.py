"""What a schedule of double buffering moves and how long it takes, without the schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import step_time, summed, transfer_cycles
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer.batches import batches
from spmopt.policies.double_buffer.spread import Transfers, spread
from spmopt.policies.double_buffer.stays import rows_of_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Totals of a schedule, exact; ``batches`` is how many there are."""

    dram_in_bytes: int
    dram_out_bytes: int
    makespan_cycles: int
    batches: int

    @property
    def traffic_bytes(self) -> int:
        """Bytes both ways."""
        return self.dram_in_bytes + self.dram_out_bytes


def figures(machine: Machine, timeline: Timeline, *, shared: bool = True) -> Figures:
    """Totals of the schedule of ``double-buffer``; all operands must be stationary.

    Raises
    ------
    InputError
        An operand may stream.
    """
    if not timeline.stationary.all():
        raise InputError("double buffering: every operand must be stationary; solve it instead")
    cut = batches(machine, timeline)
    rows = rows_of_batches(machine, timeline, cut, shared=shared)
    moved = spread(machine, timeline, cut, rows)
    size = rows.size_bytes
    return Figures(
        dram_in_bytes=int(size[rows.loads].sum()),
        dram_out_bytes=int(size[rows.stores].sum()),
        makespan_cycles=int(_step_cycles(machine, timeline, moved).sum()),
        batches=cut.alone.size,
    )


def _step_cycles(machine: Machine, timeline: Timeline, moved: Transfers) -> Ints:
    """(n,) Duration of every step (R6)."""
    rows, loads, stores = moved.rows, moved.loads, moved.stores
    steps = timeline.steps
    load_cycles = transfer_cycles(machine, loads.size_bytes)
    store_cycles = transfer_cycles(machine, stores.size_bytes)
    inward = summed(steps, loads.step, load_cycles)
    outward = summed(steps, stores.step, store_cycles)
    own = np.flatnonzero(loads.step == rows.first_use[loads.row])
    before = summed(steps, loads.step[own], load_cycles[own])
    own = np.flatnonzero(stores.step == rows.last_write[stores.row])
    after = summed(steps, stores.step[own], store_cycles[own])
    return step_time(
        machine,
        compute=timeline.compute_cycles,
        inward=inward,
        outward=outward,
        before=before,
        after=after,
    )
