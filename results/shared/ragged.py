"""Small ragged problems: few operations and pages, no size a multiple of the page, slow set-up.

What is left to prove on them is what bounds by dual values drop: set-up of commands, whole cycles,
whole pages, the choice of mappings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor, TensorKind

KINDS = ("one mapping", "mappings")
"""One mapping of each operation, or up to three."""
CLOCK_HZ = 10**9
RATES = (10**9, 25 * 10**8, 7 * 10**9, 16 * 10**9, 256 * 10**8, 1024 * 10**8)
"""Bytes a second: 1, 2.5, 7, 16, 25.6 and 102.4 a cycle."""
PAGES = (64, 256, 1024, 4096)
"""Bytes of a page."""
SETUPS = (0, 10, 100, 1000)
"""Most cycles of set-up, each as likely as the others."""


def ragged_problem(kind: str, seed: int) -> Problem:
    """Return the problem of a kind that ``seed`` determines.

    3 to 8 operations, 3 to 10 pages of scratchpad, tensors of up to 4 pages, each of which has a
    part-filled one; up to 1,000 cycles of set-up; computing takes up to twice as long as moving
    all operands once.
    """
    return _Draw(kind, seed).problem()


class _Draw:
    """Draws the parts of a problem, one after the other."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.random = np.random.default_rng([KINDS.index(kind), seed])
        self.page = int(self.random.choice(PAGES))
        self.spm_pages = self.number(3, 10)
        self.rate = int(self.random.choice(RATES))
        self.setup = self.number(0, int(self.random.choice(SETUPS)))
        self.sizes, self.in_dram = list[int](), list[bool]()
        self.written, self.read = set[int](), set[int]()

    def number(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return int(self.random.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """Return whether something happens that does so in a share of all cases."""
        return bool(self.random.random() < share)

    def problem(self) -> Problem:
        """Draw it."""
        self.tensor(in_dram=True)
        operations = tuple(self.operation(index) for index in range(self.number(3, 8)))
        tensors = tuple(
            Tensor(
                name=f"t{t}",
                size_bytes=size,
                kind=TensorKind.WEIGHT if self.in_dram[t] else TensorKind.ACTIVATION,
                in_dram=self.in_dram[t],
                keep=t in self.written and (t not in self.read or self.chance(0.2)),
            )
            for t, size in enumerate(self.sizes)
        )
        machine = Machine(
            name="ragged",
            spm_bytes=self.spm_pages * self.page + self.number(0, self.page - 1),
            page_bytes=self.page,
            dram_bytes_per_s=self.rate,
            clock_hz=CLOCK_HZ,
            operations_per_s=CLOCK_HZ,
            dma_setup_cycles=self.setup,
        )
        name = f"ragged, {self.kind}, {self.seed}"
        return Problem(name=name, machine=machine, tensors=tensors, operations=operations)

    def tensor(self, *, in_dram: bool) -> int:
        """Draw a tensor, whose last page is not full."""
        full = self.number(0, 3)
        self.sizes.append(full * self.page + self.number(1, self.page - 1))
        self.in_dram.append(in_dram)
        return len(self.sizes) - 1

    def operation(self, index: int) -> Operation:
        """Draw an operation: one to three tensors read, old or new, and a result."""
        there = [t for t, begun in enumerate(self.in_dram) if begun or t in self.written]
        recent = there[-4:]  # as networks read what was written last
        reads = {int(self.random.choice(recent if self.chance(0.7) else there))}
        for _ in range(self.number(0, 2)):
            new = self.chance(0.5)
            reads.add(self.tensor(in_dram=True) if new else int(self.random.choice(there)))
        if self.chance(0.2):
            result = int(self.random.choice(sorted(reads)))  # in place
        elif self.chance(0.1):
            result = int(self.random.choice(there))
        else:
            result = self.tensor(in_dram=False)
        self.written.add(result)
        self.read |= reads
        tensors = (*sorted(reads), *({result} - reads))
        several = self.number(1, 3) if self.kind == "mappings" else 1
        return Operation(
            name=f"op{index}",
            reads=tuple(sorted(reads)),
            writes=(result,),
            mappings=tuple(self.mapping(tensors) for _ in range(several)),
        )

    def mapping(self, tensors: Sequence[int]) -> OpMapping:
        """Draw a mapping whose scratch and required-resident operands fit."""
        scratch = self.number(1, 3 * self.page // 2) if self.chance(0.25) else 0
        room = self.spm_pages - -(-scratch // self.page)
        operands = list[Operand]()
        for tensor in tensors:
            pages = -(-self.sizes[tensor] // self.page)
            if self.chance(0.2) and pages <= room:
                room -= pages
                operands.append(Operand(required_resident=True))
            else:
                operands.append(
                    Operand(fetches=int(self.random.choice((1, 2, 3), p=(0.8, 0.15, 0.05))))
                )
        moved = sum(self.sizes[tensor] for tensor in tensors) * CLOCK_HZ // self.rate
        return OpMapping(
            compute_cycles=self.number(0, 2 * (moved + self.setup)),
            operands=tuple(operands),
            scratch_bytes=scratch,
        )
