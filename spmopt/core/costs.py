"""Costs of operations from a file, in place of the mapper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand, Operation, OpMapping
from spmopt.core.problem import Problem

RESIDENT = "resident"


@dataclass(frozen=True, kw_only=True)
class OperationCost:
    """One mapping of one operation, or of one of its fusion tiles; None: the mapper's value.

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
    tiles
        Fusion tiles that the operation is cut into; all figures are of one of them.
    """

    cycles: int
    scratch_bytes: int | None = None
    energy_pj: int | None = None
    dram_bytes: Mapping[str, int | str] = field(default_factory=dict)
    tiles: int = 1


Costs = Mapping[str, Sequence[OperationCost]]
"""Mappings by operation, in the order in which they are tried."""
CostsOf = Callable[[str, int], Sequence[OperationCost]]
"""Mappings of an operation in so many fusion tiles, of one tile each; none are the mapper's."""


def with_costs(problem: Problem, costs: Costs, source: str) -> tuple[Problem, tuple[str, ...]]:
    """Return ``problem`` at ``costs``, and the operations that these lack and that keep theirs.

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
    before, operations = energies_before(problem.machine), list[Operation]()
    for operation in problem.operations:
        given = [each for each in costs.get(operation.name, ()) if each.tiles == 1]
        tensors = [problem.tensors[t] for t in operation.tensors]
        operands = [(tensor.name, tensor.size_bytes) for tensor in tensors]
        where = f"costs {source}: operation {operation.name}"
        mappings = mappings_at_costs(given, operands, operation.mappings, before, where)
        operations.append(replace(operation, mappings=mappings))
    found = replace(
        problem,
        machine=replace(problem.machine, costs=source),
        operations=tuple(operations),
        # Mappings of fusion tiles would still have the mapper's costs.
        listed=None,
    )
    stated = {name for name, given in costs.items() if any(each.tiles == 1 for each in given)}
    return found, tuple(name for name in names if name not in stated)


def energies_before(machine: Machine) -> Machine | None:
    """Return the machine by whose energy of a MAC mappings must state theirs; none if all do.

    Once a file gives energies of some operations, all of them must state theirs. Of energies by
    element type operations say theirs already.
    """
    return None if machine.has_own_energies else machine


def with_energies(mappings: Sequence[OpMapping], before: Machine | None) -> tuple[OpMapping, ...]:
    """Return mappings that state the energy of their MACs on ``before``, as they are without it."""
    return tuple(
        each if before is None else replace(each, own_picojoules=_energy(each, before))
        for each in mappings
    )


def mappings_at_costs(
    costs: Sequence[OperationCost],
    operands: Sequence[tuple[str, int]],
    mappings: Sequence[OpMapping],
    before: Machine | None,
    where: str,
) -> tuple[OpMapping, ...]:
    """Return the mappings of an operation at its costs; the mapper's where it has none.

    Parameters
    ----------
    operands
        Name and bytes of each.
    """
    own = with_energies(mappings, before)
    given = [_mapping(operands, own[0], cost, where) for cost in costs]
    return tuple(given) or own


def _energy(mapping: OpMapping, machine: Machine) -> int:
    return round(mapping.macs * machine.energy.mac_pj)


def _mapping(
    operands: Sequence[tuple[str, int]], own: OpMapping, cost: OperationCost, where: str
) -> OpMapping:
    """Return the mapping ``own`` at a cost."""
    places = {name: place for place, (name, _) in enumerate(operands)}
    found = list(own.operands)
    for name, given in cost.dram_bytes.items():
        if name not in places:
            raise InputError(f"{where}: {unknown('operand', name, places)}")
        found[places[name]] = _operand(name, given, operands[places[name]][1], where)
    mapping = replace(own, compute_cycles=cost.cycles, waiting_bytes=0, operands=tuple(found))
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
