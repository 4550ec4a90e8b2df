"""Cycles of commands, and a makespan that some schedule reaches."""

from __future__ import annotations

from formulations.joint.facts import Facts
from spmopt.core.machine import Machine
from spmopt.core.timeline import Access


def command_cycles(machine: Machine, size_bytes: int) -> int:
    """Cycles of a command: ``lambda + ceil(x f / beta)``."""
    transfer = -(-size_bytes * machine.clock_hz // machine.dram_bytes_per_s)
    return machine.dma_setup_cycles + transfer


def serial_cycles(facts: Facts) -> int:
    """A bound on the makespan of doing one thing after the other, keeping what must be kept.

    Every use moves its tensor in and out as often as any mode may ask for.
    """
    instance = facts.instance
    total = sum(
        max(mode.compute_cycles for mode in operation.modes) for operation in instance.operations
    )
    for use in facts.uses:
        modes = instance.operations[use.operation].modes
        passes = max(mode.operands[use.place].passes for mode in modes)
        ways = 1 if use.kind == Access.READ else 2
        total += ways * command_cycles(instance.machine, passes * facts.size(use.tensor))
    return total
