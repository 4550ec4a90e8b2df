"""What schedules see of a machine, and a result carried to another that looks the same to them.

Names and areas are not seen, nor, unless schedules minimise energy, energies. Machines that differ
in these alone are *twins*: solved one by one they could get different times, each within its gap,
and a front would show a lead that is none.
"""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.instance import Instance
from spmopt.core.machine import Area, Bank, Energy, Memory
from spmopt.io.files import StoredResult
from spmopt.search.evaluation.packed import unpacked
from spmopt.search.space.candidate import Candidate
from spmopt.verify import bound, verify


def problem_of(candidate: Candidate, schedule_for: str) -> Candidate:
    """``candidate`` without what schedules for an objective do not see: equal for twins."""
    machine, with_energy = candidate.machine, schedule_for == "energy"
    seen = replace(
        machine,
        name="",
        source="",
        area=Area(),
        energy=replace(machine.energy, source="") if with_energy else Energy(),
        memory=None if machine.memory is None else _rates(machine.memory),
        banks=tuple(_seen(bank, with_energy) for bank in machine.banks),
    )
    return replace(candidate, machine=seen)


def carried(packed: bytes, instance: Instance) -> StoredResult | None:
    """A compressed result of a twin as one of ``instance``, verified and bounded there.

    None if it is of other operations, or is no legal schedule with its value and bound.
    """
    stored = unpacked(packed, instance.name)
    if stored is None or not _alike(stored.instance, instance):
        return None
    result, totals = stored.result, stored.result.totals
    if result.schedule is not None:
        totals = verify(instance, result.schedule).totals
        if totals is None or totals.value(result.objective) != result.value:
            return None
    if result.certificate is not None and bound(instance, result.certificate) != result.bound:
        return None
    again = replace(result, totals=totals, solve_s=0.0, cpu_s=0.0)
    return replace(stored, instance=instance, result=again)


def _seen(bank: Bank, with_energy: bool) -> Bank:
    plain = replace(bank, technology="", source="", area_mm2=None)
    if with_energy:
        return plain
    return replace(plain, read_pj_per_byte=0.0, write_pj_per_byte=0.0, leakage_w=0.0)


def _rates(memory: Memory) -> Memory | None:
    """What lowering sees of a technology: how fast its banks are, where they are counted."""
    if memory.rates is None:
        return None
    return replace(memory, technology="", source="", basis="", area_mm2=0.0, dram_bytes_per_s=1)


def _alike(left: Instance, right: Instance) -> bool:
    return left.operations == right.operations and left.tensors == right.tensors
