"""The problem: tensors, operations in order, and the machine that they run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from spmopt.core.compression import MovedBytes
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.machine import Machine
from spmopt.core.operands import OperandTable
from spmopt.core.operation import Operation
from spmopt.core.table import Bools, Ints
from spmopt.core.units import LARGEST, require_small

ASSUMED = " (assumed)"
"""Ends the kind of an operation whose operator a user gave a class, in place of a rule."""


class TensorKind(StrEnum):
    """Role of a tensor in the network."""

    INPUT = "input"
    WEIGHT = "weight"
    ACTIVATION = "activation"
    GRADIENT = "gradient"
    WEIGHT_GRADIENT = "weight_gradient"
    STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of ``size_bytes``.

    ``in_dram``: a valid copy is in DRAM at the start. ``keep``: one must be there at the end.
    """

    name: str
    size_bytes: int
    kind: TensorKind = TensorKind.ACTIVATION
    in_dram: bool = False
    keep: bool = False

    def __post_init__(self) -> None:
        if self.size_bytes < 1:
            raise InputError(f"tensor {self.name}: size must be at least 1 byte")
        if self.size_bytes > LARGEST:  # the name is put together for a message only
            require_small(f"tensor {self.name}", "its size in bytes", self.size_bytes)


class FusionSource(Protocol):
    """The graph that a fusion plan is of: a :class:`~.tileable_graph.TileableGraph`."""

    def tile_names(self, fusion_plan: FusionPlan, /) -> Mapping[str, str]:
        """Return the names of operations by those of their fusion tiles."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A lowered problem: fixed sizes, cycles and order (PROBLEM.md, section 1).

    ``listed`` gives the :class:`~.tileable.TileableGraph` for a machine: how operations may be
    computed in fusion tiles. None where only the costs of operations are known. The problem of a
    fusion plan has its ``fusion_plan``, and the tileable graph that it is ``fused_from``.

    Raises
    ------
    InputError
        A reference out of range, an operation before its predecessor, a tensor read before
        anything wrote it, one that must be kept but never exists, or totals beyond 64 bits.
    """

    name: str
    machine: Machine
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    mapper: str = "custom"
    source: str = field(default="", compare=False)
    # TileableGraphs, whose module needs this one: readers of files resolve the types of fields.
    listed: Callable[[Machine], object] | None = field(default=None, compare=False, repr=False)
    fused_from: FusionSource | None = field(default=None, compare=False, repr=False)
    fusion_plan: FusionPlan = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.operations:
            raise InputError(f"problem {self.name}: has no operations")
        # Simulates the given order once: the cheapest proof that a schedule exists for it.
        exists = [tensor.in_dram for tensor in self.tensors]
        count = len(exists)
        for index, operation in enumerate(self.operations):
            reads, writes = operation.reads, operation.writes
            for tensor in (*reads, *writes):
                if not 0 <= tensor < count:
                    raise InputError(
                        f"operation {operation.name}: no such tensor (there are {count})"
                    )
            for before in operation.predecessors:
                if not 0 <= before < index:
                    raise InputError(
                        f"operation {operation.name}: a predecessor is not an earlier operation; "
                        "list operations in an order that respects predecessors"
                    )
            for tensor in reads:
                if not exists[tensor]:
                    raise InputError(
                        f"operation {operation.name}: reads {self.tensors[tensor].name} before "
                        "anything wrote it; reorder, or mark the tensor in_dram"
                    )
            for tensor in writes:
                exists[tensor] = True
        for tensor_record, there in zip(self.tensors, exists, strict=True):
            if tensor_record.keep and not there:
                raise InputError(f"tensor {tensor_record.name}: to be kept, but nothing writes it")
        self._check_bypass()
        _require_small_totals(self)

    @cached_property
    def tile_of(self) -> Mapping[str, str]:
        """Operations that others are fusion tiles of, by name."""
        return {} if self.fused_from is None else self.fused_from.tile_names(self.fusion_plan)

    @cached_property
    def bypassing(self) -> frozenset[int]:
        """Tensors that are never in the scratchpad: of kinds in the machine's ``bypass``."""
        kinds = self.machine.bypass
        return frozenset(t for t, tensor in enumerate(self.tensors) if tensor.kind in kinds)

    @cached_property
    def several_mappings(self) -> bool:
        """Whether an operation has more than one mapping."""
        return any(len(operation.mappings) > 1 for operation in self.operations)

    @cached_property
    def waits(self) -> bool:
        """Whether computing waits for tiles of one buffer."""
        return any(own.waiting_bytes for each in self.operations for own in each.mappings)

    @cached_property
    def operands(self) -> OperandTable:
        """The operands and mappings of all operations, in arrays."""
        return OperandTable.of(self.operations)

    @cached_property
    def size_bytes(self) -> Ints:
        """(m,) Of each tensor; not to be written."""
        found = np.array([tensor.size_bytes for tensor in self.tensors], np.int64)
        found.setflags(write=False)
        return found

    @cached_property
    def moved(self) -> MovedBytes:
        """Bytes that move per byte of each tensor: fewer of those that are compressed in DRAM."""
        return MovedBytes.on(self.machine, self.tensors)

    @cached_property
    def in_dram(self) -> Bools:
        """(m,) Whether a valid copy is in DRAM at the start; not to be written."""
        found = np.array([tensor.in_dram for tensor in self.tensors], bool)
        found.setflags(write=False)
        return found

    @cached_property
    def keep(self) -> Bools:
        """(m,) Whether a valid copy must be in DRAM at the end; not to be written."""
        found = np.array([tensor.keep for tensor in self.tensors], bool)
        found.setflags(write=False)
        return found

    def label(self, *, name: str, source: str, listed: Callable[[Machine], object] | None) -> Self:
        """Return the same problem, layer by layer, under a name; checks are not repeated."""
        found = copy(self)
        # Records are frozen for all others.
        found.__dict__.update(name=name, source=source, listed=listed)
        found.__dict__.update(fused_from=None, fusion_plan=())
        return found

    def __repr__(self) -> str:
        # The fields of a network fill pages.
        counts = f"{len(self.operations)} operations, {len(self.tensors)} tensors"
        return f"<Problem {self.name}: {counts}, on {self.machine.name}>"

    def _check_bypass(self) -> None:
        """Refuse operands that would have to be where they cannot be."""
        for operation in self.operations if self.machine.bypass else ():
            for mapping in operation.mappings:
                for tensor, operand in zip(operation.tensors, mapping.operands, strict=True):
                    if operand.required_resident and tensor in self.bypassing:
                        raise InputError(
                            f"operation {operation.name}: {self.tensors[tensor].name} must be in "
                            "the scratchpad, which the machine's bypass forbids; lower the "
                            "network for this machine"
                        )

    @property
    def tensor_names(self) -> Sequence[str]:
        """Names, in order."""
        return [tensor.name for tensor in self.tensors]


def _require_small_totals(problem: Problem) -> None:
    """Check the costs of the schedule that keeps nothing on chip and so moves the most.

    Raises
    ------
    InputError
        Bytes, cycles or multiplications sum up to more than :data:`LARGEST`.
    """
    machine, table = problem.machine, problem.operands
    sizes = [tensor.size_bytes for tensor in problem.tensors]
    crossing = problem.moved.of(np.arange(len(sizes)), problem.size_bytes).tolist()
    # Both ways: an updated tensor is read and written.
    moved = 2 * table.most_moved(crossing)
    most = table.most_figures()
    dma_cycles = -(-moved * machine.clock_hz // machine.dram_bytes_per_s)
    commands = 2 * table.tensor.size
    totals = {
        "bytes of tensors": sum(sizes),
        "bytes to move": moved,
        "cycles": most["compute_cycles"] + dma_cycles + commands * (machine.dma_setup_cycles + 1),
        "bytes of scratchpad read": most["spm_read_bytes"],
        "bytes of scratchpad written": most["spm_write_bytes"],
        "multiplications": most["macs"],
        "picojoules of operations": most["own_picojoules"],
    }
    for what, total in totals.items():
        if total > LARGEST:
            raise InputError(
                f"problem {problem.name}: {float(total):.3g} {what}, but at most 2**60 can be "
                "computed with; give a smaller batch, smaller tensors or a faster machine"
            )
