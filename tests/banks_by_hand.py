"""A problem by hand in which a tensor must move between banks, and a schedule of it.

Pages of 4 bytes, a byte and a second a cycle. Bank 0 has one page, free to use; bank 1 has one
page, whose bytes cost 10 pJ to read and 1 pJ to write. DRAM costs 100 pJ a byte. ``a`` is read
much in step 0, ``b`` in steps 1 and 2, and ``a`` a little in step 3: it waits in bank 1 while ``b``
is in bank 0.
"""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.machine import Bank, Energy
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import Moves, Schedule
from tests.banked import with_these
from tests.verifier.builders import LOAD, machine, schedule, tensor

MUCH, LITTLE = 400, 2
A, B = 0, 1
_STEPS = ((A, MUCH, 6), (B, MUCH, 4), (B, MUCH, 4), (A, LITTLE, 4))
BANKS = (
    Bank(spm_bytes=4),
    Bank(spm_bytes=4, read_pj_per_byte=10.0, write_pj_per_byte=1.0, leakage_w=1e-12),
)
ENERGY_PJ = 2 * 4 * 100 + 4 * 1 + LITTLE * 10 + 18
"""Two loads into bank 0, a move to bank 1, a read there, and leakage of 18 cycles."""


def problem() -> Problem:
    """The problem; operations take 6 cycles, then 4 each."""
    base = machine(2)
    banked = with_these(replace(base, energy=Energy(dram_pj_per_byte=100.0)), BANKS)
    return Problem(
        name="phases",
        machine=banked,
        tensors=(tensor("a", 4, "d"), tensor("b", 4, "d")),
        operations=tuple(
            Operation(
                name=f"op{step}",
                reads=(which,),
                writes=(),
                mappings=(
                    OpMapping(compute_cycles=cycles, operands=(Operand(),), spm_read_bytes=read),
                ),
            )
            for step, (which, read, cycles) in enumerate(_STEPS)
        ),
    )


def moving(moved: bool = True) -> Schedule:
    """``a`` goes from page 0 (bank 0) to page 1 (bank 1) in step 1; ``moved``: and says so."""
    facts = schedule(
        4,
        residency=[(A, 0, 4, 4), (B, 1, 3, 4)],
        commands=[(0, LOAD, A, 0, 4, 1), (1, LOAD, B, 0, 4, 1)],
        placements=[(A, 0, 1, 0, 0, 1), (A, 0, 1, 1, 1, 4), (B, 0, 1, 0, 1, 3)],
    )
    return replace(facts, moves=moves((1, A, 0, 4))) if moved else facts


def moves(*rows: tuple[int, int, int, int]) -> Moves:
    """Rows (step, tensor, begin, end)."""
    return Moves.of_rows(rows)
