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
* An operand is taken in only if it saves more bytes per step than its victims cost. Of one
  step's operands, those that save the most per byte come first, as they do not displace each
  other. Where a required-resident operand or scratch needs their room, the smallest give way.

By pages, victims are trimmed by exactly the pages needed, as long as their rate is below the
operand's. Passes, bypass and prefetch are as in ``belady``.

Measured in bytes moved, without prefetch. On 2000 random traces that only read, of 6 to 16
steps and sizes 1 to 8, whole tensors: ``belady`` is worse than the optimum on 18.9 %, by 2.0 % on
average and up to 1.83 times, this rule on 13.2 %, 1.0 % and 1.39 times. On 579 random problems
with writes, scratch and required-resident operands: 31.4 %, 8.2 % and 3.4 times against 22.3 %, 4.0
% and 2.0 times; against each other, ``belady`` is worse on 17.4 %, this rule on 3.8 %. By pages
both are optimal for traces that only read. ResNet-50 training, 128 MB: 14.64 GB against 11.54 GB,
and by pages 12.19 GB against 10.23 GB; most of that is the order in which operands are taken in,
which alone brings ``belady`` to 11.72 GB.

Tried and not kept, all with operands taken in as listed: farthest first, and needless victims
stay (worse on 17.5 % of the traces that only read); admission by rate instead of bytes per step
(about as that); rates without write-backs (worse on 30.4 % of the problems with writes); the
smallest last victim that covers the rest (worse on 12.5 % of the traces that only read, but on
five networks between 0.6 % fewer and 2.1 % more bytes).
"""

from __future__ import annotations

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.policies.belady import distance
from spmopt.policies.outcome import rank_outcomes
from spmopt.policies.residency.byte_aware import keep_by_bytes


def belady_size(problem: Problem, request: Request, *, granularity: str = "tensor") -> Result:
    """Bring in an operand only at the cost of tensors that lose fewer bytes per step.

    The order is the problem's, the mappings are the first that fit. ``granularity`` is ``tensor``,
    or ``page`` to keep heads of tensors.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return rank_outcomes(problem, request, distance, granularity, keep_by_bytes)
