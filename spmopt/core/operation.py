"""Operations: what they read and write, and the modes in which they run."""

from __future__ import annotations

from dataclasses import dataclass, field

from spmopt.core.errors import InputError
from spmopt.core.quick_init import quick_init
from spmopt.core.units import require_small

MOST_PASSES = 2**40
"""Of an operand: solvers refuse coefficients from 1e15 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How a mode uses one operand.

    ``passes``: how often its non-resident part crosses the DRAM boundary, up to
    :data:`MOST_PASSES`. ``stationary``:
    resident in full while the operation runs, never streamed.
    """

    passes: int = 1
    stationary: bool = False

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise InputError("operand: passes must be at least 1")
        if self.passes > MOST_PASSES:
            most = f"{MOST_PASSES:,}"
            raise InputError(f"operand: passes must be at most {most}, are {self.passes:,}")


STREAMED = Operand()
STATIONARY = Operand(stationary=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to run an operation; ``operands`` follow ``Operation.tensors``.

    ``own_picojoules`` is energy that no count of bytes, cycles or ``macs`` gives.
    """

    compute_cycles: int
    operands: tuple[Operand, ...]
    scratch_bytes: int = 0
    macs: int = 0
    spm_read_bytes: int = 0
    spm_write_bytes: int = 0
    own_picojoules: int = field(default=0, metadata={"group": "own energy"})

    @property
    def unchanging(self) -> tuple[int, int, int, int]:
        """What it spends whatever is resident: bytes read and written, macs, picojoules."""
        return self.spm_read_bytes, self.spm_write_bytes, self.macs, self.own_picojoules

    def __post_init__(self) -> None:
        counts = (self.compute_cycles, self.scratch_bytes, self.macs)
        spm = (self.spm_read_bytes, self.spm_write_bytes, self.own_picojoules)
        if min(*counts, *spm) < 0:
            raise InputError("mode: cycles, bytes, macs and energy must not be negative")
        require_small("mode", "a number of cycles, bytes or macs", max(*counts, *spm))


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation: tensors by index into ``Instance.tensors``, at least one mode.

    A tensor in both ``reads`` and ``writes`` is updated in place; one in ``writes`` only is
    overwritten (a blind write). ``predecessors`` are indices of operations.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    modes: tuple[Mode, ...]
    predecessors: tuple[int, ...] = ()
    kind: str = ""

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
        if not self.modes:
            raise InputError(f"operation {self.name}: has no mode")
        operands = len({*reads, *writes})
        for mode in self.modes:
            if len(mode.operands) != operands:
                raise InputError(f"operation {self.name}: a mode must list {operands} operands")
