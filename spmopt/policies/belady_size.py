"""Belady's rule where tensors differ in size and in write-back: bytes per step of absence.

After L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
Systems Journal 5(2), 1966, whose rule is optimal for clean pages of one size only. For those,
to evict the farthest next use is to lose the fewest bytes per page and step of absence. Here
that rate is the rule itself, so that sizes and write-backs count:

* A tensor costs its size if it goes (a load), twice that if it is dirty and DRAM would not
  get these contents anyway (a write-back and a load), nothing if they are not read again; a
  step of absence costs that over the number of steps until the next use.
* Victims are taken by rate, lowest first, until there is room; then those that turn out not
  to be needed stay, the highest rates first (a large victim often makes smaller ones needless).
* An operand is taken in only if it saves more bytes per step than its victims cost.

By pages, victims are trimmed by just what is needed, as long as their rate is below the
operand's. Passes, bypass and prefetch are as in ``belady``.

Tried and not kept: farthest first with needless victims kept (the second point alone); the
smallest last victim that covers the rest; rates without write-backs; admission by rate instead
of bytes per step.
"""

from __future__ import annotations

from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline
from spmopt.policies.belady import distance
from spmopt.policies.outcome import policy_outcome
from spmopt.policies.residency.byte_aware import keep_by_bytes


def belady_size(instance: Instance, request: Request, *, granularity: str = "whole") -> Outcome:
    """Bring in an operand only at the cost of tensors that lose fewer bytes per step.

    The order is the instance's, the modes are the first that fit. ``granularity`` is ``whole``,
    or ``page`` to keep heads of tensors.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """

    def rule(timeline: Timeline, reserve_pages: int) -> Plan:
        ranking, partial = distance(timeline), granularity == "page"
        return keep_by_bytes(instance, timeline, ranking, reserve_pages, partial=partial)

    return policy_outcome(instance, request, rule, granularity=granularity)
