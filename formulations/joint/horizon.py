"""Cycles of commands, and a makespan that some schedule reaches."""

from __future__ import annotations

from formulations.joint.facts import NONE, Facts
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


def least_cycles(facts: Facts) -> int:
    """A bound that needs no search: all computation, and what each channel must move at all.

    What is there at the start and read comes in once at least, what must be kept goes out once.
    """
    instance = facts.instance
    compute = sum(
        min(mode.compute_cycles for mode in operation.modes) for operation in instance.operations
    )
    inward = outward = 0
    for version in facts.versions:
        cycles = command_cycles(instance.machine, facts.size(version.tensor))
        if version.writer == NONE and version.readers:
            inward += cycles
        if version.writer != NONE and version.kept:
            outward += cycles
    if instance.machine.duplex:
        return max(compute, inward, outward)
    return max(compute, inward + outward)
