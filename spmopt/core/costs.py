"""What operations cost by somebody else's figures, in place of those of lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from spmopt.core.errors import InputError, unknown
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.operation import STATIONARY, Mode, Operand, Operation

RESIDENT = "resident"


@dataclass(frozen=True, kw_only=True)
class OperationCost:
    """One mode of one operation; None is what lowering says.

    Attributes
    ----------
    cycles
        Of its computation, at the machine's clock, with all operands on chip.
    scratch_bytes
        Of the scratchpad, while it runs.
    energy_pj
        Of all on chip: arithmetic, and reads and writes of the scratchpad; not of the DRAM.
    dram_bytes
        By tensor, what crosses the DRAM boundary where nothing of it is resident, in whole passes
        over the tensor; :data:`RESIDENT` for one that must be on chip in full.
    """

    cycles: int
    scratch_bytes: int | None = None
    energy_pj: int | None = None
    dram_bytes: Mapping[str, int | str] = field(default_factory=dict)


Costs = Mapping[str, Sequence[OperationCost]]
"""Modes by operation, in the order in which they are tried."""


def with_costs(instance: Instance, costs: Costs, source: str) -> tuple[Instance, tuple[str, ...]]:
    """Return ``instance`` at ``costs``, and the operations that these lack and that keep theirs.

    Covers are no longer known of it: what pieces of operations cost is in no such file.

    Parameters
    ----------
    source
        The file, which the machine and so all results name.

    Raises
    ------
    InputError
        An unknown operation or tensor, or fewer bytes than the tensor has.
    """
    names = [operation.name for operation in instance.operations]
    for name in costs:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0)[0]
            raise InputError(f"costs {source}: no operation called {name!r}; nearest is {near}")
    # Of energies by element type operations say theirs already.
    before = None if instance.machine.has_own_energies else instance.machine
    found = replace(
        instance,
        machine=replace(instance.machine, costs=source),
        operations=tuple(
            replace(operation, modes=_modes(instance, operation, costs, before, source))
            for operation in instance.operations
        ),
        listed=None,
    )
    return found, tuple(name for name in names if name not in costs)


def _modes(
    instance: Instance, operation: Operation, costs: Costs, before: Machine | None, source: str
) -> tuple[Mode, ...]:
    own = [
        mode if before is None else replace(mode, own_picojoules=_energy(mode, before))
        for mode in operation.modes
    ]
    where = f"costs {source}: operation {operation.name}"
    given = [
        _mode(instance, operation, own[0], cost, where) for cost in costs.get(operation.name, ())
    ]
    return tuple(given or own)


def _energy(mode: Mode, machine: Machine) -> int:
    return round(mode.macs * machine.energy.mac_pj)


def _mode(
    instance: Instance, operation: Operation, own: Mode, cost: OperationCost, where: str
) -> Mode:
    """Return the mode ``own`` at a cost."""
    names = {instance.tensors[tensor].name: k for k, tensor in enumerate(operation.tensors)}
    operands = list(own.operands)
    for name, given in cost.dram_bytes.items():
        if name not in names:
            raise InputError(f"{where}: {unknown('operand', name, names)}")
        place = names[name]
        size = instance.tensors[operation.tensors[place]].size_bytes
        operands[place] = _operand(name, given, size, where)
    mode = replace(own, compute_cycles=cost.cycles, operands=tuple(operands))
    if cost.scratch_bytes is not None:
        mode = replace(mode, scratch_bytes=cost.scratch_bytes)
    if cost.energy_pj is not None:
        mode = replace(mode, own_picojoules=cost.energy_pj, spm_read_bytes=0, spm_write_bytes=0)
    return mode


def _operand(name: str, given: int | str, size: int, where: str) -> Operand:
    if isinstance(given, str):
        return STATIONARY
    if given < size:
        raise InputError(
            f"{where}: {given} bytes of {name}, which has {size}: an operand crosses at least "
            "once; are its elements of another type (--dtype)?"
        )
    return Operand(passes=-(-given // size))
