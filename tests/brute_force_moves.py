"""Every legal move of one tensor in one step, from rules R2 to R5, R7 and R11 alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spmopt.core.operation import Operand, Operation
from spmopt.core.problem import Problem


class State(NamedTuple):
    """Before a step: the resident prefix and the suffix valid in DRAM, in bytes.

    ``gone``: not since the last use that it was resident in was it there in each step.
    """

    resident: int
    valid: int
    gone: bool = True


class Move(NamedTuple):
    """What happens to a tensor in a step, in bytes; streams with all their fetches."""

    old: State
    new: State
    resident: int
    load: int = 0
    store: int = 0
    stream_in: int = 0
    stream_out: int = 0


class Rules(NamedTuple):
    """The class of schedules, by residency as in ``optimum``, and the granule of stores."""

    problem: Problem
    residency: str
    store_bytes: int


DEAD = State(0, 0)
"""Dead contents are dropped: no rule asks for them, and they take room."""


def live(problem: Problem, tensor: int, step: int) -> bool:
    """Whether the contents before ``step`` are read before a blind write, or final and kept."""
    for operation in problem.operations[step:]:
        if tensor in operation.tensors:
            return tensor in operation.reads
    return problem.tensors[tensor].keep


def start(problem: Problem, tensor: int) -> State:
    """Return the state before the first step (R5)."""
    record = problem.tensors[tensor]
    if not live(problem, tensor, 0):
        return DEAD
    return State(0, record.size_bytes if record.in_dram else 0)


def finished(problem: Problem, tensor: int, state: State) -> bool:
    """Whether R7 holds after the last step."""
    record = problem.tensors[tensor]
    return not record.keep or state.valid == record.size_bytes


def moves(
    rules: Rules, step: int, operand: Operand | None, tensor: int, old: State
) -> Iterator[Move]:
    """Moves from ``old`` in ``step``; ``operand`` is None when the step does not touch it."""
    problem = rules.problem
    operation, size = problem.operations[step], problem.tensors[tensor].size_bytes
    live_before, live_after = live(problem, tensor, step), live(problem, tensor, step + 1)
    if operand is None and not live_before:
        yield Move(DEAD, DEAD, 0)
        return
    reads, writes = tensor in operation.reads, tensor in operation.writes
    barred = problem.tensors[tensor].kind in problem.machine.bypass
    for resident in [0] if barred else _residencies(rules, operand, size, old):
        away = size - resident
        load = 0 if writes and not reads else max(0, resident - old.resident)
        if load and old.resident < size - old.valid:  # R2: not valid in DRAM
            continue
        if live_before and away > old.valid:  # R5 (and R3: what is streamed in is valid)
            continue
        stream_in, stream_out = _streams(operation, operand, tensor, away, live_after=live_after)
        unsaved = resident if writes else size - old.valid
        stores = _stores(rules, unsaved) if live_after else [0]
        for store in stores:
            if not writes and store and unsaved > resident:  # R5: a store is resident
                continue
            gone = rules.residency != "kept" or resident == 0 or (operand is None and old.gone)
            new = State(resident, size - unsaved + store, gone) if live_after else DEAD
            yield Move(old, new, resident, load, store, stream_in, stream_out)


def _residencies(rules: Rules, operand: Operand | None, size: int, old: State) -> list[int]:
    """Prefixes that may be resident in the step."""
    away = rules.residency == "kept" and not old.gone  # then in full all the time, or on its way
    full = [] if operand is not None and away and old.resident < size else [size]
    if operand is not None and operand.required_resident:
        return full
    if operand is not None and rules.residency in ("whole", "uses", "kept"):
        return [0, *full]
    grid = [*range(0, size, rules.problem.machine.page_bytes), size]
    if rules.residency == "whole":  # kept in full, given up in full, or coming back
        return [r for r in grid if r == 0 or r >= old.resident]
    if away:
        return [r for r in grid if r <= old.resident]
    return grid


def _streams(
    operation: Operation, operand: Operand | None, tensor: int, away: int, *, live_after: bool
) -> tuple[int, int]:
    """Bytes streamed in and out (R3, R4)."""
    if operand is None:
        return 0, 0
    reads, writes = tensor in operation.reads, tensor in operation.writes
    written = writes and live_after
    partial_sums = operand.fetches - 1 if written else 0
    return (
        (operand.fetches if reads else partial_sums) * away,
        operand.fetches * away if written else 0,
    )


def _stores(rules: Rules, unsaved: int) -> list[int]:
    """Bytes to store of ``unsaved`` ones, such that the rest lies on the grid."""
    left = {unsaved, *range(0, unsaved, rules.store_bytes)}
    return sorted(unsaved - bytes_left for bytes_left in left)
