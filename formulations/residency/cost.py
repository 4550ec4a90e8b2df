"""What a plan costs, in exact integers: for steering; the verifier recomputes it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.schedule import Plan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Spent:
    """Time of each step (n,), in parts of a cycle, and bytes over the channel.

    ``serial_time``: of its commands that its operation waits for, or that wait for it.
    """

    step_time: Ints
    serial_time: Ints
    parts: int
    dram_in_bytes: int
    dram_out_bytes: int

    def value(self, objective: Objective, line: Timeline) -> Fraction:
        """The objective, exact."""
        return (
            objective.cycle * Fraction(int(self.step_time.sum()), self.parts)
            + objective.dram_in_byte * self.dram_in_bytes
            + objective.dram_out_byte * self.dram_out_bytes
            + objective.spm_read_byte * int(line.spm_read_bytes.sum())
            + objective.spm_write_byte * int(line.spm_write_bytes.sum())
            + objective.mac * int(line.macs.sum())
        )


def plan_value(
    instance: Instance, plan: Plan, objective: Objective, *, fluid: bool = False
) -> Fraction:
    """Objective of a legal plan; ``fluid``: without command set-up and whole cycles."""
    line = timeline(instance, plan.operation, plan.mode)
    return spent(instance, line, plan, fluid=fluid).value(objective, line)


def spent(instance: Instance, line: Timeline, plan: Plan, *, fluid: bool = False) -> Spent:
    """Durations and traffic of a legal plan (rules R2 to R6)."""
    parts = instance.machine.bytes_per_cycle.numerator if fluid else 1
    load_step, load_bytes, load_fixed = _loads(line, plan)
    into, out = _streams(line, plan)
    store = plan.stores
    access = _access_at(line, store.tensor, store.step)
    store_fixed = (access >= 0) & line.stationary[access] & (line.kind[access] != Access.READ)

    def per_step(step: Ints, size_bytes: Ints) -> Ints:
        time = np.zeros(line.steps, np.int64)
        taken = size_bytes * instance.machine.bytes_per_cycle.denominator
        np.add.at(time, step, taken if fluid else dma_cycles(instance, size_bytes))
        return time

    fixed_in = per_step(load_step[load_fixed], load_bytes[load_fixed])
    fixed_out = per_step(store.step[store_fixed], store.size_bytes[store_fixed])
    free_in = per_step(load_step[~load_fixed], load_bytes[~load_fixed])
    free_out = per_step(store.step[~store_fixed], store.size_bytes[~store_fixed])
    free_in += per_step(line.step, into)
    free_out += per_step(line.step, out)
    serial = fixed_in + line.compute_cycles * parts + fixed_out
    if instance.machine.duplex:
        in_busy = free_in + fixed_in + fixed_out
        out_busy = fixed_in + free_out + fixed_out
        cycles = np.maximum(np.maximum(in_busy, out_busy), serial)
    else:
        cycles = np.maximum(free_in + fixed_in + free_out + fixed_out, serial)
    return Spent(
        step_time=cycles,
        serial_time=fixed_in + fixed_out,
        parts=parts,
        dram_in_bytes=int(load_bytes.sum() + into.sum()),
        dram_out_bytes=int(store.size_bytes.sum() + out.sum()),
    )


def dma_cycles(instance: Instance, size_bytes: Ints) -> Ints:
    """``lambda + ceil(x f / beta)`` for every command of ``x > 0`` bytes, exact."""
    rate = 1 / instance.machine.bytes_per_cycle
    setup = instance.machine.dma_setup_cycles
    largest = int(size_bytes.max(initial=0))
    if largest * rate.numerator < 2**62:
        moving = -(-size_bytes * rate.numerator // rate.denominator)
    else:
        moving = np.array(
            [-(-int(x) * rate.numerator // rate.denominator) for x in size_bytes], np.int64
        )
    return np.where(size_bytes > 0, setup + moving, 0)


def _access_at(line: Timeline, tensor: Ints, step: Ints) -> Ints:
    """The access of ``tensor`` in ``step``, or -1."""
    key = line.tensor * line.steps + line.step
    order = np.argsort(key, kind="stable")
    wanted = tensor * line.steps + step
    place = np.minimum(np.searchsorted(key[order], wanted), key.size - 1)
    return np.where(key[order][place] == wanted, order[place], -1)


def _loads(line: Timeline, plan: Plan) -> tuple[Ints, Ints, Bools]:
    """Steps, bytes, and whether a stationary operand waits for it (R2)."""
    row = plan.residency
    before = np.zeros(len(row), np.int64)
    joined = (row.tensor[1:] == row.tensor[:-1]) & (row.end[:-1] == row.begin[1:])
    before[1:] = np.where(joined, row.size_bytes[:-1], 0)
    grown = row.size_bytes - before
    access = _access_at(line, row.tensor, row.begin)
    written = (access >= 0) & (line.kind[access] == Access.WRITE)
    some = (grown > 0) & ~written
    fixed = (access >= 0) & line.stationary[access]
    return row.begin[some], grown[some], fixed[some]


def resident_bytes(line: Timeline, plan: Plan) -> Ints:
    """(a,) Resident bytes of each access's tensor in its step."""
    row, span = plan.residency, line.steps + 1
    if not len(row):
        return np.zeros(line.step.size, np.int64)
    place = np.searchsorted(row.tensor * span + row.begin, line.tensor * span + line.step, "right")
    at = np.maximum(place - 1, 0)
    inside = (place > 0) & (row.tensor[at] == line.tensor) & (line.step < row.end[at])
    return np.where(inside, row.size_bytes[at], 0)


def _streams(line: Timeline, plan: Plan) -> tuple[Ints, Ints]:
    """(a,) Bytes streamed in and out at each access (R3, R4)."""
    missing = line.size_bytes[line.tensor] - resident_bytes(line, plan)
    read, write = line.kind == Access.READ, line.kind == Access.WRITE
    live = line.live_after
    passes_in = np.where(write, np.where(live, line.passes - 1, 0), line.passes)
    passes_out = np.where(read | ~live, 0, line.passes)
    return missing * passes_in, missing * passes_out
