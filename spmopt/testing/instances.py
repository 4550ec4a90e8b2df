"""Random small problems, the same for the same seed.

Every problem is feasible: in each mapping the required-resident operands and the scratch, in whole
pages, fit the scratchpad, so that the schedule which streams everything else is legal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from spmopt.core.machine import Compression, Energy, Machine
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor, TensorKind

WHOLE_RATES = ((1, 1), (1, 2), (1, 3))
"""(bytes per second, clock) with whole cycles a byte."""
RATIOS = (Fraction(2, 5), Fraction(1), Fraction(1, 10), Fraction(11, 10), Fraction(7, 4))
"""Bytes that move per byte on chip, where tensors are compressed."""
_FIRST, _OTHER = TensorKind.WEIGHT, TensorKind.ACTIVATION
RATES = (*WHOLE_RATES, (2, 1), (4, 1), (3, 2), (2, 3))


@dataclass(frozen=True, kw_only=True)
class Features:
    """Contents that a random problem may have; limits are inclusive.

    ``max_tensor_pages`` bounds a tensor's size, ``aligned`` makes sizes, scratch and the
    scratchpad whole pages, and ``whole_cycles`` makes a byte take a whole number of cycles
    (then only the command set-up distinguishes exact from linear transfer times).
    """

    max_operations: int = 4
    max_tensors: int = 4
    max_operands: int = 3
    page_bytes: int = 4
    max_tensor_pages: int = 3
    max_compute_cycles: int = 12
    max_fetches: int = 3
    max_mappings: int = 1
    updates: bool = True
    rewrites: bool = True
    required_resident: bool = True
    scratch: bool = True
    duplex: bool = False
    setup: bool = False
    aligned: bool = False
    whole_cycles: bool = False
    energy: bool = True
    compression: bool = False


class ChooseInteger(Protocol):
    """A source of integers; the low end is the simplest choice."""

    def __call__(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        ...


def random_problem(seed: int, **features: Any) -> Problem:
    """Return the problem that ``seed`` determines, for loops of thousands."""
    generator = np.random.default_rng(seed)
    wanted = replace(Features(), **features)
    return build_problem(lambda low, high: int(generator.integers(low, high + 1)), wanted)


def build_problem(choose: ChooseInteger, features: Features) -> Problem:
    """Build a feasible problem from ``choose``'s answers."""
    sizes = _sizes(choose, features)
    in_dram = [choose(0, 1) == 1 for _ in sizes]
    exists = list(in_dram)
    operations: list[Operation] = []
    for _ in range(choose(1, features.max_operations)):
        operations.append(_operation(choose, features, exists, operations))
    # A tensor that never exists cannot be kept at the end.
    keep = [there and choose(0, 1) == 1 for there in exists]
    tensors = tuple(
        Tensor(
            name=f"t{index}",
            size_bytes=size,
            kind=_FIRST if in_dram[index] else _OTHER,
            in_dram=in_dram[index],
            keep=keep[index],
        )
        for index, size in enumerate(sizes)
    )
    return Problem(
        name="random",
        machine=_machine(choose, features, sizes, operations),
        tensors=tensors,
        operations=tuple(operations),
    )


def pages(size_bytes: int, page_bytes: int) -> int:
    """Return the whole pages that hold ``size_bytes``."""
    return -(-size_bytes // page_bytes)


def _sizes(choose: ChooseInteger, features: Features) -> list[int]:
    count = choose(1, features.max_tensors)
    page = features.page_bytes
    if features.aligned:
        return [page * choose(1, features.max_tensor_pages) for _ in range(count)]
    return [choose(1, page * features.max_tensor_pages) for _ in range(count)]


def _operation(
    choose: ChooseInteger, features: Features, exists: list[bool], earlier: list[Operation]
) -> Operation:
    reads: list[int] = []
    writes: list[int] = []
    candidates = list(range(len(exists)))
    for _ in range(choose(1, min(features.max_operands, len(candidates)))):
        tensor = candidates.pop(choose(0, len(candidates) - 1))
        read, write = _access(choose, features, exists[tensor])
        if read:
            reads.append(tensor)
        if write:
            writes.append(tensor)
    for tensor in writes:
        exists[tensor] = True
    operands = len(reads) + sum(t not in reads for t in writes)
    mappings = [
        _mapping(choose, features, operands) for _ in range(choose(1, features.max_mappings))
    ]
    touched, written = {*reads, *writes}, set(writes)
    return Operation(
        name=f"op{len(earlier)}",
        reads=tuple(reads),
        writes=tuple(writes),
        mappings=tuple(mappings),
        predecessors=tuple(
            before
            for before, other in enumerate(earlier)
            # Read after write, write after read, write after write: all three need the order.
            if written & {*other.tensors} or touched & {*other.writes}
        ),
    )


def _access(choose: ChooseInteger, features: Features, exists: bool) -> tuple[bool, bool]:
    """Return (reads, writes) of one operand, or neither when nothing is allowed."""
    if not exists:
        return False, True
    kinds = [(True, False)]
    if features.updates:
        kinds.append((True, True))
    if features.rewrites:
        kinds.append((False, True))
    # A read is as likely as both others, so that tensors live through several uses.
    picked = choose(0, 2 * len(kinds) - 2)
    return kinds[0] if picked < len(kinds) else kinds[picked - len(kinds) + 1]


def _mapping(choose: ChooseInteger, features: Features, operands: int) -> OpMapping:
    page = features.page_bytes
    scratch = choose(0, 2 * page) if features.scratch and choose(0, 2) == 2 else 0
    return OpMapping(
        compute_cycles=choose(0, features.max_compute_cycles),
        operands=tuple(_operand(choose, features) for _ in range(operands)),
        scratch_bytes=page * pages(scratch, page) if features.aligned else scratch,
        macs=choose(0, 3),
        spm_read_bytes=choose(0, 3),
        spm_write_bytes=choose(0, 3),
    )


def _operand(choose: ChooseInteger, features: Features) -> Operand:
    if features.required_resident and choose(0, 4) == 4:
        return Operand(required_resident=True)
    # One pass is more likely than all other numbers of fetches.
    return Operand(fetches=max(1, choose(0, 2 * features.max_fetches) - features.max_fetches))


def _machine(
    choose: ChooseInteger, features: Features, sizes: list[int], operations: list[Operation]
) -> Machine:
    page = features.page_bytes
    # Room for the most demanding mapping, so that every problem is feasible.
    least = max(
        _pages_needed(op, mapping, sizes, page) for op in operations for mapping in op.mappings
    )
    total = sum(pages(size, page) for size in sizes)
    spm_pages = max(1, least) + choose(0, max(1, total - least))
    rates = WHOLE_RATES if features.whole_cycles else RATES
    rate, clock = rates[choose(0, len(rates) - 1)]
    energy = Energy()
    if features.energy:
        energy = Energy(
            dram_pj_per_byte=choose(0, 8) / 4,
            spm_read_pj_per_byte=choose(0, 4) / 4,
            spm_write_pj_per_byte=choose(0, 4) / 4,
            mac_pj=choose(0, 4) / 4,
            # About a picojoule a cycle: neither term of the energy drowns the other.
            leakage_w=choose(0, 4) * 1e-12,
        )
    return Machine(
        name="tiny",
        # A part of a page at the end is never usable: schedulers must not count it.
        spm_bytes=spm_pages * page + (0 if features.aligned else choose(0, page - 1)),
        dram_bytes_per_s=rate,
        clock_hz=clock,
        operations_per_s=1,
        dma_setup_cycles=choose(0, 3) if features.setup else 0,
        page_bytes=page,
        duplex=features.duplex and choose(0, 1) == 1,
        energy=energy,
        compression=_compression(choose) if features.compression else (),
    )


def _compression(choose: ChooseInteger) -> tuple[Compression, ...]:
    chosen = [(kind, RATIOS[choose(0, len(RATIOS) - 1)]) for kind in (_FIRST, _OTHER)]
    return tuple(Compression(kind=kind, ratio=ratio) for kind, ratio in chosen if ratio != 1)


def _pages_needed(operation: Operation, mapping: OpMapping, sizes: list[int], page: int) -> int:
    """Return the pages that the mapping cannot do without.

    Its resident operands and its scratch.
    """
    required_resident = sum(
        pages(sizes[tensor], page)
        for tensor, operand in zip(operation.tensors, mapping.operands, strict=True)
        if operand.required_resident
    )
    return required_resident + pages(mapping.scratch_bytes, page)
