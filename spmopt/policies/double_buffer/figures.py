"""Traffic and time of double buffering, without the schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import step_time, sum_up, transfer_cycles
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer.batches import batch
from spmopt.policies.double_buffer.spread import Moved, spread
from spmopt.policies.gaps import NEVER
from spmopt.policies.rows import WholeRows


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


def figures(machine: Machine, timeline: Timeline, *, reuse: str = "shared") -> Figures:
    """Totals of the schedule of ``double-buffer``; all operands must be required-resident.

    ``reuse`` is the policy's option.

    Raises
    ------
    InputError
        An operand may stream.
    """
    if not timeline.required_resident.all():
        raise InputError(
            "double buffering: every operand must be required-resident; solve it instead"
        )
    cut, rows = batch(machine, timeline, reuse)
    moved = spread(machine, timeline, cut, rows)
    size = rows.size_bytes
    return Figures(
        dram_in_bytes=int(size[rows.loads].sum()),
        dram_out_bytes=int(size[rows.stores].sum()),
        makespan_cycles=int(_step_cycles(machine, timeline, rows, moved).sum()),
        batches=cut.alone.size,
    )


def _step_cycles(machine: Machine, timeline: Timeline, rows: WholeRows, moved: Moved) -> Ints:
    """(n,) Duration of every step (R6)."""
    written = np.full_like(timeline.step, NEVER)
    written[rows.last] = rows.last_write
    busy, serial = [], []
    for parts, own in zip(moved, (timeline.step, written), strict=True):
        cycles = transfer_cycles(machine, parts.size_bytes)
        busy.append(sum_up(timeline.steps, parts.step, cycles))
        waited = cycles * (parts.step == own[parts.access])
        serial.append(sum_up(timeline.steps, parts.step, waited))
    return step_time(
        machine,
        compute=timeline.compute_cycles,
        inward=busy[0],
        outward=busy[1],
        before=serial[0],
        after=serial[1],
    )
