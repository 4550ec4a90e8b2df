"""The floor of a network on a machine: the least that any design of its engine and channel needs.

A bound holds for schedules of a problem, whose mappings, order and fusion tiles somebody has drawn.
The floor asks less: products at the full rate of the engine, the rest at that of the vector unit,
both at once, and every input, weight and output across the DRAM boundary once. Of causal attention
the scores of the blocks count that its mappings compute. How far a bound is above it shows how much
of the cost the family of schedules might still hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from spmopt.analysis.steps import product_rate
from spmopt.core.machine import Machine
from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.verifier.any_order import moved_once


@dataclass(frozen=True, kw_only=True)
class Floor:
    """Least time and traffic, whatever is fused, tiled, mapped or kept.

    Attributes
    ----------
    compute_cycles
        Of products at the full rate, or of all other work, whichever is more.
    dram_in_bytes, dram_out_bytes
        Inputs and weights that are read, and results that are kept.
    moving_cycles
        Of these bytes; the larger direction of a duplex machine.
    """

    compute_cycles: float
    dram_in_bytes: int
    dram_out_bytes: int
    moving_cycles: float

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the floor of a problem."""
        machine, operations = problem.machine, problem.operations
        products = [each for each in operations if any(own.macs for own in each.mappings)]
        others = [each for each in operations if not any(own.macs for own in each.mappings)]
        full = sum(_full_cycles(machine, each) for each in products)
        rest = sum(_own_cycles(each) for each in others)
        sides = moved_once(problem)
        moved = max(sides) if machine.duplex else sum(sides)
        return cls(
            compute_cycles=float(max(full, rest)),
            dram_in_bytes=sides[0],
            dram_out_bytes=sides[1],
            moving_cycles=moved / float(machine.bytes_per_cycle),
        )

    @property
    def cycles(self) -> float:
        """Least cycles: computing and moving overlap in full."""
        return max(self.compute_cycles, self.moving_cycles)

    @property
    def traffic_bytes(self) -> int:
        """Least bytes over the DRAM boundary."""
        return self.dram_in_bytes + self.dram_out_bytes


def _own_cycles(operation: Operation) -> int:
    return min(own.compute_cycles for own in operation.mappings)


def _full_cycles(machine: Machine, operation: Operation) -> Fraction:
    """Return the cycles of a product at the full rate of its element type."""
    macs = min(own.macs for own in operation.mappings)
    full = Fraction(2 * macs * machine.clock_hz, product_rate(machine, operation))
    # Cycles from outside may be fewer than those of the machine's rate.
    return min(full, Fraction(_own_cycles(operation)))
