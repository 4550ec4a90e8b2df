"""The mapping of each step in the bound, where an operation has several.

**Claim.** Let ``nu_tim`` be any numbers, one for each tensor t that step i uses and each mapping m
of its operation, and ``kappa_im >= 0`` one for each mapping. Then every legal schedule costs at
least

    sum_t s_t DP_t(nu, kappa)
    + sum_i min_m (rho_i c_im + pi_i g ceil(b_im / g) + fixed_im - sum_t s_t nu_tim
                   - kappa_im g (floor(C / g) - ceil(b_im / g)))
    - sum_i pi_i g floor(C / g)

where a byte of t takes the arcs of any mapping at i, with that mapping's fetches and needs of
residency, and pays ``nu_tim`` on each, and ``kappa_im`` too on those that leave it resident in the
step. ``fixed_im`` are bytes of the scratchpad, MACs and energy of its own, at the objective's
weights.

**Proof.** A schedule runs one mapping m in step i. Each byte of t pays ``nu_tim`` there, whatever
it does, so ``s_t nu_tim`` in all; the step gives back as much. Resident bytes of its operands pay
``kappa_im``; there is room for no more of them than the step gives back (R1), in whole pages too.
The rest is the cost of :mod:`spmopt.verifier.bound` with the figures of m. The path and the
step each take their least over all mappings, which is no more. The same holds where a tensor is
decided as a whole (:mod:`spmopt.verifier.page_paths`).

Of the replay ``pi_i`` is the sum of the dual values at the operation's two instants, at both of
which its scratch takes room; a byte pays ``nu_tim`` where its accesses are, at the end, and
``kappa_im`` if it is held then.

The numbers ``kappa`` are duals of "resident in m fits beside the scratch of m, as far as m runs".
Without them half of a step may run a mapping of little scratch, whose operands fill the scratchpad,
and half one of much: each is given room that the other has.

With ``nu`` 0 that is no less than the least of each figure by itself.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from spmopt.core.mappings import fits_alone
from spmopt.core.operation import FIGURES, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.timeline import Timeline
from spmopt.verifier.dual_check import CheckedDuals, at_start


def least_mappings(
    problem: Problem, certificate: Certificate, line: Timeline, duals: CheckedDuals
) -> Fraction:
    """Return how far the least mapping of each step is above the least of each of its figures.

    In units of ``2**-bits``.

    Parameters
    ----------
    line, duals
        A timeline of mappings, whose figures of steps are the least of each, and the dual values.
    """
    objective, page = certificate.objective, problem.machine.page_bytes
    # Of the replay scratch takes room at both instants of an operation.
    held_of = duals.hold + at_start(certificate, line.steps)
    unit, total = 1 << certificate.bits, Fraction(0)

    def cost_of(step: int, mapping: OpMapping, room_dual: int = 0) -> Fraction:
        pages = -(-mapping.scratch_bytes // page)
        of_mapping = objective.of_mappings(
            mapping.spm_read_bytes, mapping.spm_write_bytes, mapping.macs, mapping.own_picojoules
        )
        held = int(held_of[step]) * page * pages
        held -= room_dual * page * (problem.machine.spm_pages - pages)
        return duals.cycle[step] * mapping.compute_cycles + held + of_mapping * unit

    # No schedule runs a mapping that does not fit (R1, R3).
    fit, first = fits_alone(problem).tolist(), problem.operands.first_mapping.tolist()
    for step, (begin, end) in enumerate(pairwise(line.first.tolist())):
        mappings = problem.operations[step].mappings
        if len(mappings) == 1:
            continue
        sizes = [int(line.size_bytes[tensor]) for tensor in line.tensor[begin:end].tolist()]
        uses = [0] * len(sizes) if duals.uses is None else duals.uses[begin:end].tolist()
        # Rows are by operand, then by mapping.
        earned = [size * use for size, use in zip(sizes, uses, strict=True)]
        count = len(mappings)
        rooms = [0] * count
        if duals.rooms is not None and end > begin:  # without operands nothing pays
            rooms = duals.rooms[begin : begin + count].tolist()
        costs = [
            cost_of(step, each, rooms[m]) - sum(earned[m::count]) for m, each in enumerate(mappings)
        ]
        fitting = [cost for m, cost in enumerate(costs) if fit[first[step] + m]]
        figures = {name: int(getattr(line, name)[step]) for name in FIGURES}
        total += min(fitting or costs) - cost_of(step, OpMapping(operands=(), **figures))
    return total
