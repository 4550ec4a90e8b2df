"""Double buffering: one half of the scratchpad computes while the other is emptied and filled.

J. Kim et al., "Improving Data Reuse in NPU On-chip Memory with Interleaved Gradient Order for DNN
Training", MICRO 2023, sections 4.2 and 6.1, whose baseline and techniques all run so. The paper
says only that a reused tensor is loaded again "when the distance exceeds the number of tiled
computations that can be loaded in half of the SPM". Here:

* *Batches.* Consecutive operations are a batch as long as all their operands together, in whole
  pages, and the largest scratch fit in half of the scratchpad.
* *Transfers.* While a batch computes, the results of the one before leave and the operands of the
  next come, at a rate that is even over the batch's compute time. Results leave first.
* *Reuse.* Tensors used by two consecutive batches remain between them (``shared``); tensors used
  again only later leave, and return. With ``none`` a tensor leaves after each batch. With ``sums``
  partial sums that would return remain, as far as there is room beside twice the operands of the
  largest operation, and batches share the rest (section 4.3: "intermediate results are stored in
  the SPM to the extent possible").

Departures, all because a schedule moves bytes in steps. A tensor that returns must have been
away for a step: resident bytes cannot be loaded (R2). So it remains over a batch of one
operation (in the half that is refilled), and with ``none`` if its last use is one of the last two
operations of its batch. Where results on their way out would be in the way of loads (R1), as much
of them as must be is stored when their own batch ends, if need be after its last operation.
Operands of the first batch come as late as possible before their use, the results of the last one
go as soon as they are there. Dead contents are not stored.

An operation that needs more than half of the scratchpad is a batch of its own, in all of it;
nothing is then loaded or stored beside it or its neighbors. Of its operands those that are not
required-resident stream. Operands of other operations are all held, required-resident or not.
"""

from __future__ import annotations

from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline
from spmopt.policies.double_buffer.batches import batch
from spmopt.policies.double_buffer.spread import spread
from spmopt.policies.gaps import plan_of, whole_gaps
from spmopt.policies.policy import in_first_mappings

__all__ = ["buffer", "double_buffer"]


def double_buffer(problem: Problem, request: Request, *, reuse: str = "shared") -> Result:
    """Schedule in the problem's own order; the mappings are the first that fit.

    Parameters
    ----------
    problem, request
        The objective is not heeded.
    reuse
        ``shared``: tensors that two consecutive batches use remain; ``none``: it is loaded
        again; ``sums``: as ``shared``, and partial sums remain to the extent possible.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    del request
    arrays = fitting_timeline(problem)
    residency_plan = buffer(problem.machine, arrays, reuse=reuse)
    return in_first_mappings(problem, residency_plan)


def buffer(machine: Machine, timeline: Timeline, *, reuse: str) -> ResidencyPlan:
    """Plan by batches."""
    cut, rows = batch(machine, timeline, reuse)
    loads, stores = spread(machine, timeline, cut, rows)
    return plan_of(whole_gaps(timeline, rows.used()), stores, loads)
