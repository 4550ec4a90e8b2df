"""A training step of three layers by hand, and schedules of it."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.analysis import Analysis
from spmopt.assemble import assemble
from spmopt.core.operation import STREAMED, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor, TensorKind
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request, Scheduler
from spmopt.policies.belady import belady
from spmopt.policies.static import stream
from tests.tiny import plain_machine

KIND = TensorKind
Row = tuple[str, str, str, str, int, int]
TENSORS = {
    "x": (8, KIND.INPUT),
    "w": (4, KIND.WEIGHT),
    "y1": (8, KIND.ACTIVATION),
    "y2": (8, KIND.ACTIVATION),
    "y3": (8, KIND.ACTIVATION),
    "g3": (8, KIND.GRADIENT),
    "g1": (8, KIND.GRADIENT),
    "gw": (4, KIND.WEIGHT_GRADIENT),
    "gx": (8, KIND.GRADIENT),
}
OPERATIONS: tuple[Row, ...] = (
    ("conv", "Conv", "x w", "y1", 16, 8),
    ("relu", "Relu", "y1", "y2", 0, 1),
    ("add", "Add", "y2 x", "y3", 0, 1),
    ("loss", "LossGradient", "y3", "g3", 0, 1),
    ("relu.d0", "ReluGradient", "g3 y2", "g1", 0, 1),
    ("conv.d1", "ConvWeightGradient", "g1 x", "gw", 16, 8),
    ("conv.d0", "ConvInputGradient", "g1 w", "gx", 16, 30),
)
"""Name, kind, reads, writes, macs, cycles."""


def training_step(spm: int = 64) -> Problem:
    """A convolution, an activation and a skip connection; 1 byte and 4 operations a cycle."""
    index = {name: k for k, name in enumerate(TENSORS)}
    return Problem(
        name="step",
        machine=plain_machine(spm, operations_per_s=4),
        tensors=tuple(
            Tensor(
                name=name,
                size_bytes=size,
                kind=kind,
                in_dram=name in "xw",
                keep=name in ("gw", "gx"),
            )
            for name, (size, kind) in TENSORS.items()
        ),
        operations=tuple(_operation(index, row) for row in OPERATIONS),
    )


def scheduled(problem: Problem, policy: Scheduler) -> Schedule:
    """What a policy makes of it."""
    residency_plan = policy(problem, Request()).residency_plan
    assert residency_plan is not None
    return assemble(problem, residency_plan)


def streamed(problem: Problem) -> Analysis:
    """With nothing kept on chip."""
    return Analysis.of(problem, scheduled(problem, stream))


def kept(problem: Problem) -> Analysis:
    """With what Belady keeps."""
    return Analysis.of(problem, scheduled(problem, belady))


def _operation(index: Mapping[str, int], row: Row) -> Operation:
    name, kind, reads, writes, macs, cycles = row
    operands = len(reads.split()) + len(writes.split())
    return Operation(
        name=name,
        kind=kind,
        reads=tuple(index[tensor] for tensor in reads.split()),
        writes=tuple(index[tensor] for tensor in writes.split()),
        mappings=(OpMapping(compute_cycles=cycles, macs=macs, operands=(STREAMED,) * operands),),
    )
