"""Machines for the same operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.modes import unfit
from tests.strategies import RATES


def elsewhere(instance: Instance, generator: np.random.Generator) -> Instance:
    """``instance`` on another machine: capacity, pages, bandwidth, set-up, and compute cycles.

    Its operations fit there.
    """
    machine = instance.machine
    faster = int(generator.integers(0, 4))
    operations = tuple(
        replace(
            operation,
            modes=tuple(
                replace(mode, compute_cycles=mode.compute_cycles * faster // 2)
                for mode in operation.modes
            ),
        )
        for operation in instance.operations
    )
    while True:
        rate, clock = RATES[generator.integers(len(RATES))]
        page = machine.page_bytes * int(generator.integers(1, 3))
        found = replace(
            instance,
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
