"""Gradients of one layer in tiles: the instance of a case, the whole way to a result, cycles."""

from __future__ import annotations

import csv
from pathlib import Path

from spmopt.bench.clock import peak_mb, timed
from spmopt.bench.suite import Case, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.machine import SystolicArray
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine
from spmopt.solve import solve
from spmopt.tiles.layer import Grid, Layer, Tile
from spmopt.tiles.order import parse_order
from spmopt.tiles.passes import backward

LAYER, SCALESIM = "layer", "SCALE-Sim"
"""Networks of cases: one layer, of sizes m, k, n in cubes of tile; the runs of SCALE-Sim."""
_RUNS = Path(__file__).parents[2] / "instances" / "scalesim" / "gemm_cycles.csv"


def instance_of(case: Case) -> Instance:
    """Both gradients of the layer of ``case``, in the order that its ``lowering`` says."""
    sizes = case.parameters
    layer = Layer(name=case.network, m=sizes["m"], k=sizes["k"], n=sizes["n"])
    grid = Grid(layer=layer, tile=Tile(m=sizes["tile"], k=sizes["tile"], n=sizes["tile"]))
    machine = load_machine(case.machine, {"spm": case.spm})
    return backward(grid, machine, parse_order(case.lowering, layer).through(grid))


def solved(
    instance: Instance, *, scheduler: str, objective: str, tolerance: float, limit_s: float
) -> Figures:
    """Seconds from the instance to a result: policies, verifier and exact bound included.

    Raises
    ------
    ScheduleError
        No schedule, or no bound.
    """
    request = Request(
        objective=objective_named(objective, instance.machine),
        tolerance=tolerance,
        time_limit_s=limit_s,
    )
    result, taken = timed(lambda: solve(instance, scheduler, request))
    if result.value is None or result.gap is None:
        raise ScheduleError(f"{scheduler}: no schedule, or no bound, within {limit_s:g} s")
    return {
        "operations": len(instance.operations),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "solve_s": result.solve_s,
        "gap": result.gap,
        "value": float(result.value),
        "status": str(result.status),
        "peak_mb": peak_mb(),
        "verified": result.verified,
    }


def cycles(case: Case) -> Figures:
    """Share of the runs of SCALE-Sim whose cycles are the model's, less one as it counts."""
    del case
    with _RUNS.open(encoding="utf-8", newline="") as lines:
        runs = list(csv.DictReader(lines))

    def equal(run: dict[str, str]) -> bool:
        array = SystolicArray(
            rows=int(run["rows"]), columns=int(run["cols"]), dataflow=run["dataflow"]
        )
        gemm = Gemm(m=int(run["M"]), k=int(run["K"]), n=int(run["N"]))
        return systolic_cycles(array, gemm) - 1 == int(run["compute_cycles"])

    found, taken = timed(lambda: sum(map(equal, runs)))
    return {
        "operations": len(runs),
        "equal": found / len(runs),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
    }
