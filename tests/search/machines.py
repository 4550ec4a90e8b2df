"""Machines for the same operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.mappings import unfit
from spmopt.core.problem import Problem
from tests.strategies import RATES


def elsewhere(problem: Problem, generator: np.random.Generator) -> Problem:
    """``problem`` on another machine: capacity, pages, bandwidth, set-up, and compute cycles.

    Its operations fit there.
    """
    machine = problem.machine
    faster = int(generator.integers(0, 4))
    operations = tuple(
        replace(
            operation,
            mappings=tuple(
                replace(mapping, compute_cycles=mapping.compute_cycles * faster // 2)
                for mapping in operation.mappings
            ),
        )
        for operation in problem.operations
    )
    while True:
        rate, clock = RATES[generator.integers(len(RATES))]
        page = machine.page_bytes * int(generator.integers(1, 3))
        found = replace(
            problem,
            operations=operations,
            machine=replace(
                machine,
                spm_bytes=int(generator.integers(page, 2 * machine.spm_bytes + 2 * page)),
                page_bytes=page,
                dram_bytes_per_s=rate,
                clock_hz=clock,
                dma_setup_cycles=int(generator.integers(0, 3)),
            ),
        )
        if unfit(found) is None:
            return found
