"""Bound of dual values on the replay, which has no barriers between steps.

**Claim.** For any dual values that :func:`replay_bound` accepts, every legal schedule in the
certificate's order replays at least at the cost returned (PROBLEM.md, section 5).

**Proof.** As that of :mod:`spmopt.verifier.bound`, with the time between instants in place of
steps (:mod:`spmopt.core.instants`). Let operation i run from ``s_i`` to ``e_i``, ``e_-1 = 0``.
Transfers that run while it does take at most ``e_i - s_i``, which is ``c_i`` at least; those
between operations, and after the last, at most ``s_i - e_(i-1)`` and the rest of the time. So

* a byte that moves while operation i runs costs at least its dual value ``in_i`` or ``out_i``, with
  ``rho_i >= 0`` and ``beta in_i + rho_i <= w`` (duplex: the sum of both), the computation
  ``rho_i c_i``;
* one that moves between operations, or at the end, ``w / beta`` (duplex: the dual values of
  operation i, which is next; at the end a store ``w / beta``).

A page belongs to a tensor from the moment when a load begins to fill it, or the operation that
overwrites it starts, until its last use or store has ended: loads and operations wait for all that
used the page before. So at each instant the bytes that are held fit beside the scratch of the
operation that runs, and two dual values, at ``s_i`` and at ``e_i``, may be charged for a byte held
then, less their charge for the room. Where operations take no time, instants at one moment are told
apart by causality.

The rest is a sum over bytes. A byte that operation i finds on chip, or leaves there, is held
when the operation ends, and one that it writes from its start on; a byte kept between two uses is
held at all instants between; one that is loaded or stored, from or until the moment at which it
moves itself. No load brings results of operation i before it has ended, for loads wait for that.
Streams of operation i move while it runs, set-up included, and their contents are in DRAM before
(R3, R5). Of loads and stores the set-up may run beside another operation than a byte of theirs: it
is dropped. Loads and stores of required-resident operands never move while its own operation runs:
arcs before it starts, and after it has ended, stand for them. Bypassing tensors stream while their
operation runs, so that it takes as much off the time for all else as off that of steps. So the
events of a byte form a path over the same states and arcs, over instants.

An operation runs one of its mappings from its start to its end: it computes as long, its scratch
takes room at both instants, and its accesses are at the end. So payments for mappings, and for
rooms beside their scratch, are those of steps (:mod:`spmopt.verifier.mappings`), where resident
bytes are the operand bytes that are held at the end: with the scratch of the mapping that runs,
they fit. Among them may be bytes that the operation streams and that are loaded for later while it
runs. Their arc is from N to R, which costs no more: one move in place of the stream's and the load.
"""

from __future__ import annotations

from itertools import accumulate
from math import floor
from operator import mul

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instants import by_instants, bytes_held_early, spread
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.verifier.dual_check import CheckedDuals, at_start, check_magnitude
from spmopt.verifier.paths import all_paths
from spmopt.verifier.setups import setups_of_streams


def replay_bound(
    problem: Problem, certificate: Certificate, line: Timeline, duals: CheckedDuals, room: Ints
) -> int:
    """Return the sum of paths, computing and room, in units of ``2**-bits``.

    ``duals`` are those of the certificate's steps, ``room`` (n,) bytes beside scratch.

    Raises
    ------
    InputError
        Dual values at starts that are not legal; a machine that the proof knows nothing of.
    """
    if problem.machine.banks or certificate.holds_for:
        raise InputError("certificate: of the replay it takes no banks and no class")
    held_at_start = at_start(certificate, line.steps)
    objective, into, out = certificate.objective, duals.load, duals.store
    scale = 2**certificate.bits
    added_in, added_out = (
        floor(each * scale) for each in (objective.dram_in_byte, objective.dram_out_byte)
    )
    time = floor(objective.cycle * scale / problem.machine.bytes_per_cycle)
    firm_in, firm_out = time + added_in, time + added_out
    duplex = problem.machine.duplex
    idle_in = into if duplex else np.full_like(into, firm_in)
    idle_out = out if duplex else np.full_like(out, firm_out)
    load = spread(idle_in, into, into, added_in if duplex else firm_in)
    store = spread(idle_out, out, out, firm_out)
    hold = spread(np.zeros_like(held_at_start), held_at_start, duals.hold, 0)
    at_instants = by_instants(line)
    # What is required-resident moves between operations, never while its own one runs.
    firm = [np.full_like(load, firm_in), np.full_like(load, firm_out)]
    magnitudes = hold.tolist(), firm[0].tolist(), firm[1].tolist()
    check_magnitude(*magnitudes, at_instants, duals.most_uses)
    priced = CheckedDuals(
        hold=hold,
        held=np.array([0, *accumulate(hold.tolist())], np.int64),
        load=load,
        store=store,
        firm_load=firm[0],
        firm_store=firm[1],
        cycle=[],
        uses=duals.uses,
        rooms=duals.rooms,
        most_uses=duals.most_uses,
        unpacked=duals.unpacked,
        packed=duals.packed,
    )
    setups = setups_of_streams(problem, certificate, load.size)
    total: int = all_paths(at_instants, priced, (), bytes_held_early(line), setups)
    total += sum(map(mul, duals.cycle, line.compute_cycles.tolist()))
    held: int = sum(map(mul, (held_at_start + duals.hold).tolist(), room.tolist()))
    return total - held
