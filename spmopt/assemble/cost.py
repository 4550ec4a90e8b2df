"""Exact time, traffic and objective of DMA commands, steps and plans, in integers.

The one place of this arithmetic for everything that makes schedules; the verifier recomputes all
of it on its own. In the symbols of PROBLEM.md (sections 1 and 3):

* a command that moves ``x > 0`` bytes takes ``lambda + ceil(x f / beta)`` cycles; of a compressed
  tensor it moves fewer than it puts on chip, rounded up;
* R2: a step loads the growth of a tensor's resident prefix, unless its operation overwrites it;
* R3, R4: an access streams ``s_t - r_t(i)`` bytes, ``p`` times in if it reads them and ``p`` times
  out if it writes a live result, whose partial sums also come in ``p - 1`` times if it only writes;
* R5: stores are those of the residency plan;
* R6: ``d_i = max(X_i, L_i + c_m + S_i)``; with duplex
  ``max(in_i + S_i, L_i + out_i, L_i + c_m + S_i)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spmopt.assemble.commands import loads_of, stream_fetches
from spmopt.assemble.index import access_at, flag, resident_bytes
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, timeline

_INT64_LIMIT = 2**63 - 1


def transfer_cycles(machine: Machine, size_bytes: Ints) -> Ints:
    """Cycles of DMA commands that move ``size_bytes`` each: ``lambda + ceil(x f / beta)``."""
    rate = machine.bytes_per_cycle
    largest = int(size_bytes.max(initial=0)) * rate.denominator
    # Python integers where the product would not fit 64 bits.
    exact = size_bytes.astype(object) if largest > _INT64_LIMIT else size_bytes
    # Rounded up per command: PROBLEM.md has whole cycles.
    busy = -(-(exact * rate.denominator) // rate.numerator)
    cycles: Ints = (busy + machine.dma_setup_cycles).astype(np.int64)
    return cycles


def sum_up(length: int, place: Ints, values: Ints) -> Ints:
    """Return (length,) sums of the ``values`` that fall on each place."""
    total = np.zeros(length, np.int64)
    # Not ``bincount``: its sums are floats, exact to 2^53 only.
    np.add.at(total, place, values)
    return total


def step_time(
    machine: Machine, *, compute: Ints, inward: Ints, outward: Ints, before: Ints, after: Ints
) -> Ints:
    """Return (n,) durations ``d_i`` by R6, in the unit of the arguments.

    Parameters
    ----------
    machine
        With one channel, or two if ``duplex``.
    compute : (n,)
        ``c_m``.
    inward, outward : (n,)
        All DMA time of each direction, ``in_i`` and ``out_i``.
    before, after : (n,)
        The parts of it that are loads of required-resident operands, ``L_i``, and stores of
        required-resident results, ``S_i``.
    """
    busy = inward + outward
    # Loads that the operation waits for, and stores that wait for it, frame both channels.
    if machine.duplex:
        busy = np.maximum(inward + after, before + outward)
    # R6: transfers overlap the computation except for serial ones.
    duration: Ints = np.maximum(busy, before + compute + after)
    return duration


@dataclass(frozen=True, kw_only=True, eq=False)
class ResidencyPlanCost:
    """Resources that a legal residency plan spends.

    Attributes
    ----------
    step_time : (n,)
        Duration of each step, in ``1 / parts`` of a cycle.
    parts
        1, but for a fluid plan the numerator of ``beta``, so that times are whole.
    dram_in_bytes, dram_out_bytes
        Traffic, as it moves.
    unpacked_bytes, packed_bytes
        Bytes on chip beyond it, of compressed tensors.
    """

    step_time: Ints
    parts: int
    dram_in_bytes: int
    dram_out_bytes: int
    unpacked_bytes: int
    packed_bytes: int

    def value(self, objective: Objective, line: Timeline) -> Fraction:
        """Return the objective, exact, of a machine without banks."""
        return (
            objective.cycle * Fraction(int(self.step_time.sum()), self.parts)
            + objective.dram_in_byte * self.dram_in_bytes
            + objective.dram_out_byte * self.dram_out_bytes
            + objective.unpacked_byte * self.unpacked_bytes
            + objective.packed_byte * self.packed_bytes
            + unavoidable(objective, line)
        )


def unavoidable(objective: Objective, line: Timeline) -> Fraction:
    """Return the part of the objective that no plan in this order and these mappings changes."""
    of_mappings = (line.spm_read_bytes, line.spm_write_bytes, line.macs, line.own_picojoules)
    return objective.of_mappings(*(int(column.sum()) for column in of_mappings))


def residency_plan_value(
    problem: Problem, residency_plan: ResidencyPlan, objective: Objective, *, fluid: bool = False
) -> Fraction:
    """Return the objective of a legal plan; ``fluid``: see :func:`residency_plan_cost`."""
    line = timeline(problem, residency_plan.steps)
    return residency_plan_cost(problem.machine, line, residency_plan, fluid=fluid).value(
        objective, line
    )


def residency_plan_cost(
    machine: Machine, line: Timeline, residency_plan: ResidencyPlan, *, fluid: bool = False
) -> ResidencyPlanCost:
    """Compute durations and traffic of a legal residency plan, without its commands.

    Parameters
    ----------
    machine
        Machine that it runs on.
    line
        The problem in the residency plan's order and mappings.
    residency_plan
        Tables in the form that :func:`spmopt.assemble.assemble` checks.
    fluid
        Sizes may be any number of bytes, and DMA takes no set-up and no whole cycles.
    """
    rate = machine.bytes_per_cycle
    parts = rate.numerator if fluid else 1

    def per_step(step: Ints, size_bytes: Ints) -> Ints:
        # In units of 1 / numerator of a cycle a fluid transfer is a whole number.
        time = size_bytes * rate.denominator if fluid else transfer_cycles(machine, size_bytes)
        return sum_up(line.steps, step, np.where(size_bytes > 0, time, 0))

    rows, load = residency_plan.residency, loads_of(line, residency_plan.residency)
    first, moved = rows.begin[load.row], line.moved
    loaded = rows.size_bytes[load.row] - load.begin
    load_bytes = moved.of(rows.tensor[load.row], loaded)
    pinned = flag(line.required_resident, load.access)
    before = per_step(first[pinned], load_bytes[pinned])
    store = residency_plan.stores
    pinned_result = flag(_required_resident_result(line), access_at(line, store.step, store.tensor))
    store_bytes = moved.of(store.tensor, store.size_bytes)
    after = per_step(store.step[pinned_result], store_bytes[pinned_result])
    # R3: the part that is not resident passes by on each fetch.
    missing = line.size_bytes[line.tensor] - resident_bytes(rows, line.step, line.tensor)
    named = tuple(missing * fetches for fetches in stream_fetches(line))
    into, out = (moved.of(line.tensor, each) for each in named)
    inward = before + per_step(first[~pinned], load_bytes[~pinned]) + per_step(line.step, into)
    outward = after + per_step(store.step[~pinned_result], store_bytes[~pinned_result])
    outward += per_step(line.step, out)
    compute = line.compute_cycles * parts
    dram_in = int(load_bytes.sum() + into.sum())
    dram_out = int(store_bytes.sum() + out.sum())
    return ResidencyPlanCost(
        step_time=step_time(
            machine, compute=compute, inward=inward, outward=outward, before=before, after=after
        ),
        parts=parts,
        dram_in_bytes=dram_in,
        dram_out_bytes=dram_out,
        unpacked_bytes=int(loaded.sum() + named[0].sum()) - dram_in,
        packed_bytes=int(store.size_bytes.sum() + named[1].sum()) - dram_out,
    )


def _required_resident_result(line: Timeline) -> Bools:
    """(a,) Whether a store of the bytes that the access leaves must wait for its operation's end.

    (R10).
    """
    result: Bools = line.required_resident & (line.kind != Access.READ)
    return result
