"""Cycles of DMA commands and of steps, in exact integers (rule R6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.verifier.arrays import AFTER, BEFORE, ScheduleArrays

if TYPE_CHECKING:
    from spmopt.verifier.bank_use import BankUse


def command_cycles(machine: Machine, size_bytes: Ints) -> Ints:
    """Return the cycles of commands that move so many bytes: ``lambda + ceil(x f / beta)``."""
    common = gcd(machine.clock_hz, machine.dram_bytes_per_s)
    up, down = machine.clock_hz // common, machine.dram_bytes_per_s // common
    largest = int(size_bytes.max(initial=0))
    # Python's integers where 64 bits would overflow.
    exact = size_bytes if (largest + 1) * up < 2**62 else size_bytes.astype(object)
    # Minus floor of minus: rounded up, in whole cycles.
    return machine.dma_setup_cycles - np.asarray(-(exact * up) // down, np.int64)


def per_step(values: Ints, step: Ints, steps: int) -> Ints:
    """Sum of ``values`` by step."""
    total = np.zeros(steps, np.int64)
    np.add.at(total, step, values)
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class Durations:
    """Cycles of every command (k,), of every step's operation (n,) and of every step (n,).

    An operation lasts as long as its computing, or the busiest bank's port. ``banks`` are the reads
    and writes of each bank, None without banks.
    """

    command: Ints
    operation: Ints
    step: Ints
    banks: BankUse | None


def durations(view: ScheduleArrays) -> Durations:
    """Recompute the time of every command and step.

    One channel: ``d = max(X, L + c + S)``. Duplex: ``d = max(in + S, L + out, L + c + S)``.
    ``X`` is all DMA time of the step, ``in`` and ``out`` its directions, ``L`` the loads of
    required-resident operands, ``S`` the stores of required-resident results, ``c`` the computation
    (with banks, at least what the step keeps the port of any of them busy).
    """
    commands, line = view.schedule.commands, view.timeline
    cycles = command_cycles(view.problem.machine, view.command_bytes)
    inward = (commands.kind == Command.LOAD) | (commands.kind == Command.STREAM_IN)

    def total(rows: np.typing.NDArray[np.bool_]) -> Ints:
        return per_step(cycles[rows], commands.step[rows], line.steps)

    banks, operation = None, line.compute_cycles
    if view.problem.machine.banks:
        from spmopt.verifier.bank_use import bank_use, port_cycles

        banks = bank_use(view)
        operation = np.maximum(operation, port_cycles(view, banks).max(axis=1))
    before, after = total(view.command_phase == BEFORE), total(view.command_phase == AFTER)
    alone = before + operation + after
    if view.problem.machine.duplex:
        # Duplex: a serial transfer keeps the other channel waiting with the operation.
        channels = np.maximum(total(inward) + after, total(~inward) + before)
    else:
        channels = total(inward) + total(~inward)
    return Durations(
        command=cycles, operation=operation, step=np.maximum(channels, alone), banks=banks
    )
