"""Tileable graphs as no network has them: a bound must hold, or their fused groups be refused.

Of a network, an operation sums up whatever it writes and does not cut, and what it cuts divides
into its fusion tiles. A graph made by hand may have results that are whole to each fusion tile and
that each writes anew, of which only the last leaves; and tensors that leave a remainder.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, TileableOperation, TileMappings
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.checked import value_of

TILES = 4
SPACE = FusionSpace(name="all", micro_batches=(1, TILES))


def operation(name: str, reads: tuple[int, ...], writes: tuple[int, ...]) -> TileableOperation:
    """Return what cuts the first tensor alone, sums up nothing, and fits in fusion tiles only."""
    found = TileableOperation(name=name, reads=reads, writes=writes, cut=frozenset({0}))
    for count, scratch in ((1, 100), (TILES, 0)):
        operands = (Operand(),) * len(found.uses(0))
        mapping = OpMapping(compute_cycles=0, operands=operands, scratch_bytes=scratch)
        found.mappings[count] = TileMappings(mapping, mapping)
    return found


def listing(
    spm_bytes: int, operations: tuple[TileableOperation, ...], whole: tuple[Tensor, ...]
) -> TileableGraph:
    return TileableGraph(
        name="whole results",
        machine=Machine(
            name="small",
            spm_bytes=spm_bytes,
            dram_bytes_per_s=1,
            clock_hz=1,
            operations_per_s=1,
            page_bytes=1,
        ),
        tensors=(Tensor(name="x", size_bytes=TILES, in_dram=True, keep=False), *whole),
        operations=operations,
        batch=TILES,
        mapper="custom",
    )


def test_a_result_that_each_fusion_tile_writes_anew_leaves_once() -> None:
    """4 bytes of ``x`` come and 10 of ``w`` go: of the first three tiles ``w`` is dead."""
    kept = Tensor(name="w", size_bytes=10, in_dram=False, keep=True)
    listed = listing(2, (operation("o", (0,), (1,)),), (kept,))
    objective = objective_named("traffic", listed.machine)
    fused_group = FusedGroup(begin=0, end=1, micro_batches=TILES)
    if listed.obstacle(fused_group):
        return
    problem, _ = listed.problem((fused_group,))
    streamed = ResidencyPlan(
        steps=Steps.listed(np.zeros(TILES, np.int64)),
        residency=Residency.of_rows([]),
        stores=Stores.of_rows([]),
    )
    certificate = FusionCertificate(fusion_space=SPACE, objective=objective, bits=0, duals={})
    value = value_of(problem, objective, streamed)
    assert value == 14
    assert fusion_bound(listed, certificate) <= value


def test_a_run_knows_nothing_of_contents_that_the_next_fusion_tile_writes_anew() -> None:
    """``t`` is written, updated and dead before ``u`` takes its place; 4 bytes of ``x`` come."""
    operations = (
        operation("write t", (0,), (1,)),
        operation("update t", (0, 1), (1,)),
        operation("write u", (0,), (2,)),
        operation("read u", (0, 2), ()),
    )
    whole = tuple(Tensor(name=t, size_bytes=10, in_dram=False, keep=False) for t in "tu")
    listed = listing(12, operations, whole)
    objective = objective_named("traffic", listed.machine)
    every = FusedGroup(begin=0, end=4, micro_batches=TILES)
    if listed.obstacle(every):
        return
    problem, _ = listed.problem((every,))
    # x[k] is there in all steps of its tile; t in the first two of each, u in the others.
    x, t, u = (
        [at for at, tensor in enumerate(problem.tensors) if tensor.name[0] == name]
        for name in "xtu"
    )
    rows = [(x[tile], 4 * tile, 4 * tile + 4, 1) for tile in range(TILES)]
    for tile in range(TILES):
        rows += [(t[0], 4 * tile, 4 * tile + 2, 10), (u[0], 4 * tile + 2, 4 * tile + 4, 10)]
    on_chip = ResidencyPlan(
        steps=Steps.listed(np.zeros(4 * TILES, np.int64)),
        residency=Residency.of_rows(sorted(rows)),
        stores=Stores.of_rows([]),
    )
    value = value_of(problem, objective, on_chip)
    assert value == TILES
    duals: dict[Row, int] = {("capacity", 0, 1): -1}
    run = FusedGroup(begin=1, end=4, micro_batches=TILES)
    certificate = FusionCertificate(
        fusion_space=SPACE, objective=objective, bits=0, duals={}, runs={run: duals}
    )
    path = FusionPlanPath(listed, certificate)
    table = path.tables()[path.micro_batches.index(TILES)]
    assert int(table[every.end, every.begin]) <= value * 2**path.bits


def test_a_tensor_that_does_not_divide_into_fusion_tiles_has_no_more_bytes_than_its_parts() -> None:
    """Four parts of 1 byte are made of 7."""
    one = TileableOperation(name="o", reads=(0,), writes=(), cut=frozenset({0}))
    for count in (1, TILES):
        mapping = OpMapping(compute_cycles=0, operands=(Operand(),))
        one.mappings[count] = TileMappings(mapping, mapping)
    listed = listing(2, (one,), ())
    listed = replace(listed, tensors=(replace(listed.tensors[0], size_bytes=7),))
    objective = objective_named("traffic", listed.machine)
    fused_group = FusedGroup(begin=0, end=1, micro_batches=TILES)
    if listed.obstacle(fused_group):
        return
    problem, _ = listed.problem((fused_group,))
    streamed = ResidencyPlan(
        steps=Steps.listed(np.zeros(TILES, np.int64)),
        residency=Residency.of_rows([]),
        stores=Stores.of_rows([]),
    )
    certificate = FusionCertificate(fusion_space=SPACE, objective=objective, bits=0, duals={})
    assert fusion_bound(listed, certificate) <= value_of(problem, objective, streamed)
