"""The exact front of time and cost over capacities and bandwidths, pruned by proof."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from time import monotonic

from results.shared.bench import TINY, Bench, BenchLine, Case, Figures, peak_mb, timed
from results.shared.exact_front import ExactFront, by_page, find_front
from results.shared.machines import MachineGrid
from spmopt.core.errors import ScheduleError
from spmopt.core.scheduler import Request
from tests.results.front_check import complaints


def front(space: MachineGrid, request: Request, *, exhaustive: bool) -> Figures:
    """Find the front of a space, and check every proof of it again.

    ``wall_s`` are from the graph in memory to the front; checks are outside of them. With
    ``exhaustive`` every machine is solved besides, from no dual values: ``equal`` says whether what
    is proved to be on the front is on that of the times so found, and all of that is proved or
    undecided.
    """
    graph, began = space.graph(), monotonic()
    options = space.options(graph)
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
        "cpu_s": taken["cpu_s"],
        "overhead": 1 - found.solve_s / wall_s,
        "check_s": checking["wall_s"],
        "peak_mb": peak_mb(),
        "proved": not (wrong or found.open),
        "equal": is_equal(found, request) if exhaustive else None,
    }


def is_equal(found: ExactFront, request: Request) -> bool:
    """Return whether solving every machine gives this front."""
    solver, points = by_page(request), list[tuple[float, Fraction]]()
    for option in found.options:
        solution = solver(option.problem, request.tolerance, None)
        if solution is None:
            raise ScheduleError(f"no schedule within {request.time_limit_s:g} s")
        points.append((option.cost, Fraction(solution.cycles, option.machine.clock_hz)))
    best = {
        index
        for index, (cost, time) in enumerate(points)
        if not any(c <= cost and t <= time and (c, t) != (cost, time) for c, t in points)
    }
    members = set(found.members)
    return members <= best <= members | set(found.undecided)


REQUEST = Request(tolerance=1e-4, time_limit_s=60.0)
MANY = {"beyond": "≤ 20", "undecided": "≤ 0", "overhead": "≤ 0.05", "proved": "≥ 1"}
FEW = {"equal": "≥ 1", "proved": "≥ 1"}
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (network, f"{steps} x {steps}"),
            {
                "": partial(
                    front,
                    MachineGrid(Case(network, "160MB"), steps),
                    REQUEST,
                    exhaustive=targets is FEW,
                )
            },
            targets,
        )
        for network, steps, targets in (
            *(("resnet50", 20, MANY), ("mobilenetv2", 20, MANY)),
            ("resnet50", 6, FEW),
        )
    ],
    quick=partial(
        front,
        MachineGrid(TINY, 2, "300GB/s"),
        Request(tolerance=1e-2, time_limit_s=20.0),
        exhaustive=True,
    ),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
