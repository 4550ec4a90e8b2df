"""Results of a schedule's execution, compared with plain execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.table import Ints
from spmopt.execution.commands import Kind, Program
from spmopt.execution.executor import Trace
from spmopt.execution.memory import Bytes

_LEAST = 1e-3
"""Relative magnitude below which numbers count as rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A tensor whose contents in DRAM at the end are wrong.

    ``largest`` is the greatest absolute difference of its elements, infinite where one of them is
    no number; None where its bytes stand for no numbers.
    """

    tensor: str
    wrong_bytes: int
    size_bytes: int
    largest: float | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Figures of an execution, and its differences from plain execution.

    Attributes
    ----------
    counts
        Commands of each kind.
    loaded_bytes, stored_bytes, peak_spm_bytes
        Measured while executing.
    tensors, compared_bytes
        Compared at the end: tensors to be kept, and those that no operation writes.
    differences
        Tensors beyond the tolerance.
    largest
        Greatest absolute difference of numbers, of tensors within the tolerance too; None where
        bytes stand for no numbers.
    largest_part
        The same, relative as the tolerance is; 0 where nothing may differ.
    wrong_operation
        The first, in the order of the schedule, that read other bytes than in plain execution;
        None where there is none, or the bytes may differ.
    wrong_figures
        Measured figures that differ from the verifier's, in words.
    """

    counts: dict[Kind, int]
    loaded_bytes: int
    stored_bytes: int
    peak_spm_bytes: int
    tensors: int
    compared_bytes: int
    differences: tuple[Difference, ...]
    largest: float | None
    largest_part: float
    wrong_operation: str | None
    wrong_figures: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        wrong = (self.differences, self.wrong_operation is not None, self.wrong_figures)
        return not any(wrong)


def plain_order(problem: Problem, operation: Ints) -> list[int]:
    """Return the order of plain execution for steps that run ``operation`` (n,).

    That is the listed one, if in the order of the steps every operation reads its inputs there.
    Predecessors of a problem of one's own may leave that open; then it is the order of the steps.
    """
    place = np.argsort(operation).tolist()
    # A legal schedule may have another order; plain execution must be valid in the listed one.
    kept = all(
        place[before] < place[index]
        for index, earlier in enumerate(dependences(problem))
        for before in earlier
    )
    return list(range(len(problem.operations))) if kept else operation.tolist()


def compare(
    program: Program,
    found: Trace,
    expected: Trace,
    *,
    dtypes: Sequence[np.dtype | None] | None = None,
    tolerance: float = 0.0,
    totals: Totals | None = None,
) -> Comparison:
    """Compare an execution with the plain one.

    Parameters
    ----------
    program
        Executed program.
    found, expected
        With scratchpad, and without. Where ``expected`` has fingerprints of operands, they are
        compared as well.
    dtypes : (m,)
        Types of the elements of each tensor; None where its bytes are compared.
    tolerance
        Of a number, relative to the greatest magnitude in its tensor, or to a thousandth of that in
        all, where it is more: some gradients are but rounding. 0: all bits are the same.
    totals
        Totals by the verifier.
    """
    problem = program.problem
    chosen = _compare(problem)
    types: Sequence[np.dtype | None] = dtypes or [None] * len(problem.tensors)
    allowed = _allow(expected, chosen, types, tolerance)
    measured = [
        _difference(found.contents[t], expected.contents[t], types[t], allowed[t]) for t in chosen
    ]
    differences = tuple(
        Difference(
            tensor=problem.tensors[t].name,
            wrong_bytes=wrong,
            size_bytes=problem.tensors[t].size_bytes,
            largest=largest,
        )
        for t, (wrong, largest, within) in zip(chosen, measured, strict=True)
        if not within
    )
    parts = (
        (largest or 0.0) / allowed[t] * tolerance
        for t, (_, largest, _) in zip(chosen, measured, strict=True)
        if allowed[t]
    )
    kinds = program.commands.kind
    return Comparison(
        counts={kind: int((kinds == kind).sum()) for kind in Kind},
        loaded_bytes=found.loaded_bytes,
        stored_bytes=found.stored_bytes,
        peak_spm_bytes=program.peak_spm_bytes,
        tensors=len(chosen),
        compared_bytes=sum(problem.tensors[t].size_bytes for t in chosen),
        differences=differences,
        largest=max((largest for _, largest, _ in measured if largest is not None), default=None),
        largest_part=max(parts, default=0.0),
        wrong_operation=_wrong_operation(program, found, expected),
        wrong_figures=() if totals is None else _wrong_figures(program, found, totals),
    )


def _compare(problem: Problem) -> list[int]:
    """Return tensors to be kept, and those in DRAM from the start that are never written."""
    written = {tensor for operation in problem.operations for tensor in operation.writes}
    return [
        index
        for index, tensor in enumerate(problem.tensors)
        if tensor.keep or (tensor.in_dram and index not in written)
    ]


def _allow(
    expected: Trace, chosen: Sequence[int], types: Sequence[np.dtype | None], tolerance: float
) -> dict[int, float]:
    """Return the allowed difference of numbers of each tensor."""
    magnitude = dict.fromkeys(chosen, 0.0)
    for t in chosen if tolerance else ():
        dtype = types[t]
        if dtype is not None and _has_numbers(dtype):
            numbers = np.abs(_numbers(expected.contents[t], dtype))
            magnitude[t] = float(np.nan_to_num(numbers, posinf=0.0).max())
    # Some gradients are sums that cancel: their exact value is 0.
    least = max(magnitude.values(), default=0.0) * _LEAST
    return {t: tolerance * max(most, least) for t, most in magnitude.items()}


def _difference(
    found: Bytes, expected: Bytes, dtype: np.dtype | None, allowed: float
) -> tuple[int, float | None, bool]:
    """Return the number of bytes that differ, the largest difference, and whether it is allowed."""
    wrong = int(np.count_nonzero(found != expected))
    if dtype is None or not _has_numbers(dtype):
        return wrong, None, not wrong
    if not wrong:
        return 0, 0.0, True
    one, other = (_numbers(each, dtype) for each in (found, expected))
    distance = np.abs(one - other)
    # NaN in both is the same result, as of a quotient by 0.
    distance[np.isnan(one) & np.isnan(other)] = 0
    largest = float(np.nan_to_num(distance, nan=np.inf).max())
    # With a tolerance of 0 any differing byte counts.
    return wrong, largest, allowed > 0 and largest <= allowed


def _has_numbers(dtype: np.dtype) -> bool:
    return dtype.kind in "fiuV" and dtype.names is None  # V: of ml_dtypes


def _numbers(of: Bytes, dtype: np.dtype) -> NDArray[np.float64]:
    return np.ascontiguousarray(of).view(dtype).astype(np.float64)


def _wrong_operation(program: Program, found: Trace, expected: Trace) -> str | None:
    # Of fusion tiles operands have no counterpart in plain execution.
    if not expected.read:
        return None
    commands = program.commands
    run: list[int] = commands.operation[commands.kind == Kind.COMPUTE].tolist()
    for index in run:
        if found.read[index] != expected.read[index]:
            return program.problem.operations[index].name
    return None


def _wrong_figures(program: Program, found: Trace, totals: Totals) -> tuple[str, ...]:
    pairs = {
        "loaded bytes": (found.loaded_bytes, totals.dram_in_bytes),
        "stored bytes": (found.stored_bytes, totals.dram_out_bytes),
        "peak bytes": (program.peak_spm_bytes, totals.peak_spm_bytes),
    }
    return tuple(
        f"{name}: {measured:,}, but {verified:,} by the verifier"
        for name, (measured, verified) in pairs.items()
        if measured != verified
    )
