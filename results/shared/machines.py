"""Machines of several capacities and bandwidths, at a cost, for one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from results.shared.bench import Case
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import AREA_FIGURES
from spmopt.core.scheduler import Request
from spmopt.core.units import Dimension, parse_quantity
from spmopt.frontends import zoo
from spmopt.graph.ir import Graph
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.hardware.technologies import load_technology
from spmopt.search.exact_front import ExactFront, MachineOption, by_page, find_front

TECHNOLOGY = "nvsim-sram"


@dataclass(frozen=True, kw_only=True)
class Space:
    """``steps`` x ``steps`` machines, capacity and bandwidth in equal steps, for a training step.

    The largest have the case's scratchpad and ``bandwidth``. A machine costs the area of a
    scratchpad of SRAM and ``mm2_per_gbps`` for each GB/s.
    """

    case: Case
    steps: int
    bandwidth: str = "1540GB/s"
    mm2_per_gbps: float = 0.1

    @property
    def capacities(self) -> list[int]:
        """Bytes of the scratchpads."""
        largest = load_machine(self.case.machine, {"spm": self.case.spm}).spm_bytes
        return [largest * step // self.steps for step in range(1, self.steps + 1)]

    @property
    def rates(self) -> list[int]:
        """Bytes per second of the channels."""
        fastest = parse_quantity(self.bandwidth, Dimension.BYTES_PER_S, "bandwidth")
        return [fastest * step // self.steps for step in range(1, self.steps + 1)]

    def graph(self) -> Graph:
        """Build the training step."""
        return training_graph(zoo.network(self.case.network, **self.case.parameters))

    def options(self, graph: Graph) -> list[MachineOption]:
        """The machines, lowered once for each capacity."""
        base, found = load_machine(self.case.machine, {"spm": self.case.spm}), []
        for spm_bytes in self.capacities:
            sized = replace(base, spm_bytes=spm_bytes)
            lowered = lower(graph, sized, lowering=self.case.lowering)
            area_mm2 = load_technology(TECHNOLOGY).at(spm_bytes).point.area_mm2
            for rate in self.rates:
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
        """The same space as ``spmopt tune`` reads it."""
        return {
            "machine": self.case.machine,
            "space": {
                "spm": self.capacities,
                "bandwidth": self.rates,
                "technology": TECHNOLOGY,
                **{f"area.{name}": 0.0 for name in AREA_FIGURES},  # the scratchpad's is left
            },
            "cost": {"area_mm2": 1.0, "gbps": self.mm2_per_gbps},
        }
