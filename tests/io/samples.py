"""Results to write and read: figures are made up, since files do not judge them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from spmopt.core.machine import Area
from spmopt.core.objective import energy_objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, ClassBound, Result, Status, Totals
from spmopt.core.schedule import Commands, Placements, Residency, Schedule, Steps
from spmopt.core.solution import Solution
from spmopt.core.table import Ints
from tests.hardware.toys import toy_memory


def schedule(rows: int) -> Schedule:
    """A schedule whose every table has ``rows`` rows of arbitrary 64-bit numbers."""
    generator = np.random.default_rng(rows)

    def column() -> Ints:
        return generator.integers(-(2**63), 2**63 - 1, rows, dtype=np.int64, endpoint=True)

    def columns(*names: str) -> dict[str, Ints]:
        return {name: column() for name in names}

    return Schedule(
        steps=Steps(**columns("operation", "mapping")),
        residency=Residency(**columns("tensor", "begin", "end", "size_bytes")),
        commands=Commands(**columns("step", "kind", "tensor", "begin", "end", "fetches")),
        placements=Placements(
            **columns("tensor", "tensor_page", "pages", "spm_page", "begin", "end")
        ),
    )


def with_memory(problem: Problem) -> Problem:
    """``problem`` with a scratchpad whose technology is named."""
    machine = problem.machine
    memory = toy_memory(machine, 3, 4, area_mm2=1.5, banks=2)
    area = Area(engine_mm2=1, mac_mm2=2, mm2_per_gbps=3, source="by hand")
    return replace(problem, machine=replace(machine, memory=memory, area=area))


def stored(problem: Problem, rows: int = 3) -> Solution:
    """A result of ``problem`` with every field set."""
    problem = with_memory(problem)
    objective = energy_objective(problem.machine)
    duals = np.arange(len(problem.operations), dtype=np.int64) << 40
    return Solution(
        problem=problem,
        versions={"spmopt": "0.1.0", "python": "3.11"},
        result=Result(
            scheduler="residency",
            objective=objective,
            status=Status.OPTIMAL,
            solve_s=0.1,
            cpu_s=1 / 3,
            schedule=schedule(rows),
            totals=Totals(
                makespan_cycles=10**30,
                replay_cycles=2,
                dram_in_bytes=3,
                dram_out_bytes=4,
                spm_read_bytes=5,
                spm_write_bytes=6,
                macs=7,
                compute_cycles=8,
                dma_cycles=9,
                peak_spm_bytes=10,
                dma_commands=11,
                dma_descriptors=12,
            ),
            value=Fraction(10**40, 3),
            bound=Fraction(10**40 - 1, 7),
            certificate=Certificate(
                objective=objective,
                bits=40,
                spm=duals,
                dram_in=duals + 1,
                dram_out=duals + 2,
                order=np.arange(duals.size)[::-1],
            ),
            class_bound=ClassBound(value=0.1, holds_for="whole", proved_by="a solver"),
            verified=True,
            tolerance=1e-3,
            notes=("first", 'with "quotes" and ü'),
        ),
    )
