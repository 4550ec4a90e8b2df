"""Machines of several capacities and bandwidths, at a cost, for one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from results.shared.bench import Case
from results.shared.exact_front import ExactFront, by_page, find_front
from results.shared.front_bounds import MachineOption
from spmopt.core.errors import ScheduleError
from spmopt.core.graph import Graph
from spmopt.core.machine import AREA_FIGURES, Machine
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.hardware.technologies import load_technology

TECHNOLOGY = "nvsim-sram"


@dataclass(frozen=True)
class MachineGrid:
    """``steps`` x ``steps`` machines, capacity and bandwidth in equal steps, for a training step.

    The largest have the case's scratchpad and ``bandwidth``. A machine costs the area of a
    scratchpad of SRAM and ``mm2_per_gbps`` for each GB/s.
    """

    case: Case
    steps: int
    bandwidth: str = "1540GB/s"
    mm2_per_gbps: float = 0.1

    @property
    def largest(self) -> Machine:
        """The machine of the most capacity and bandwidth."""
        return load_machine(self.case.machine, {"spm": self.case.spm, "bandwidth": self.bandwidth})

    def parts(self, whole: int) -> list[int]:
        """Return equal steps up to a capacity in bytes, or a rate in bytes per second."""
        return [whole * step // self.steps for step in range(1, self.steps + 1)]

    def graph(self) -> Graph:
        """Build the training step."""
        return training_graph(zoo.network(self.case.network, **self.case.parameters))

    def options(self, graph: Graph) -> list[MachineOption]:
        """Return the machines, lowered once for each capacity."""
        largest, found = self.largest, []
        for spm_bytes in self.parts(largest.spm_bytes):
            sized = replace(largest, spm_bytes=spm_bytes)
            lowered = lower(graph, sized, mapper=self.case.mapper)
            area_mm2 = load_technology(TECHNOLOGY).at(spm_bytes).point.area_mm2
            for rate in self.parts(largest.dram_bytes_per_s):
                machine = replace(sized, dram_bytes_per_s=rate)
                cost = area_mm2 + self.mm2_per_gbps * rate / 10**9
                found.append(MachineOption(machine=machine, cost=cost, lowered=lowered))
        return found

    def front(self, request: Request) -> ExactFront:
        """Find the exact front; raises ScheduleError where a machine has no schedule in time."""
        found = find_front(self.options(self.graph()), by_page(request), request=request)
        if found.open:
            raise ScheduleError(f"no schedule within {request.time_limit_s:g} s")
        return found

    def tables(self) -> Mapping[str, Any]:
        """Return the same space as ``spmopt tune`` reads it."""
        largest = self.largest
        return {
            "machine": self.case.machine,
            "space": {
                "spm": self.parts(largest.spm_bytes),
                "bandwidth": self.parts(largest.dram_bytes_per_s),
                "technology": TECHNOLOGY,
                **{f"area.{name}": 0.0 for name in AREA_FIGURES},  # the scratchpad's is left
            },
            "cost": {"area_mm2": 1.0, "gbps": self.mm2_per_gbps},
        }
