"""Costs of fusion tiles from a file, in place of the mapper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from spmopt.core.costs import (
    Costs,
    energies_before,
    mappings_at_costs,
    with_energies,
)
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import TileableOperation, TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.operation import OpMapping


@dataclass(frozen=True)
class ListedAtCosts:
    """A callable that makes the tileable graph of a machine, at costs: ``listed`` of a problem."""

    listed: Callable[[Machine], object]
    costs: Costs
    source: str

    def __call__(self, machine: Machine) -> TileableGraph:
        """Return the tileable graph of a machine."""
        found = self.listed(replace(machine, costs=""))
        assert isinstance(found, TileableGraph)
        return tiles_with_costs(found, self.costs, self.source)


def tiles_with_costs(tileable: TileableGraph, costs: Costs, source: str) -> TileableGraph:
    """Return a tileable graph at costs: operations that these have are cut as these say alone.

    Raises
    ------
    InputError
        Costs of fusion tiles into which an operation cannot be cut, or as
        :func:`~spmopt.core.costs.with_costs`.
    """
    before = energies_before(tileable.machine)
    machine, stripes = replace(tileable.machine, costs=source), tileable.stripe_mappings
    alone = tileable.first_stripe_mappings
    # No file says how much a fusion tile along a further axis costs.
    whole = {name: tuple(each for each in own if each.tiles == 1) for name, own in costs.items()}
    others = tuple(
        replace(each, machine=machine, operations=_operations(each, whole, source), costs=costs)
        for each in tileable.others
    )
    return replace(
        tileable,
        machine=machine,
        operations=_operations(tileable, costs, source),
        others=others,
        stripe_mappings=None if stripes is None else partial(_stripe, stripes, before),
        first_stripe_mappings=None if alone is None else partial(_stripe, alone, before),
        costs=costs,
    )


def _operations(
    tileable: TileableGraph, costs: Costs, source: str
) -> tuple[TileableOperation, ...]:
    """Return the operations along an axis: those of a file alone as it has them."""
    before, operations = energies_before(tileable.machine), list[TileableOperation]()
    for operation in tileable.operations:
        given, own = costs.get(operation.name, ()), operation.mappings
        listed = operation.name in costs
        where = f"costs {source}: operation {operation.name}"
        wrong = sorted({each.tiles for each in given} - own.keys())
        if wrong:
            ways = ", ".join(map(str, own))
            raise InputError(f"{where}: cannot be cut into {wrong[0]} fusion tiles; give {ways}")
        mappings: dict[int, TileMappings] = {}
        for tiles in sorted({1, *(each.tiles for each in given)}) if listed else own:
            of_tiles = [each for each in given if each.tiles == tiles]
            first, later = (
                mappings_at_costs(
                    of_tiles,
                    _operands(tileable, operation, tiles, fusion_tile),
                    own[tiles].of_tile(fusion_tile),
                    before,
                    where,
                )
                for fusion_tile in (0, min(tiles - 1, 1))
            )
            mappings[tiles] = TileMappings.of(first, later)
        # No file says how much a stripe costs.
        rows = None if listed else operation.rows
        operations.append(replace(operation, mappings=mappings, rows=rows))
    return tuple(operations)


def _operands(
    tileable: TileableGraph, operation: TileableOperation, tiles: int, fusion_tile: int
) -> list[tuple[str, int]]:
    """Return name and bytes of each operand of a fusion tile."""
    tensors = [(tileable.tensors[t], t in operation.cut) for t in operation.uses(fusion_tile)]
    return [(tensor.name, tensor.size_bytes // (tiles if cut else 1)) for tensor, cut in tensors]


def _stripe(
    given: Callable[[int, int, int], tuple[OpMapping, ...]], before: Machine | None, *stripe: int
) -> tuple[OpMapping, ...]:
    return with_energies(given(*stripe), before)
