"""Costs of operations from a file, in place of the mapper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand, Operation, OpMapping
from spmopt.core.problem import Problem

RESIDENT = "resident"


@dataclass(frozen=True, kw_only=True)
class OperationCost:
    """One mapping of one operation; None: the mapper's value.

    Attributes
    ----------
    cycles
        Of its computation, at the machine's clock, with all operands on chip.
    scratch_bytes
        Of the scratchpad, while it runs.
    energy_pj
        Of all on chip: arithmetic, and reads and writes of the scratchpad; not of the DRAM.
    dram_bytes
        By tensor, bytes over the DRAM boundary where nothing of it is resident, in whole passes
        over the tensor; :data:`RESIDENT` for one that must be on chip in full.
    """

    cycles: int
    scratch_bytes: int | None = None
    energy_pj: int | None = None
    dram_bytes: Mapping[str, int | str] = field(default_factory=dict)


Costs = Mapping[str, Sequence[OperationCost]]
"""Mappings by operation, in the order in which they are tried."""


def with_costs(problem: Problem, costs: Costs, source: str) -> tuple[Problem, tuple[str, ...]]:
    """Return ``problem`` at ``costs``, and the operations that these lack and that keep theirs.

    Fusion plans are no longer known of it: such files have no costs of fusion tiles.

    Parameters
    ----------
    source
        The file, which the machine and so all results name.

    Raises
    ------
    InputError
        An unknown operation or tensor, or fewer bytes than the tensor has.
    """
    names = [operation.name for operation in problem.operations]
    for name in costs:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0)[0]
            raise InputError(f"costs {source}: no operation called {name!r}; nearest is {near}")
    # Of energies by element type operations say theirs already.
    # Once a file gives energies of some operations, all of them must state theirs.
    before = None if problem.machine.has_own_energies else problem.machine
    found = replace(
        problem,
        machine=replace(problem.machine, costs=source),
        operations=tuple(
            replace(operation, mappings=_mappings(problem, operation, costs, before, source))
            for operation in problem.operations
        ),
        # Mappings of fusion tiles would still have the mapper's costs.
        listed=None,
    )
    return found, tuple(name for name in names if name not in costs)


def _mappings(
    problem: Problem, operation: Operation, costs: Costs, before: Machine | None, source: str
) -> tuple[OpMapping, ...]:
    own = [
        mapping if before is None else replace(mapping, own_picojoules=_energy(mapping, before))
        for mapping in operation.mappings
    ]
    where = f"costs {source}: operation {operation.name}"
    given = [
        _mapping(problem, operation, own[0], cost, where) for cost in costs.get(operation.name, ())
    ]
    return tuple(given or own)


def _energy(mapping: OpMapping, machine: Machine) -> int:
    return round(mapping.macs * machine.energy.mac_pj)


def _mapping(
    problem: Problem, operation: Operation, own: OpMapping, cost: OperationCost, where: str
) -> OpMapping:
    """Return the mapping ``own`` at a cost."""
    names = {problem.tensors[tensor].name: k for k, tensor in enumerate(operation.tensors)}
    operands = list(own.operands)
    for name, given in cost.dram_bytes.items():
        if name not in names:
            raise InputError(f"{where}: {unknown('operand', name, names)}")
        place = names[name]
        size = problem.tensors[operation.tensors[place]].size_bytes
        operands[place] = _operand(name, given, size, where)
    mapping = replace(own, compute_cycles=cost.cycles, operands=tuple(operands))
    if cost.scratch_bytes is not None:
        mapping = replace(mapping, scratch_bytes=cost.scratch_bytes)
    if cost.energy_pj is not None:
        mapping = replace(
            # The energy given includes accesses of the scratchpad: they must not count twice.
            mapping,
            own_picojoules=cost.energy_pj,
            spm_read_bytes=0,
            spm_write_bytes=0,
        )
    return mapping


def _operand(name: str, given: int | str, size: int, where: str) -> Operand:
    if isinstance(given, str):
        return REQUIRED_RESIDENT
    if given < size:
        raise InputError(
            f"{where}: {given} bytes of {name}, which has {size}: an operand crosses at least "
            "once; are its elements of another type (--dtype)?"
        )
    # Rounded up to whole passes, as R3 and R4 count them.
    return Operand(fetches=-(-given // size))
