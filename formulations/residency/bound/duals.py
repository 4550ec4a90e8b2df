"""Dual values of a byte in each step.

Multipliers of capacity and DMA time, and their certificate.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import floor, frexp

import numpy as np

from formulations.residency.bound.rangemin import RangeMinimum
from formulations.solver.program import Floats
from spmopt.assemble.cost import unavoidable
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

_LARGEST = float(np.finfo(np.float64).max)
_PRECISION = 44  # binary digits of the dearest dual value, of 53 that a float has
MAGNITUDE = 58
"""Binary digits of the dearest path; the checker computes in 64 bits and takes one more."""


class CostCoefficients:
    """Figures of a problem and an objective that every dual value computation needs.

    Attributes
    ----------
    cycle, in_byte, out_byte, unpacked, packed
        Objective units per cycle, per DMA byte, and per byte on chip beyond those that move.
    bytes_per_cycle
        ``beta``.
    capacity_bytes : (n,)
        ``g floor(C/g) - g ceil(b_i/g)``: capacities for residency in each step.
    compute_cycles : (n,)
    constant
        Part of the objective that no schedule changes (on-chip energy).
    duplex
        Reads and writes have a channel each.
    ratios : (c,)
        At which bytes of tensors move.
    """

    def __init__(self, problem: Problem, line: Timeline, objective: Objective) -> None:
        """Read the figures off a problem."""
        machine = problem.machine
        free_pages = machine.spm_pages - machine.pages(line.scratch_bytes)
        self.cycle = float(objective.cycle)
        self.in_byte = float(objective.dram_in_byte)
        self.out_byte = float(objective.dram_out_byte)
        self.unpacked = float(objective.unpacked_byte)
        self.packed = float(objective.packed_byte)
        self.bytes_per_cycle = float(machine.bytes_per_cycle)
        self.capacity_bytes = (free_pages * machine.page_bytes).astype(np.float64)
        self.compute_cycles = line.compute_cycles.astype(np.float64)
        self.constant = float(unavoidable(objective, line))
        self.duplex, self.ratios = machine.duplex, line.moved.ratios[0]

    @cached_property
    def covered_bytes(self) -> Floats:
        """(n,) DMA bytes that the computing of each step hides."""
        result: Floats = self.compute_cycles * self.bytes_per_cycle
        return result

    @cached_property
    def typical_bytes(self) -> float:
        """Mean of ``covered_bytes``, at least 1."""
        return max(float(self.covered_bytes.mean()), 1.0)

    def within(self, begin: int, end: int) -> CostCoefficients:
        """Return the figures of the steps [begin, end) alone."""
        part = copy(self)
        for name in ("covered_bytes", "typical_bytes"):
            part.__dict__.pop(name, None)
        part.capacity_bytes = self.capacity_bytes[begin:end]
        part.compute_cycles = self.compute_cycles[begin:end]
        return part

    @property
    def byte_time(self) -> float:
        """Objective units that one byte of DMA time costs when nothing hides it."""
        return self.cycle / self.bytes_per_cycle

    @property
    def dearest_byte(self) -> float:
        """Objective units of the dearest thing that can happen to a byte in a step."""
        return max(self.byte_time, self.in_byte, self.out_byte, self.unpacked, self.packed)


@dataclass(frozen=True, kw_only=True, eq=False)
class Multipliers:
    """Lagrange multipliers (n,): ``spm`` per byte held, ``load`` and ``store`` per DMA byte.

    On one channel ``load`` and ``store`` are the same array. Legal when not negative and
    ``load`` (duplex: ``load + store``) is at most ``CostCoefficients.byte_time``.
    """

    spm: Floats
    load: Floats
    store: Floats

    @staticmethod
    def legal(
        coefficients: CostCoefficients, spm: Floats, load: Floats, store: Floats
    ) -> Multipliers:
        """Make the nearest legal ones (clamped, and scaled down where a sum is too large)."""
        # fmax drops NaN, too: any numbers become legal multipliers.
        spm, load, store = (np.minimum(np.fmax(x, 0.0), _LARGEST) for x in (spm, load, store))
        limit = coefficients.byte_time
        if not coefficients.duplex:
            load = np.minimum(load, limit)
            return Multipliers(spm=spm, load=load, store=load)
        # Duplex: w >= beta (in + out). Both are scaled down where the sum exceeds it.
        total = load + store
        factor = np.divide(limit, total, out=np.ones_like(total), where=total > limit)
        return Multipliers(spm=spm, load=load * factor, store=store * factor)

    @staticmethod
    def zero(coefficients: CostCoefficients) -> Multipliers:
        """Return multipliers of no constraint, which are always legal."""
        nothing = np.zeros_like(coefficients.compute_cycles)
        return Multipliers.legal(coefficients, nothing, nothing, nothing)

    def mix(self, other: Multipliers, weight: float) -> Multipliers:
        """Return ``weight`` of the other and the rest of this one (legal if both are)."""
        load = (1 - weight) * self.load + weight * other.load
        # On one channel both are the same array, and have to remain so.
        simplex = self.load is self.store
        return Multipliers(
            spm=(1 - weight) * self.spm + weight * other.spm,
            load=load,
            store=load if simplex else (1 - weight) * self.store + weight * other.store,
        )

    def slack_dual(self, coefficients: CostCoefficients) -> Floats:
        """Return ``rho_i``: the dual value of a cycle of computing in each step."""
        dma = self.load + self.store if coefficients.duplex else self.load
        return np.maximum(coefficients.cycle - coefficients.bytes_per_cycle * dma, 0.0)

    def computing(self, coefficients: CostCoefficients) -> float:
        """Return ``sum_i rho_i c_i``: the dual value of all computing."""
        return float((self.slack_dual(coefficients) * coefficients.compute_cycles).sum())


class MoveDuals:
    """Dual value of a byte ``loaded``, ``stored`` and ``held`` in each step (n,).

    Steps come once for each ratio: a byte of a compressed tensor moves as that part of one. The
    objective's too. ``cost_before`` (n + 1,) sums up ``held``; ``loaded_fixed`` and
    ``stored_fixed`` are dual values of required-resident operands, which overlap no computing. The
    range minima are over the steps of an interval: of entering at a step and staying to the end
    (``loads``), of staying from the begin, stored and given up at a step (``drops``), and of being
    stored (``cleans``).
    """

    def __init__(self, coefficients: CostCoefficients, duals: Multipliers) -> None:
        """Add the objective's dual values to multipliers."""
        ratios = coefficients.ratios[:, None]
        self.unpacked, self.packed = coefficients.unpacked, coefficients.packed
        loaded, stored = duals.load + coefficients.in_byte, duals.store + coefficients.out_byte
        self.loaded = (ratios * loaded + (1 - ratios) * self.unpacked).ravel()
        self.stored = (ratios * stored + (1 - ratios) * self.packed).ravel()
        self.held = np.tile(duals.spm, ratios.size)
        self.in_byte, self.out_byte = coefficients.in_byte, coefficients.out_byte
        self.loaded_fixed = coefficients.byte_time + coefficients.in_byte
        self.stored_fixed = coefficients.byte_time + coefficients.out_byte

    def alone(self, ratio: Floats) -> tuple[Floats, Floats]:
        """Return the cost of a byte of each ratio in and out, beside its time."""
        into, out = (1 - ratio) * self.unpacked, (1 - ratio) * self.packed
        return ratio * self.in_byte + into, ratio * self.out_byte + out

    def fixed(self, ratio: Floats) -> tuple[Floats, Floats]:
        """Return the cost of a byte of each ratio in and out, of required-resident operands."""
        into, out = (1 - ratio) * self.unpacked, (1 - ratio) * self.packed
        return ratio * self.loaded_fixed + into, ratio * self.stored_fixed + out

    @cached_property
    def cost_before(self) -> Floats:
        """(n + 1,) Cost of a byte that remains until a step."""
        return np.concatenate(([0.0], np.cumsum(self.held)))

    @cached_property
    def loads(self) -> RangeMinimum:
        """Of loads within an interval."""
        return RangeMinimum(self.loaded - self.cost_before[:-1])

    @cached_property
    def entries(self) -> RangeMinimum:
        """Of loads within an interval, whatever is held afterwards."""
        return RangeMinimum(self.loaded)

    @cached_property
    def drops(self) -> RangeMinimum:
        """Of stores within an interval, after which the byte leaves."""
        return RangeMinimum(self.stored + self.cost_before[1:])

    @cached_property
    def cleans(self) -> RangeMinimum:
        """Of stores within an interval."""
        return RangeMinimum(self.stored)


def certificate(
    problem: Problem,
    objective: Objective,
    coefficients: CostCoefficients,
    duals: Multipliers,
    *,
    uses: Floats | None = None,
    rooms: Floats | None = None,
) -> Certificate:
    """Round dual values down to multiples of ``2**-bits`` (formulations/PROBLEM.md, section 5).

    ``bits`` is such that the dearest dual value of a byte has 44 binary digits, or fewer where
    paths of that precision would overflow 64 bits. Any legal dual values prove a bound, so rounding
    costs a little strength and no validity.
    """
    fetches, most = problem.operands.most_fetches(), float(problem.machine.most_moved)
    dearest = most * coefficients.dearest_byte
    # At more than this only required-resident operands stay resident, for which there is room: a
    # full step may have any dual value (its dual is unbounded), and this one proves as much.
    spm = np.minimum(duals.spm, 4 * (fetches + 1) * dearest)
    moves = most * (2 * coefficients.byte_time + coefficients.in_byte + coefficients.out_byte)
    moves += coefficients.unpacked + coefficients.packed
    # A path holds its byte once a step and moves it twice a fetch: fewer bits where that exceeds
    # 2**58.
    path = float(spm.sum() + fetches.sum() * moves) + dearest_setups(problem, dearest)
    # Of all tensors together, which is more than of any path.
    path += sum(float(np.abs(each).sum()) for each in (uses, rooms) if each is not None)
    bits = binary_digits(dearest, path, MAGNITUDE) if dearest > 0 else 0
    limit = dma_limit(problem, objective, bits)
    load, store = round_channels(duals.load, duals.store, bits, limit, duplex=coefficients.duplex)
    return Certificate(
        objective=objective,
        bits=bits,
        spm=round_down(spm, bits, 2**MAGNITUDE),
        dram_in=load,
        dram_out=store,
        uses=None if uses is None else np.rint(np.ldexp(uses, bits)).astype(np.int64),
        rooms=None if rooms is None else round_down(rooms, bits, 2**MAGNITUDE),
    )


def dearest_setups(problem: Problem, dearest: float) -> float:
    """Return the most that a byte of the smallest tensor pays for all set-ups on its path."""
    machine, table = problem.machine, problem.operands
    if not machine.dma_setup_cycles or not table.tensor.size:
        return 0.0
    sizes = [problem.tensors[tensor].size_bytes for tensor in np.unique(table.tensor).tolist()]
    # Two moves at each access, and two in each stretch between.
    most = 4 * (int(np.bincount(table.tensor).max()) + 1)
    setup_bytes = machine.dma_setup_cycles * float(machine.bytes_per_cycle)
    paid: float = most * dearest * setup_bytes / min(sizes)
    return paid


def binary_digits(dearest: float, path: float, magnitude: int) -> int:
    """Count digits after the point: 44 for the ``dearest`` dual, fewer for a long ``path``."""
    return max(0, min(_PRECISION - frexp(dearest)[1], magnitude - frexp(path)[1]))


def dma_limit(problem: Problem, objective: Objective, bits: int) -> int:
    """Return the most that prices of DMA time may be, in units of ``2**-bits``."""
    # The checker rounds the weight of a cycle down first; stay legal under that too.
    cycle = floor(objective.cycle * 2**bits)
    return int(cycle // problem.machine.bytes_per_cycle)


def round_down(dual: Floats, bits: int, limit: int) -> Ints:
    """Return whole units of ``2**-bits``, at most ``limit``."""
    return np.minimum(np.floor(np.ldexp(dual, bits)), float(limit)).astype(np.int64)


def round_channels(
    load: Floats, store: Floats, bits: int, limit: int, *, duplex: bool
) -> tuple[Ints, Ints]:
    """Return the duals of DMA bytes in whole units, on two channels at most ``limit`` together."""
    inward = round_down(load, bits, limit)
    if not duplex:
        return inward, inward
    # Rounded apart, their sum could exceed the limit by a unit.
    return inward, np.minimum(round_down(store, bits, limit), limit - inward)


def multipliers(certificate: Certificate, coefficients: CostCoefficients) -> Multipliers | None:
    """Return the duals of a certificate, nearly; None where they are not for such a problem."""
    if certificate.order is not None or certificate.spm.shape != coefficients.compute_cycles.shape:
        return None
    columns = (certificate.spm, certificate.dram_in, certificate.dram_out)
    spm, load, store = (np.ldexp(x.astype(np.float64), -certificate.bits) for x in columns)
    return Multipliers.legal(coefficients, spm, load, store)
