"""Traffic and time of double buffering, without the schedule."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.machine import Machine
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer import buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Totals of a schedule, exact."""

    dram_in_bytes: int
    dram_out_bytes: int
    makespan_cycles: int

    @property
    def traffic_bytes(self) -> int:
        """Bytes both ways."""
        return self.dram_in_bytes + self.dram_out_bytes


def figures(machine: Machine, timeline: Timeline, *, reuse: str = "shared") -> Figures:
    """Totals of the schedule of ``double-buffer``; ``reuse`` is the policy's option."""
    cost = residency_plan_cost(machine, timeline, buffer(machine, timeline, reuse=reuse))
    return Figures(
        dram_in_bytes=cost.dram_in_bytes,
        dram_out_bytes=cost.dram_out_bytes,
        makespan_cycles=int(cost.step_time.sum()),
    )
