"""A window of a schedule: a run of steps to decide anew, between the steps before and after.

Bytes are in whole pages, tensors and operations are numbered within the window. After its own
steps a window has some more, the *tail*, whose decisions are fixed: so transfers put off to later
steps show.
"""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.problem import Problem

MOST_USES = 300
"""Uses of tensors up to which CP-SAT is asked about a whole problem, not about windows only."""


def decide_together(problem: Problem) -> bool:
    """Whether a problem is small enough to be a window of its own."""
    # Variables of the model grow with uses, not with operations.
    uses = sum(len({*each.reads, *each.writes}) for each in problem.operations)
    return uses <= MOST_USES


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOperand:
    """How a mapping uses a tensor; ``needed``: its results are, afterwards."""

    tensor: int
    reads: bool
    writes: bool
    fetches: int
    required_resident: bool
    needed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMapping:
    """A mapping of an operation."""

    cycles: int
    scratch_pages: int
    operands: tuple[WindowOperand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTensor:
    """A tensor that the window uses, or finds on chip, or leaves there.

    Attributes
    ----------
    pages, size_bytes
        Of the tensor.
    held
        Pages resident as it is now: in the step before the window, and in each of its steps.
    stored
        Pages that each of its steps stores as it is now.
    valid
        Pages valid in DRAM when the window begins, a suffix.
    live, due
        The contents are needed when the window begins; pages that must be valid in DRAM after
        its own steps, None if the contents are not needed then.
    arrived, left
        Cycle at which loads, and at which stores and streams out, of earlier steps have ended.
    """

    pages: int
    size_bytes: int
    held: tuple[int, ...]
    stored: tuple[int, ...]
    valid: int
    live: bool
    due: int | None
    arrived: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWindow:
    """Decisions in a window: order, mappings, residency, stores.

    Attributes
    ----------
    steps
        Of its own; the tail has those of ``operations`` beyond.
    operations, mapping
        The mappings of each step's operation, and which one it runs now.
    before
        Pairs of the window's own operations, of which the first runs before the second.
    barriers
        Time is that of steps which begin when the one before has ended, else of the replay.
    whole
        Tensors are resident in full or not at all.
    free
        Cycle from which each channel is free; 0 is the end of the operation before the window.
    page_cycles
        A page's time on a channel, as a fraction.
    """

    steps: int
    operations: tuple[tuple[WindowMapping, ...], ...]
    mapping: tuple[int, ...]
    before: tuple[tuple[int, int], ...]
    tensors: tuple[WindowTensor, ...]
    spm_pages: int
    page_bytes: int
    setup_cycles: int
    page_cycles: tuple[int, int]
    barriers: bool
    whole: bool
    free: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDecision:
    """Decisions.

    Attributes
    ----------
    operation, mapping
        The window's own operations in their new order, by their number, and their mappings.
    held, valid
        Of each tensor in each of the window's own steps: pages resident, and pages valid in
        DRAM after it.
    stored
        Whether the step stores some of it.
    cycles
        When all of window and tail has ended, about (:mod:`formulations.step_windows`).
    work_s
        Work counted, in seconds.
    """

    operation: tuple[int, ...]
    mapping: tuple[int, ...]
    held: tuple[tuple[int, ...], ...]
    valid: tuple[tuple[int, ...], ...]
    stored: tuple[tuple[bool, ...], ...]
    cycles: float
    work_s: float
