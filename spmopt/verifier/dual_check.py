"""The dual values of a certificate, checked, and their consequences for every step.

Used by both bounds: of a uniform scratchpad (:mod:`spmopt.verifier.bound`) and of one with banks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import floor, lcm

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

MOST_BITS = 4096
INFINITE = 2**61
LARGEST = 2**59
"""No path may cost more, so that 64 bits suffice for it and for ``INFINITE`` plus any path."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedDuals:
    """Per step, in units of ``2**-bits``: a byte held, moved in, moved out, and ``firm``.

    ``unpacked`` and ``packed``: of a byte on chip beyond those that move, on its way in and out.
    ``held`` (n + 1,) is the sum of ``hold`` over the steps before; ``cycle`` may be beyond 64 bits.
    ``uses`` (a,): payment of a byte in the mapping of each row of a timeline of mappings, and
    ``rooms`` (a,) of a resident byte; no byte pays more than ``most_uses`` in all, of either sign.
    """

    hold: Ints
    held: Ints
    load: Ints
    store: Ints
    firm_load: Ints
    firm_store: Ints
    cycle: list[int]
    uses: Ints | None = None
    rooms: Ints | None = None
    most_uses: int = 0
    unpacked: Fraction = Fraction(0)
    packed: Fraction = Fraction(0)

    def of_ratio(self, ratio: Fraction, line: Timeline | None = None) -> CheckedDuals:
        """Return the duals of a byte that moves as ``ratio`` of one, rounded down.

        ``line``: the timeline, if it is not known that sums along its paths do not overflow.
        """
        if ratio == 1:
            return self
        columns = (self.load, self.store, self.firm_load, self.firm_store)
        beyond = (1 - ratio) * self.unpacked, (1 - ratio) * self.packed
        load, store, firm_load, firm_store = (
            [max(0, floor(ratio * dual + more)) for dual in column.tolist()]
            for column, more in zip(columns, 2 * beyond, strict=True)
        )
        if line is not None:
            check_magnitude(self.hold.tolist(), firm_load, firm_store, line, self.most_uses)
        return replace(
            self,
            load=np.array(load, np.int64),
            store=np.array(store, np.int64),
            firm_load=np.array(firm_load, np.int64),
            firm_store=np.array(firm_store, np.int64),
        )


def step_duals(problem: Problem, certificate: Certificate, line: Timeline) -> CheckedDuals:
    """Check the certificate's dual values, and derive those of computation and firm commands."""
    objective, beta = certificate.objective, problem.machine.bytes_per_cycle
    columns = (certificate.spm, certificate.dram_in, certificate.dram_out)
    if any(column.shape != (line.steps,) for column in columns):
        raise InputError(f"certificate: needs one dual value for each of the {line.steps} steps")
    # Shifts by huge numbers of a damaged file would exhaust memory.
    if not 0 <= certificate.bits <= MOST_BITS:
        raise InputError(f"certificate: bits must be from 0 to {MOST_BITS}")
    if min(int(column.min()) for column in columns) < 0:
        raise InputError("certificate: dual values must not be negative")
    hold, inward, outward = (column.tolist() for column in columns)
    if problem.machine.duplex:
        channel = [a + b for a, b in zip(inward, outward, strict=True)]
    # One channel has one row (C5), hence one dual value.
    elif inward == outward:
        channel = inward
    else:
        raise InputError("certificate: on one channel dram_in and dram_out must be equal")
    channel = [a + b for a, b in zip(channel, _ports(problem, certificate), strict=True)]
    weight = objective.cycle * 2**certificate.bits
    # With ``common`` for their denominator, weight and beta are whole numbers.
    common = lcm(weight.denominator, beta.denominator)
    whole_weight, whole_beta = int(weight * common), int(beta * common)
    # rho = w - beta * channel >= 0 is dual feasibility (PROBLEM.md, section 5).
    left = [whole_weight - whole_beta * dual for dual in channel]
    if min(left) < 0:
        step = left.index(min(left))
        raise InputError(
            f"certificate: DMA dual values of step {step} exceed the dual value of its time"
        )
    # Rounded down: a smaller rho, and a smaller firm, only weaken the bound.
    rho = [value // common for value in left]
    firm = [dual + r * common // whole_beta for dual, r in zip(channel, rho, strict=True)]
    # Rounded down as well: the objective's own weight of a byte is at least this.
    add_in = floor(objective.dram_in_byte * 2**certificate.bits)
    add_out = floor(objective.dram_out_byte * 2**certificate.bits)
    firm_load, firm_store = ([dual + add for dual in firm] for add in (add_in, add_out))
    uses, rooms = _of_mappings(problem, certificate, line)
    most_uses = _most(line, uses, rooms)
    check_magnitude(hold, firm_load, firm_store, line, most_uses)
    return CheckedDuals(
        hold=np.array(hold, np.int64),
        held=np.array([0, *accumulate(hold)], np.int64),
        load=np.array([dual + add_in for dual in inward], np.int64),
        store=np.array([dual + add_out for dual in outward], np.int64),
        firm_load=np.array(firm_load, np.int64),
        firm_store=np.array(firm_store, np.int64),
        cycle=rho,
        uses=uses,
        rooms=rooms,
        most_uses=most_uses,
        unpacked=objective.unpacked_byte * 2**certificate.bits,
        packed=objective.packed_byte * 2**certificate.bits,
    )


def at_start(certificate: Certificate, steps: int) -> Ints:
    """Return (n,) dual values of bytes held when operations start, which the replay alone has."""
    found = certificate.spm_at_start
    if found is None:
        return np.zeros(steps, np.int64)
    if found.shape != (steps,) or int(found.min(initial=0)) < 0:
        raise InputError(f"certificate: spm_at_start needs {steps} dual values, none negative")
    return found


def _of_mappings(
    problem: Problem, certificate: Certificate, line: Timeline
) -> tuple[Ints | None, Ints | None]:
    """Return the payments for mappings of all rows, and for rooms; None of a relaxed timeline.

    In a timeline of mappings an access has as many rows as its operation has mappings.
    """
    counts = np.diff(problem.operands.first_mapping)
    several = counts[line.step] > 1
    # Of files of any origin: shapes, types and signs.
    uses = _checked(certificate.uses, int(several.sum()), "operand in each mapping")
    rooms = _checked(certificate.rooms, int(counts[counts > 1].sum()), "mapping")
    if rooms.size and int(rooms.min()) < 0:
        raise InputError("certificate: dual values of rooms must not be negative")
    if line.step.size == problem.operands.tensor.size:
        return None, None
    of_rows = np.zeros((2, line.step.size), np.int64)
    of_rows[0, several] = uses
    # Rows of a step are by operand, then by mapping.
    number = np.arange(line.step.size) - line.first[line.step]
    first = np.cumsum(np.where(counts > 1, counts, 0)) - counts
    of_rows[1, several] = rooms[(first[line.step] + number % counts[line.step])[several]]
    return of_rows[0], of_rows[1]


def _checked(given: Ints | None, size: int, row: str) -> Ints:
    """Return dual values of mappings, zeros if there are none given."""
    if given is None:
        return np.zeros(size, np.int64)
    if given.dtype != np.int64 or given.shape != (size,):
        raise InputError(
            f"certificate: needs one dual value, a whole number of 64 bits, for each {row} of "
            "the operations that have several"
        )
    return given


def _most(line: Timeline, *paid: Ints | None) -> int:
    """Return the most that a byte pays, of either sign, in Python integers."""
    most = dict[int, int]()
    for values in paid:
        if values is not None:
            for tensor, payment in zip(line.tensor.tolist(), values.tolist(), strict=True):
                most[tensor] = most.get(tensor, 0) + abs(payment)
    return max(most.values(), default=0)


def _ports(problem: Problem, certificate: Certificate) -> list[int]:
    """Return (n,) duals of the ports of all banks together, the duals of banks checked."""
    banks, steps = len(problem.machine.banks), len(problem.operations)
    if len(certificate.banks) not in (0, banks):
        raise InputError(
            f"certificate: has dual values of {len(certificate.banks)} banks, the machine has "
            f"{banks}"
        )
    for bank in certificate.banks:
        if bank.spm.shape != (steps,) or bank.port.shape != (steps,):
            raise InputError(
                f"certificate: a bank needs one dual value for each of the {steps} steps"
            )
        if min(int(bank.spm.min()), int(bank.port.min())) < 0:
            raise InputError("certificate: dual values must not be negative")
    ports = [bank.port.tolist() for bank in certificate.banks]
    return [sum(duals) for duals in zip(*ports, strict=True)] if ports else [0] * steps


def check_magnitude(
    hold: list[int], load: list[int], store: list[int], line: Timeline, more: int = 0
) -> None:
    """Check that no path pays too much.

    In each step one holding, and ``fetches`` moves each way; ``more`` beside them.
    """
    # A path holds its byte once a step, and moves it at most so often each way; 2**59 leaves room
    # for INFINITE plus a path in 64 bits.
    fetches = np.ones(line.steps, np.int64)
    np.maximum.at(fetches, line.step, line.fetches)
    moves = zip(load, store, fetches.tolist(), strict=True)
    if more + sum(hold) + sum(p * (i + o) for i, o, p in moves) > LARGEST:
        raise InputError("certificate: dual values are too large for 64 bits; give fewer bits")
