"""Writing small problems and schedules as rows. Pages have 4 bytes, a byte takes a cycle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.operation import STREAMED, Operand, Operation, OpMapping
from spmopt.core.problem import Tensor
from spmopt.core.schedule import Command, Commands, Placements, Residency, Schedule, Steps

LOAD, STORE, IN, OUT = Command.LOAD, Command.STORE, Command.STREAM_IN, Command.STREAM_OUT
Rows = Sequence[tuple[int, ...]]


def machine(spm_pages: int, setup: int = 0, duplex: bool = False) -> Machine:
    """Pages of 4 bytes, one byte and one cycle a second."""
    return Machine(
        name="hand",
        spm_bytes=4 * spm_pages,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        dma_setup_cycles=setup,
        page_bytes=4,
        duplex=duplex,
    )


def tensor(name: str, size: int, flags: str = "") -> Tensor:
    """``flags``: d for in_dram, k for keep."""
    return Tensor(name=name, size_bytes=size, in_dram="d" in flags, keep="k" in flags)


def operation(
    name: str,
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    cycles: int,
    *,
    operands: tuple[Operand, ...] | None = None,
    scratch: int = 0,
    after: tuple[int, ...] = (),
) -> Operation:
    """One mapping; operands stream once unless given; 2 macs, 3 bytes read, 5 bytes written."""
    count = len({*reads, *writes})
    mapping = OpMapping(
        compute_cycles=cycles,
        operands=operands or (STREAMED,) * count,
        scratch_bytes=scratch,
        macs=2,
        spm_read_bytes=3,
        spm_write_bytes=5,
    )
    return Operation(name=name, reads=reads, writes=writes, mappings=(mapping,), predecessors=after)


def schedule(steps: int, residency: Rows, commands: Rows, placements: Rows) -> Schedule:
    """Tables from rows; operations in their own order, first mappings."""
    rows = np.array(residency, np.int64).reshape(-1, 4)
    queue = np.array(commands, np.int64).reshape(-1, 6)
    placed = np.array(placements, np.int64).reshape(-1, 6)
    return Schedule(
        steps=Steps.listed(np.zeros(steps, np.int64)),
        residency=Residency(
            tensor=rows[:, 0], begin=rows[:, 1], end=rows[:, 2], size_bytes=rows[:, 3]
        ),
        commands=Commands(
            step=queue[:, 0],
            kind=queue[:, 1],
            tensor=queue[:, 2],
            begin=queue[:, 3],
            end=queue[:, 4],
            fetches=queue[:, 5],
        ),
        placements=Placements(
            tensor=placed[:, 0],
            tensor_page=placed[:, 1],
            pages=placed[:, 2],
            spm_page=placed[:, 3],
            begin=placed[:, 4],
            end=placed[:, 5],
        ),
    )
