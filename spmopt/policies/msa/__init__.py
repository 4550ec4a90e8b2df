"""Memory space assignment by benefit, as XLA does it (openxla/xla, ``memory_space_assignment``).

After the public description of the pass: its header's glossary of use segments, no-copy and
copy allocations, the cost analysis and the picker of prefetch intervals. Values are taken in
the order of their memory benefit over the square root of their size, and each use segment
(definition to first use, use to next use) gets the first of

1. no copy: the value remains on chip over the segment, if there is room and it is not too long;
2. prefetch: a copy from DRAM in a window before the use, as long as room and DMA time allow,
   nearest to the preferred overlap of copy and computation;
3. DRAM: the operation streams it.

A value that must leave with contents that DRAM lacks is evicted by a copy after its last use,
or else from its last write on.

Departures. Addresses: pages need not be contiguous, so nothing is repacked. Required-resident
operands have their pages reserved first; without a prefetch they load in the step that uses
them, and may remain from there on. An eviction without DMA time is made in the step of the last
write, at the cost of streaming it (XLA takes the whole value back to DRAM). Copies take free DMA
time from the start of their window on and never move each other; both directions share that
time unless the machine is duplex (XLA counts each by itself; on the networks tried, makespans
differ by less than 0.1 %). An eviction frees its room when the copy ends. In the step
model the bytes of a copy move in the steps of its window; the buffer is occupied from its
first step on. There are no loops, no asynchronous slices and no cross-program prefetches.
"""

from __future__ import annotations

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.policies.msa.assignment import Assignment
from spmopt.policies.policy import in_first_mappings

__all__ = ["msa"]


def msa(
    problem: Problem, request: Request, *, copies: str = "elapsed", late: str = "stream"
) -> Result:
    """Place values by memory benefit, copying in windows of elapsed time.

    The order is the problem's, the mappings are the first that fit.

    Parameters
    ----------
    problem, request
        The objective is not heeded.
    copies
        DMA time that copies may use in a step: ``elapsed``, the duration of the step with all
        operands in DRAM (as published), or ``idle``, the compute time that its streams leave.
    late
        Treatment of an operand without a prefetch: ``stream`` it (as published), or
        ``load`` it as it streams where it can remain until its next use.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    request.report("assigning values", None)
    arrays = fitting_timeline(problem)
    idle_only, load_late = copies == "idle", late == "load"
    assignment = Assignment(problem.machine, arrays, idle_only=idle_only, load_late=load_late)
    return in_first_mappings(problem, assignment.residency_plan())
