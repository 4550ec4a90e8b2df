"""The execution of a schedule, in lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.execution.commands import Kind
from spmopt.execution.comparison import Comparison, Difference
from spmopt.reporting.headings import heading
from spmopt.reporting.quantities import si, usage
from spmopt.reporting.results import fields_by_name
from spmopt.reporting.tables import Grid, NamedValues, Part

SHOWN = 10
"""Differing tensors in a table."""
_KINDS = {
    Kind.COMPUTE: "operation{}",
    Kind.LOAD: "load{}",
    Kind.STORE: "store{}",
    Kind.STREAM_IN: "stream{} in",
    Kind.STREAM_OUT: "stream{} out",
    Kind.LAY: "move{}",
}


def execution_parts(
    problem: Problem, result: Result, found: Comparison, *, kernels: str, tolerance: float
) -> Iterator[Part]:
    """Yield heading, measured figures and the verdict; a table of the differing tensors."""
    yield f"{heading(problem, result)}; scheduler {result.scheduler}"
    yield ""
    yield NamedValues(rows=list(_rows(problem, found, kernels, tolerance)))
    if found.differences:
        yield ""
        yield _table(found.differences)


def _rows(
    problem: Problem, found: Comparison, kernels: str, tolerance: float
) -> Iterator[tuple[str, str]]:
    counts = [(found.counts[kind], name) for kind, name in _KINDS.items()]
    # LIFT and LAY are the halves of one move.
    total = sum(found.counts.values()) - found.counts[Kind.LIFT]  # a move is two commands
    shown = [f"{count:,} {name.format('s' * (count != 1))}" for count, name in counts if count]
    yield "kernels", kernels
    yield "commands", f"{total:,}: {', '.join(shown)}"
    verified = "" if found.wrong_figures else ", as verified"
    yield "loaded", si(found.loaded_bytes, "B") + verified
    yield "stored", si(found.stored_bytes, "B") + verified
    yield "peak", usage(found.peak_spm_bytes, problem.machine.spm_bytes)
    yield "compared", f"{found.tensors:,} tensors, {si(found.compared_bytes, 'B')}"
    if found.largest is not None:
        limit = "" if not tolerance else f" (up to {tolerance:.2g} of the largest number allowed)"
        yield "difference", f"{found.largest:.3g} at most{limit}"
    yield "verdict", _verdict(found, tolerance)


def _verdict(found: Comparison, tolerance: float) -> str:
    if found.same:
        how = "within the tolerance of" if tolerance and found.largest else "bit for bit those of"
        return f"the results are {how} plain execution"
    said = []
    if found.differences:
        said.append(f"{len(found.differences):,} of {found.tensors:,} tensors differ")
    if found.wrong_operation is not None:
        said.append(f"the first operation that read wrong bytes is {found.wrong_operation}")
    return "; ".join((*said, *found.wrong_figures))


def _table(differences: tuple[Difference, ...]) -> Grid:
    return Grid(
        columns=("tensor", "wrong bytes", "of", "difference"),
        rows=[
            (
                each.tensor,
                f"{each.wrong_bytes:,}",
                f"{each.size_bytes:,}",
                "" if each.largest is None else f"{each.largest:.3g}",
            )
            for each in differences[:SHOWN]
        ],
        left=("tensor",),
    )


def execution_record(
    problem: Problem, result: Result, found: Comparison, *, kernels: str, tolerance: float
) -> dict[str, object]:
    """Return the same for programs."""
    return {
        "problem": problem.name,
        "scheduler": result.scheduler,
        "kernels": kernels,
        "tolerance": tolerance,
        "commands": {kind.name.lower(): count for kind, count in found.counts.items()},
        **fields_by_name(found, "same", "loaded_bytes", "stored_bytes", "peak_spm_bytes"),
        **fields_by_name(found, "tensors", "compared_bytes", "wrong_operation"),
        "largest_difference": _number(found.largest),
        "wrong_figures": list(found.wrong_figures),
        "differences": [
            {**asdict(each), "largest": _number(each.largest)} for each in found.differences
        ],
    }


def _number(value: float | None) -> float | str | None:
    """Return a number that JSON has; else in words."""
    return value if value is None or isfinite(value) else "not a number"
