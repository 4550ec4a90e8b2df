"""Both gradients of one layer of 16,384 tile products: optimal residency of an order."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product

from results.shared.bench import Bench, BenchLine, Figures, peak_mb, timed
from results.shared.page import ROOT
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import SystolicArray
from spmopt.core.objective import objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.order import parse_order

SMALL, LARGE = ("small-npu", "1MB"), ("large-npu", "8MB")
RUNS = ROOT / "instances" / "scalesim" / "gemm_cycles.csv"


@dataclass(frozen=True)
class Task:
    """Both gradients of a layer in cubic tiles, in an order, on a machine with its scratchpad."""

    sizes: tuple[int, int, int]
    order: str
    machine: str
    spm: str
    objective: str = "traffic"
    side: int = 128

    def problem(self) -> Problem:
        """Build it."""
        layer = Layer(name="layer", m=self.sizes[0], k=self.sizes[1], n=self.sizes[2])
        grid = TileGrid(layer=layer, tile=Tile(m=self.side, k=self.side, n=self.side))
        machine = load_machine(self.machine, {"spm": self.spm})
        return backward(grid, machine, parse_order(self.order, layer).through(grid))


def solved(task: Task, limit_s: float) -> Figures:
    """Measure a problem's way to a result: policies, verifier and exact bound included."""
    problem = task.problem()
    request = Request(
        objective=objective_named(task.objective, problem.machine),
        tolerance={"traffic": 1e-4, "time": 1e-3}[task.objective],
        time_limit_s=limit_s,
    )
    result, taken = timed(lambda: solve(problem, "residency", request))
    if result.value is None or result.gap is None:
        raise ScheduleError(f"page: no schedule, or no bound, within {limit_s:g} s")
    return {
        "operations": len(problem.operations),
        **taken,
        "solve_s": result.solve_s,
        "gap": result.gap,
        "value": float(result.value),
        "status": str(result.status),
        "peak_mb": peak_mb(),
        "verified": result.verified,
    }


def cycles() -> Figures:
    """Count the runs of SCALE-Sim whose cycles are the model's, less one as it counts."""
    with RUNS.open(encoding="utf-8", newline="") as lines:
        runs = list(csv.DictReader(lines))

    def equal(run: dict[str, str]) -> bool:
        rows, columns = int(run["rows"]), int(run["cols"])
        array = SystolicArray(rows=rows, columns=columns, dataflow=run["dataflow"])
        gemm = Gemm(m=int(run["M"]), k=int(run["K"]), n=int(run["N"]))
        return systolic_cycles(array, gemm) - 1 == int(run["compute_cycles"])

    found, taken = timed(lambda: sum(map(equal, runs)))
    return {"operations": len(runs), "equal": found / len(runs), **taken}


EQUAL, RAGGED = (4096, 1024, 4096), (3999, 999, 3999)
TARGETS = {
    EQUAL: {"wall_s": "≤ 10", "gap": "≤ 0.0001"},
    RAGGED: {"wall_s": "≤ 30", "gap": "≤ 0.001"},
}
TASKS = [
    (Task(sizes, order, *machine), targets)
    for (sizes, targets), machine, order in product(
        TARGETS.items(), (SMALL, LARGE), ("sequential", "interleaved", "dx-major")
    )
]
TASKS += [(Task(sizes, "interleaved", *SMALL, "time"), {}) for sizes in (EQUAL, RAGGED)]
LINES = [
    BenchLine(
        (" x ".join(map(str, task.sizes)), task.order, task.machine, task.objective),
        {"": partial(solved, task, 120.0)},
        targets,
    )
    for task, targets in TASKS
]
LINES.append(BenchLine(("SCALE-Sim", "-", "-", "compute cycles"), {"": cycles}, {"equal": "≥ 1"}))
QUICK = Task((10, 6, 12), "interleaved", "small-npu", "64kB", side=4)
BENCH = Bench(file=__file__, lines=LINES, quick=partial(solved, QUICK, 20.0))

if __name__ == "__main__":
    sys.exit(BENCH.main())
