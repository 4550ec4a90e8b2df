"""A lower bound from dual values, in exact integers: no solver is needed, nor trusted.

**Claim.** For any dual values that :func:`bound` accepts, every legal schedule that runs the
problem in the certificate's order costs at least the number returned (PROBLEM.md, section 5).

**Proof** (weak duality). Let ``w`` be the objective's weight of a cycle, ``beta`` the bytes per
cycle, and ``pi_i, in_i, out_i >= 0`` the dual values of step i. With ``rho_i >= 0`` and

* ``beta (in_i + out_i) + rho_i <= w`` on a duplex machine,
* ``beta in_i + rho_i <= w`` and ``in_i = out_i`` on one with a single channel,

rule R6 gives (duplex; a single channel likewise, with ``X`` for the first two terms)::

    w d_i >= beta in_i (IN + S) + beta out_i (L + OUT) + rho_i (L + c + S)

where ``IN``, ``OUT``, ``L``, ``S`` are at least the bytes / beta of those commands. So each byte
moved in step i costs at least its direction's dual value, a byte of ``L`` or ``S`` (a load of a
required-resident operand, a store of a required-resident result) at least ``firm_i = in_i + out_i +
rho_i/beta`` (``in_i + rho_i/beta`` on a single channel), and the computation ``rho_i c_i``. The
objective's own dual value of a byte comes on top.

By R1 ``sum_t r_t(i) <= room_i = g floor(C/g) - g ceil(b_i/g)``; so ``pi_i (sum_t r_t(i) - room_i)``
is not positive and may be added. Now the cost is a sum over single bytes of tensors: each pays for
being resident and for being moved. The events of a byte in a legal schedule form a path over the
states

* N: valid in DRAM only; R: in SPM and DRAM; D: dirty, in SPM only; U: of no further use

along the arcs of :mod:`spmopt.verifier.paths` (R2 to R5, R7), so it pays at least the shortest
path, which is the same for all bytes of a tensor. Of the replay there is a proof of its own
(:mod:`spmopt.verifier.replay_bound`). Several mappings: a byte takes the least arc of all of them,
and each step the least mapping (:mod:`spmopt.verifier.mappings`). Set-ups of commands are added to
paths (:mod:`spmopt.verifier.setups`);
rounding up and the waste of part-filled pages are dropped.

A certificate may name a class of schedules, and then proves nothing about others: *whole tensors*,
of which each is resident in full or not at all in a step that uses it. Tensors that can be resident
in no mapping of such a step have no arc through R or D there
(:func:`spmopt.verifier.paths.never_resident`).

All dual values are integers in units of ``2**-bits`` of the objective per byte, and whatever is
divided (weights, ``rho``) is rounded down, which weakens the bound and keeps it valid. Costs of
banks are in :mod:`spmopt.verifier.bank_bound`.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul

from spmopt.core.bypass import without_bypass
from spmopt.core.errors import InputError, unknown
from spmopt.core.order import reorder
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE_TENSORS, Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, relax_timeline, timeline_of_mappings
from spmopt.verifier.dual_check import CheckedDuals, step_duals
from spmopt.verifier.mappings import least_mappings
from spmopt.verifier.page_paths import page_paths
from spmopt.verifier.paths import all_paths, never_resident
from spmopt.verifier.setups import exact_setups, setups_of_steps

_CLASSES = (WHOLE_TENSORS,)


def bound(
    problem: Problem, certificate: Certificate, holds_for: str = "", *, pages: bool = True
) -> Fraction:
    """Return the lower bound that ``certificate`` proves, exact, in units of its objective.

    It is one for all legal schedules in the certificate's order, or for those of the class
    ``holds_for``, which must be the certificate's: that of a class is never taken for one of all.
    Without ``pages`` it is by single bytes alone, and the same for pages of any size.

    Raises
    ------
    InputError
        Dual values that are not legal, do not match the problem, or overflow 64 bits; an order that
        no schedule of the problem has; another class, or one that is not known.
    """
    # A class is part of the claim: a bound of fewer schedules must never pass for one of all.
    if certificate.holds_for not in ("", *_CLASSES):
        raise InputError(f"certificate: {unknown('class', certificate.holds_for, _CLASSES)}")
    if certificate.holds_for != holds_for:
        names = (name or "all schedules" for name in (certificate.holds_for, holds_for))
        raise InputError("certificate: its dual values are for {}, not for {}".format(*names))
    # Weak duality needs no optimality, but it does need the order: paths run along the steps.
    if certificate.order is not None:
        problem = reorder(problem, certificate.order)
    # What tensors that bypass the scratchpad cost is the same for all schedules (section 2).
    remainder = without_bypass(problem)
    problem = remainder.problem
    # The theorem of banks knows the least of each figure alone.
    by_mapping = not problem.machine.banks
    line = timeline_of_mappings(problem) if by_mapping else relax_timeline(problem)
    if not by_mapping and not (certificate.uses is None and certificate.rooms is None):
        raise InputError("certificate: of banks it has no dual values of mappings")
    duals = step_duals(problem, certificate, line)
    machine, objective = problem.machine, certificate.objective
    # R1: scratch takes whole pages, so that the rest is floor(C/g) - ceil(b/g) pages.
    room = machine.page_bytes * (machine.spm_pages + (-line.scratch_bytes // machine.page_bytes))
    if certificate.spm_at_start is not None and not objective.replayed:
        raise InputError("certificate: dual values at starts prove nothing but for the replay")
    # Each theorem is imported where it is asked for: most certificates need steps alone.
    if objective.replayed:
        from spmopt.verifier.replay_bound import replay_bound

        total: int | Fraction = replay_bound(problem, certificate, line, duals, room)
    else:
        total = _of_steps(problem, certificate, line, duals, room, pages=pages)
    if by_mapping:
        total += least_mappings(problem, certificate, line, duals)
    # The same in every schedule: figures of the mappings, the least where there are several.
    of_mappings = (line.spm_read_bytes, line.spm_write_bytes, line.macs, line.own_picojoules)
    fixed = objective.of_mappings(*(sum(column.tolist()) for column in of_mappings))
    fixed += remainder.streams.value(objective)
    return Fraction(total) / (1 << certificate.bits) + fixed


def _of_steps(
    problem: Problem,
    certificate: Certificate,
    line: Timeline,
    duals: CheckedDuals,
    room: Ints,
    *,
    pages: bool,
) -> int | Fraction:
    """Return the sum of paths, computing and room with barriers, in units of ``2**-bits``."""
    holds_for = certificate.holds_for
    if problem.machine.banks and holds_for:
        raise InputError(f"certificate: with banks there is no bound for {holds_for}")
    total: int | Fraction
    if problem.machine.banks:
        from spmopt.verifier.bank_bound import bank_paths

        total = bank_paths(problem, certificate, line, duals)
    else:
        # All schedules may hold parts, so that only the class excludes these accesses.
        absent = never_resident(problem) if holds_for else ()
        setups = setups_of_steps(problem, certificate, duals)
        total = all_paths(line, duals, absent, setups=setups)
        if pages and not holds_for:
            exact = exact_setups(problem, certificate, duals)
            paged = page_paths(problem.machine, line, duals, exact)
            # Both hold; by bytes alone tensors may be parted, in pages they move as a whole.
            total = total if paged is None else max(total, paged)
    # Python integers: rho may exceed 64 bits, and the sum of products does.
    total += sum(map(mul, duals.cycle, line.compute_cycles.tolist()))
    held: int = sum(map(mul, duals.hold.tolist(), room.tolist()))
    return total - held
