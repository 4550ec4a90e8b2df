"""Small problems and plans written by hand: names instead of indices, a page of one byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor
from spmopt.core.schedule import Command, Commands, Residency, ResidencyPlan, Steps, Stores
from spmopt.core.timeline import Timeline, timeline


def data(size_bytes: int, *, keep: bool = False) -> Tensor:
    """A tensor that DRAM holds at the start; :func:`problem` names it."""
    return Tensor(name="", size_bytes=size_bytes, in_dram=True, keep=keep)


def made(size_bytes: int, *, keep: bool = False) -> Tensor:
    """A tensor that some operation writes."""
    return Tensor(name="", size_bytes=size_bytes, keep=keep)


@dataclass(frozen=True, kw_only=True)
class Op:
    """An operation by tensor names; ``fetches`` and ``required_resident`` name operands."""

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    cycles: int = 0
    scratch: int = 0
    fetches: Mapping[str, int] = field(default_factory=dict)
    required_resident: Sequence[str] = ()


def make_problem(
    tensors: Mapping[str, Tensor],
    operations: Sequence[Op],
    *,
    spm: int = 100,
    page: int = 1,
    setup: int = 0,
    duplex: bool = False,
) -> Problem:
    """A problem on a machine that moves a byte a cycle."""
    names = list(tensors)
    return Problem(
        name="small",
        machine=Machine(
            name="unit",
            spm_bytes=spm,
            dram_bytes_per_s=1,
            clock_hz=1,
            operations_per_s=1,
            dma_setup_cycles=setup,
            page_bytes=page,
            duplex=duplex,
        ),
        tensors=tuple(
            Tensor(name=name, size_bytes=t.size_bytes, in_dram=t.in_dram, keep=t.keep)
            for name, t in tensors.items()
        ),
        operations=tuple(_operation(names, index, op) for index, op in enumerate(operations)),
    )


def _operation(names: list[str], index: int, op: Op) -> Operation:
    operands = [*op.reads, *(name for name in op.writes if name not in op.reads)]
    return Operation(
        name=f"op{index}",
        reads=tuple(names.index(name) for name in op.reads),
        writes=tuple(names.index(name) for name in op.writes),
        mappings=(
            OpMapping(
                compute_cycles=op.cycles,
                scratch_bytes=op.scratch,
                operands=tuple(
                    Operand(
                        fetches=op.fetches.get(name, 1),
                        required_resident=name in op.required_resident,
                    )
                    for name in operands
                ),
            ),
        ),
    )


def residency_plan(
    problem: Problem,
    rows: Sequence[tuple[str, int, int, int]] = (),
    stores: Sequence[tuple[int, str, int]] = (),
) -> ResidencyPlan:
    """A plan in the listed order from (tensor, begin, end, bytes) and (step, tensor, bytes)."""
    names = list(problem.tensor_names)
    count = len(problem.operations)
    table = np.array([(names.index(t), *rest) for t, *rest in rows], np.int64).reshape(-1, 4)
    saved = np.array([(i, names.index(t), x) for i, t, x in stores], np.int64).reshape(-1, 3)
    return ResidencyPlan(
        steps=Steps.listed(np.zeros(count, np.int64)),
        residency=Residency(
            tensor=table[:, 0], begin=table[:, 1], end=table[:, 2], size_bytes=table[:, 3]
        ),
        stores=Stores(step=saved[:, 0], tensor=saved[:, 1], size_bytes=saved[:, 2]),
    )


def arrays(problem: Problem, chosen: ResidencyPlan) -> Timeline:
    """The problem as ``chosen`` runs it."""
    return timeline(problem, chosen.steps)


def rows_of(problem: Problem, residency: Residency) -> list[tuple[str, int, int, int]]:
    """Residency rows with names: (tensor, begin, end, bytes)."""
    names = problem.tensor_names
    columns = (residency.tensor, residency.begin, residency.end, residency.size_bytes)
    return [
        (names[t], begin, end, size)
        for t, begin, end, size in zip(*(c.tolist() for c in columns), strict=True)
    ]


def stores_of(problem: Problem, stores: Stores) -> list[tuple[int, str, int]]:
    """Store rows with names: (step, tensor, bytes)."""
    names = problem.tensor_names
    columns = (stores.step, stores.tensor, stores.size_bytes)
    return [(i, names[t], x) for i, t, x in zip(*(c.tolist() for c in columns), strict=True)]


def listed(problem: Problem, commands: Commands) -> list[tuple[int, str, str, int, int, int]]:
    """Commands with names: (step, kind, tensor, begin, end, passes), in queue order."""
    names = problem.tensor_names
    columns = (
        commands.step,
        commands.kind,
        commands.tensor,
        commands.begin,
        commands.end,
        commands.fetches,
    )
    return [
        (step, Command(kind).name.lower(), names[tensor], begin, end, fetches)
        for step, kind, tensor, begin, end, fetches in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]
