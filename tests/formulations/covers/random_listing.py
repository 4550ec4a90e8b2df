"""Small random listings with every feature: sums, updates in place, dead results, passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spmopt.core.instance import Tensor
from spmopt.core.machine import Machine
from spmopt.core.operation import Mode, Operand
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, ListedOperation, PieceModes, Segment

BATCH = 4


def random_listing(seed: int, *, most: int = 4) -> Listing:
    """Make a listing of at most so many operations, bytes and pages in one."""
    random = np.random.default_rng(seed)
    machine = Machine(
        name="small",
        spm_bytes=int(random.integers(6, 40)),
        dram_bytes_per_s=int(random.integers(1, 4)),
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
        duplex=bool(random.random() < 0.3),
    )
    count = int(random.integers(2, 7))
    batched = random.random(count) < 0.6
    sizes = [int(BATCH * random.integers(1, 7)) for _ in range(count)]
    operations: list[ListedOperation] = []
    written: set[int] = set()
    first_read: set[int] = set()
    for at in range(int(random.integers(1, most + 1))):
        used = random.permutation(count)[: int(random.integers(1, min(count, 3) + 1))].tolist()
        kinds = random.integers(0, 3, len(used)).tolist()
        reads = tuple(t for t, kind in zip(used, kinds, strict=True) if kind != 1)
        writes = tuple(t for t, kind in zip(used, kinds, strict=True) if kind != 0)
        first_read.update(t for t in reads if t not in written)
        written.update(writes)
        cut = frozenset(t for t in used if batched[t])
        can = bool(cut) and random.random() < 0.85
        operation = ListedOperation(
            name=f"o{at}",
            reads=reads,
            writes=writes,
            cut=cut if can else frozenset(),
            sums=frozenset(t for t in writes if not batched[t]) if can else frozenset(),
        )
        for pieces in (1, 2, 4) if can else (1,):
            operation.modes[pieces] = _modes(random, operation, pieces, macs=4 * (at % 3 < 2))
        operations.append(operation)
    tensors = tuple(
        Tensor(
            name=f"t{t}",
            size_bytes=size,
            in_dram=t in first_read or (t not in written or bool(random.random() < 0.3)),
            keep=bool(random.random() < 0.5),
        )
        for t, size in enumerate(sizes)
    )
    return Listing(
        name=f"random {seed}",
        machine=machine,
        tensors=tensors,
        operations=tuple(operations),
        batch=BATCH,
        lowering="custom",
    )


def _modes(
    random: np.random.Generator, operation: ListedOperation, pieces: int, macs: int
) -> PieceModes:
    """Return modes that are not much alike from one number of pieces to another."""
    passes = {t: int(random.choice([1, 1, 1, 2, 3])) for t in operation.uses(0)}
    fixed = {t: bool(random.random() < 0.15) for t in operation.uses(0)}
    cycles = int(random.integers(0, 30)) // pieces
    scratch = int(random.choice([0, 0, 0, 1, 2]))

    def mode(piece: int) -> Mode:
        operands = tuple(
            Operand(passes=passes[t], stationary=fixed[t]) for t in operation.uses(piece)
        )
        return Mode(
            compute_cycles=cycles,
            operands=operands,
            scratch_bytes=scratch,
            macs=macs // pieces,
        )

    return PieceModes(mode(0), mode(1))


def covers(listing: Listing, begin: int = 0) -> Iterator[Cover]:
    """All covers of the operations from one on."""
    count = len(listing.operations)
    if begin == count:
        yield ()
        return
    for end in range(begin + 1, count + 1):
        for pieces in (1, 2, 4):
            segment = Segment(begin=begin, end=end, pieces=pieces)
            if not listing.obstacle(segment):
                for rest in covers(listing, end):
                    yield (segment, *rest)


def duplex(listing: Listing) -> Listing:
    """The listing on a machine with a channel each way."""
    return replace(listing, machine=replace(listing.machine, duplex=True))
