"""Operations: their operands and mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spmopt.core.errors import InputError
from spmopt.core.units import require_small

FIGURES = (
    *("compute_cycles", "scratch_bytes", "macs", "spm_read_bytes", "spm_write_bytes"),
    "own_picojoules",
)
"""Figures of a mapping."""
MOST_FETCHES = 2**40
"""Of an operand: solvers refuse coefficients from 1e15 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How a mapping uses one operand.

    ``fetches``: how often its non-resident part crosses the DRAM boundary, up to
    :data:`MOST_FETCHES`. ``required_resident``:
    resident in full while the operation runs, never streamed.
    """

    fetches: int = 1
    required_resident: bool = False

    def __post_init__(self) -> None:
        if self.fetches < 1:
            raise InputError("operand: fetches must be at least 1")
        if self.fetches > MOST_FETCHES:
            most = f"{MOST_FETCHES:,}"
            raise InputError(f"operand: fetches must be at most {most}, are {self.fetches:,}")


STREAMED = Operand()
REQUIRED_RESIDENT = Operand(required_resident=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpMapping:
    """One way to run an operation; ``operands`` follow ``Operation.tensors``.

    ``own_picojoules`` is energy that no count of bytes, cycles or ``macs`` gives.
    ``waiting_bytes``: those of tiles of one buffer. Computing waits while they move, and
    ``compute_cycles`` count that at the machine's rate.
    """

    compute_cycles: int
    operands: tuple[Operand, ...]
    scratch_bytes: int = 0
    macs: int = 0
    spm_read_bytes: int = 0
    spm_write_bytes: int = 0
    own_picojoules: int = field(default=0, metadata={"group": "own energy"})
    waiting_bytes: int = field(default=0, metadata={"group": "waiting"})

    @property
    def unchanging(self) -> tuple[int, int, int, int]:
        """Costs that do not depend on residency: bytes read and written, macs, picojoules."""
        return self.spm_read_bytes, self.spm_write_bytes, self.macs, self.own_picojoules

    def __post_init__(self) -> None:
        counts = (self.compute_cycles, self.scratch_bytes, self.macs)
        spm = (self.spm_read_bytes, self.spm_write_bytes, self.own_picojoules)
        if min(*counts, *spm) < 0:
            raise InputError("mapping: cycles, bytes, macs and energy must not be negative")
        require_small("mapping", "a number of cycles, bytes or macs", max(*counts, *spm))
        if self.waiting_bytes < 0:
            raise InputError("mapping: waiting_bytes must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation: tensors by index into ``Problem.tensors``, at least one mapping.

    A tensor in both ``reads`` and ``writes`` is updated in place; one in ``writes`` only is
    overwritten (a blind write). ``predecessors`` are indices of operations. ``element_type``:
    of the factors of a product, where the machine has rates or energies by type.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    mappings: tuple[OpMapping, ...]
    predecessors: tuple[int, ...] = ()
    kind: str = ""
    element_type: str = field(default="", metadata={"group": "element_type"})

    @property
    def tensors(self) -> tuple[int, ...]:
        """The operands: those read, then those only written."""
        return self.reads + tuple([t for t in self.writes if t not in self.reads])

    def __post_init__(self) -> None:
        reads, writes = self.reads, self.writes
        if len(reads) > 1 and len(set(reads)) != len(reads):
            raise InputError(f"operation {self.name}: reads a tensor twice; name it once")
        if len(writes) > 1 and len(set(writes)) != len(writes):
            raise InputError(f"operation {self.name}: writes a tensor twice; name it once")
        if not self.mappings:
            raise InputError(f"operation {self.name}: has no mapping")
        # A tensor that is updated in place is one operand, not two.
        operands = len({*reads, *writes})
        for mapping in self.mappings:
            if len(mapping.operands) != operands:
                raise InputError(f"operation {self.name}: a mapping must list {operands} operands")


def relax_mapping(mappings: Sequence[OpMapping]) -> OpMapping:
    """Return a mapping at most as costly as any of an operation's (PROBLEM.md, section 4)."""
    if len(mappings) == 1:
        return mappings[0]
    return OpMapping(
        **{name: min(getattr(mapping, name) for mapping in mappings) for name in FIGURES},
        operands=tuple(
            Operand(
                fetches=min(o.fetches for o in column),
                # A bound for all mappings: resident only where every mapping needs it.
                required_resident=all(o.required_resident for o in column),
            )
            for column in zip(*(mapping.operands for mapping in mappings), strict=True)
        ),
    )
