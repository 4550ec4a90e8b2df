"""Measure of a search for the exact front over capacities and bandwidths of one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from spmopt.bench.clock import peak_mb, timed
from spmopt.bench.suite import Case, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.scheduler import Request
from spmopt.core.units import Dimension, parse_quantity
from spmopt.frontends import zoo
from spmopt.graph.ir import Graph
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.hardware.technologies import load_technology
from spmopt.search.front.check import complaints
from spmopt.search.front.find import by_page, find_front
from spmopt.search.front.records import Front, Option

_GB = 10**9


@dataclass(frozen=True, kw_only=True)
class Space:
    """``steps`` x ``steps`` machines, capacity and bandwidth in equal steps.

    The largest have the case's scratchpad and ``bandwidth``. A machine costs the area of a
    scratchpad of ``technology`` and ``mm2_per_gbps`` for each GB/s.
    """

    steps: int
    bandwidth: str
    technology: str
    mm2_per_gbps: float

    def capacities(self, largest: int) -> list[int]:
        """Bytes of the scratchpads."""
        return [largest * step // self.steps for step in range(1, self.steps + 1)]

    @property
    def rates(self) -> list[int]:
        """Bytes per second of the channels."""
        fastest = parse_quantity(self.bandwidth, Dimension.BYTES_PER_S, "bandwidth")
        return [fastest * step // self.steps for step in range(1, self.steps + 1)]

    def options(self, case: Case, graph: Graph) -> list[Option]:
        """The machines, lowered once for each capacity."""
        base = load_machine(case.machine, {"spm": case.spm})
        technology, found = load_technology(self.technology), []
        for spm_bytes in self.capacities(base.spm_bytes):
            sized = replace(base, spm_bytes=spm_bytes)
            lowered = lower(graph, sized, lowering=case.lowering)
            area_mm2 = technology.at(spm_bytes).point.area_mm2
            for rate in self.rates:
                machine = replace(sized, dram_bytes_per_s=rate)
                cost = area_mm2 + self.mm2_per_gbps * rate / _GB
                found.append(Option(machine=machine, cost=cost, lowered=lowered))
        return found


def front(
    case: Case,
    *,
    steps: int,
    bandwidth: str,
    technology: str,
    mm2_per_gbps: float,
    tolerance: float,
    limit_s: float,
    exhaustive: bool,
) -> Figures:
    """Find the front of a :class:`Space`, and check every proof of it again.

    ``wall_s`` are from the graph in memory to the front; checks are outside of them. With
    ``exhaustive`` every machine is solved besides, from no prices: ``equal`` says whether what is
    proved to be on the front is on that of the times so found, and all of that is proved or
    undecided.
    """
    space = Space(
        steps=steps, bandwidth=bandwidth, technology=technology, mm2_per_gbps=mm2_per_gbps
    )
    graph = training_graph(zoo.network(case.network, **case.parameters))
    request = Request(tolerance=tolerance, time_limit_s=limit_s)
    began = monotonic()
    options = space.options(case, graph)
    found, taken = timed(lambda: find_front(options, by_page(request), request=request))
    wall_s = monotonic() - began
    wrong, checking = timed(lambda: complaints(found))
    return {
        "operations": len(options[0].lowered.operations),
        "machines": len(options),
        "front": len(found.members),
        "undecided": len(found.undecided),
        "solves": found.solves,
        "beyond": found.beyond,
        "borrowed": found.borrowed,
        "wall_s": wall_s,
        "cpu_s": taken.cpu_s,
        "overhead": 1 - found.solve_s / wall_s,
        "check_s": checking.wall_s,
        "peak_mb": peak_mb(),
        "proved": not (wrong or found.open),
        "equal": _equal(found, request) if exhaustive else None,
    }


def _equal(found: Front, request: Request) -> bool:
    """Whether solving every machine gives this front."""
    best = _nondominated(found.options, _times(found.options, request))
    members = set(found.members)
    return members <= best <= members | set(found.undecided)


def _times(options: Sequence[Option], request: Request) -> list[Fraction]:
    """Seconds of a schedule of each machine."""
    solver, found = by_page(request), []
    for option in options:
        solution = solver(option.instance, request.tolerance, None)
        if solution is None:
            raise ScheduleError(f"no schedule within {request.time_limit_s:g} s")
        found.append(Fraction(solution.cycles, option.machine.clock_hz))
    return found


def _nondominated(options: Sequence[Option], times: Sequence[Fraction]) -> set[int]:
    points = [(option.cost, time) for option, time in zip(options, times, strict=True)]
    return {
        index
        for index, (cost, time) in enumerate(points)
        if not any(c <= cost and t <= time and (c, t) != (cost, time) for c, t in points)
    }
