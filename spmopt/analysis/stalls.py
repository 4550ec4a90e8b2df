"""The stall of every step, shared out among its transfers and the ports of banks.

With ``L`` and ``S`` the loads of required-resident operands and stores of required-resident
results, and ``O`` the time of the other commands of the channel (duplex: of the busier one), rule
R6 reads::

    d - c = L + S + max(0, O - c)

So the computation hides as much of ``O`` as it takes itself, and nothing of ``L`` and ``S``: these
are stall in full, the others in proportion to their time.

Where banks of the scratchpad have ports, the operation lasts as long as the busiest of them at
least, and ``c`` above is that; its excess over computing is stall due to the *port*, unless
the channel is busy for longer still: then all is due to the channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spmopt.core.schedule import Command
from spmopt.core.table import Bools, Ints
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.arrays import DURING
from spmopt.verifier.durations import Durations, per_step


class Cause(IntEnum):
    """Causes of a step's stall.

    ``REQUIRED_RESIDENT``: its loads of required-resident operands before, its stores of
    required-resident results after the computation. The others are transfers beside it:
    ``PREFETCH`` loads for later steps, ``LOAD`` those for the step itself. ``PORT``: the port of a
    bank, no transfer.
    """

    NONE = 0
    REQUIRED_RESIDENT = 1
    PREFETCH = 2
    LOAD = 3
    STREAM_IN = 4
    STORE = 5
    STREAM_OUT = 6
    PORT = 7

    @property
    def words(self) -> str:
        """As people read it."""
        return "bank port" if self is Cause.PORT else self.name.lower().replace("_", " ")


@dataclass(frozen=True, kw_only=True, eq=False)
class StallShares:
    """Every command (k,), in the order of the schedule.

    Attributes
    ----------
    cause
        The :class:`Cause` that it is.
    cycles
        Time that it takes.
    stall_cycles
        Part of the stall of its step that is due to it.
    by_cause : (causes, n)
        Stall of every step.
    """

    cause: Ints
    cycles: Ints
    stall_cycles: Ints
    by_cause: Ints


def inward(view: ScheduleArrays) -> Bools:
    """Return (k,) commands into the scratchpad."""
    kind = view.schedule.commands.kind
    into: Bools = (kind == Command.LOAD) | (kind == Command.STREAM_IN)
    return into


def bytes_moved(view: ScheduleArrays) -> Ints:
    """Return (k,) bytes that each command moves over the DRAM boundary."""
    return view.command_bytes


def stalls(view: ScheduleArrays, time: Durations) -> StallShares:
    """Share out ``d - c`` of every step of a legal schedule.

    By cause it adds up to the stall exactly; commands share the part that is not due to a port.
    """
    line, step = view.timeline, view.schedule.commands.step
    cycles = time.command
    serial = view.command_phase != DURING
    beside = ~serial
    if view.problem.machine.duplex:
        into = inward(view)
        # Only the busier direction of a duplex channel makes the step longer.
        busier = per_step(np.where(into, cycles, -cycles) * beside, step, line.steps) >= 0
        beside &= into == busier[step]
    stall = time.step - line.compute_cycles
    share = np.where(serial, cycles, 0)
    over = stall - per_step(share, step, line.steps)
    port = time.operation - line.compute_cycles
    # The longer of port and channel decides; the other hides behind it.
    port = np.where(over > port, 0, port)
    over -= port
    share += split(over, np.where(beside, cycles, 0), step)
    cause = np.where(serial, Cause.REQUIRED_RESIDENT, _kinds(view))
    by_cause = np.zeros((len(Cause), line.steps), np.int64)
    np.add.at(by_cause, (cause, step), share)
    by_cause[Cause.PORT] = port
    return StallShares(cause=cause, cycles=cycles, stall_cycles=share, by_cause=by_cause)


def split(total: Ints, weight: Ints, group: Ints) -> Ints:
    """Return (k,) parts of ``total`` of each group, in proportion to ``weight``, that add up to it.

    Rounded so that sums over first rows are rounded up. ``group`` never decreases; a group whose
    weights are all 0 gets nothing.
    """
    sums = per_step(weight, group, total.size)
    upto = np.cumsum(weight)
    start = np.cumsum(sums) - sums
    whole, below = total[group], np.maximum(sums[group], 1)
    exact = int(total.max(initial=0)) * int(sums.max(initial=0)) < 2**62
    if not exact:  # Python's integers where 64 bits would overflow
        whole, below = whole.astype(object), below.astype(object)

    def share(sofar: Ints) -> Ints:
        return np.asarray(-(-(whole * sofar) // below), np.int64)

    # Differences of rounded running sums: parts add up to the total exactly.
    return share(upto - start[group]) - share(upto - weight - start[group])


def _kinds(view: ScheduleArrays) -> Ints:
    """Return the cause that every command would be, required-resident or not."""
    kind = view.schedule.commands.kind
    load = np.where(view.command_access >= 0, Cause.LOAD, Cause.PREFETCH)
    out = np.where(kind == Command.STORE, Cause.STORE, Cause.STREAM_OUT)
    return np.where(inward(view), np.where(kind == Command.LOAD, load, Cause.STREAM_IN), out)
