"""Hand-written problems in few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spmopt.core.machine import Machine
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor


@dataclass(frozen=True, kw_only=True)
class Op:
    """An operation; tensors by name, separated by blanks."""

    reads: str = ""
    writes: str = ""
    cycles: int = 0
    required_resident: str = ""
    fetches: Mapping[str, int] = field(default_factory=dict)
    scratch: int = 0


def plain_machine(spm_bytes: int, **fields: Any) -> Machine:
    """Return a machine with pages of 4 bytes, and one of all else that ``fields`` do not give."""
    rates = {"dram_bytes_per_s": 1, "clock_hz": 1, "operations_per_s": 1, "page_bytes": 4}
    return Machine(name="tiny", spm_bytes=spm_bytes, **{**rates, **fields})


def tiny(
    tensors: Mapping[str, tuple[int, str]],
    operations: Sequence[Op | Sequence[Op]],
    *,
    spm: int,
    **machine: Any,
) -> Problem:
    """Return a problem on a :func:`plain_machine` with other ``machine`` fields.

    ``tensors`` gives each name a size and ``in`` and ``keep`` where they hold. Several
    :class:`Op` in place of one are its mappings.
    """
    number = {name: index for index, name in enumerate(tensors)}
    return Problem(
        name="tiny",
        machine=plain_machine(spm, **machine),
        tensors=tuple(
            Tensor(name=name, size_bytes=size, in_dram="in" in what, keep="keep" in what)
            for name, (size, what) in tensors.items()
        ),
        operations=tuple(
            _operation(index, [op] if isinstance(op, Op) else op, number)
            for index, op in enumerate(operations)
        ),
    )


def _operation(index: int, mappings: Sequence[Op], number: Mapping[str, int]) -> Operation:
    reads, writes = mappings[0].reads.split(), mappings[0].writes.split()
    names = reads + [name for name in writes if name not in reads]
    return Operation(
        name=f"op{index}",
        reads=tuple(number[name] for name in reads),
        writes=tuple(number[name] for name in writes),
        mappings=tuple(
            OpMapping(
                compute_cycles=mapping.cycles,
                scratch_bytes=mapping.scratch,
                operands=tuple(
                    Operand(
                        fetches=mapping.fetches.get(name, 1),
                        required_resident=name in mapping.required_resident.split(),
                    )
                    for name in names
                ),
            )
            for mapping in mappings
        ),
    )
