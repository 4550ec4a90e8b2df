"""Small random tileable graphs with every feature: sums, updates in place, dead results, passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.fusion.tileable import Listed
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan, TileableOperation, TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Compression, Machine
from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor, TensorKind

BATCH = 4


OBJECTIVES = ("time", "traffic", "energy")


def drawn(
    seed: int, *, most: int = 4, mappings: int = 1, axes: int = 1, compression: bool = False
) -> tuple[TileableGraph, Objective, Listed]:
    """Make a tileable graph and its figures for an objective, one of three in turn."""
    listed = random_tileable_graph(seed, most=most, mappings=mappings, axes=axes)
    if compression:
        listed = compressed(listed, seed)
    objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
    return listed, objective, Listed(listed, objective)


def compressed(listed: TileableGraph, seed: int) -> TileableGraph:
    """Return the graph with kinds of tensors at random, of which one or two are compressed."""
    random, ratios = np.random.default_rng(seed), [Fraction(k, 10) for k in (4, 1, 15, 7)]
    kinds = [*TensorKind][:4]
    tensors = tuple(
        replace(each, kind=kinds[int(random.integers(len(kinds)))]) for each in listed.tensors
    )
    compression = tuple(
        Compression(kind=kind, ratio=ratios[(seed + place) % 4])
        for place, kind in enumerate(kinds[: 1 + seed % 2])
    )
    machine = replace(listed.machine, compression=compression)
    others = tuple(replace(each, tensors=tensors, machine=machine) for each in listed.others)
    return replace(listed, tensors=tensors, machine=machine, others=others)


def random_tileable_graph(
    seed: int, *, most: int = 4, mappings: int = 1, axes: int = 1
) -> TileableGraph:
    """Make a tileable graph of at most so many operations, bytes and pages in one.

    ``mappings``: of each fusion tile, to choose among; ``axes``: along which groups are tiled.
    """
    random = np.random.default_rng(seed)
    machine = Machine(
        name="small",
        spm_bytes=int(random.integers(6, 40)),
        dram_bytes_per_s=int(random.integers(1, 4)),
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
        duplex=bool(random.random() < 0.3),
    )
    count = int(random.integers(2, 7))
    batched = random.random(count) < 0.6
    parts = BATCH * 2 ** (axes - 1)
    sizes = [int(parts * random.integers(1, 7 if axes == 1 else 4)) for _ in range(count)]
    operations: list[TileableOperation] = []
    written: set[int] = set()
    first_read: set[int] = set()
    for at in range(int(random.integers(1, most + 1))):
        used = random.permutation(count)[: int(random.integers(1, min(count, 3) + 1))].tolist()
        kinds = random.integers(0, 3, len(used)).tolist()
        reads = tuple(t for t, kind in zip(used, kinds, strict=True) if kind != 1)
        writes = tuple(t for t, kind in zip(used, kinds, strict=True) if kind != 0)
        first_read.update(t for t in reads if t not in written)
        written.update(writes)
        cut = frozenset(t for t in used if batched[t])
        can = bool(cut) and random.random() < 0.85
        operation = TileableOperation(
            name=f"o{at}",
            reads=reads,
            writes=writes,
            cut=cut if can else frozenset(),
            partial_sums=frozenset(t for t in writes if not batched[t]) if can else frozenset(),
        )
        for micro_batches in (1, 2, 4) if can else (1,):
            each = [
                _mappings(random, operation, micro_batches, macs=4 * (at % 3 < 2))
                for _ in range(mappings)
            ]
            first, later = zip(*each, strict=True)
            operation.mappings[micro_batches] = TileMappings.of(first, later)
        operations.append(operation)
    tensors = tuple(
        Tensor(
            name=f"t{t}",
            size_bytes=size,
            in_dram=t in first_read or (t not in written or bool(random.random() < 0.3)),
            keep=bool(random.random() < 0.5),
        )
        for t, size in enumerate(sizes)
    )
    return TileableGraph(
        name=f"random {seed}",
        machine=machine,
        tensors=tensors,
        operations=tuple(operations),
        batch=BATCH,
        mapper="custom",
        others=tuple(
            _along(random, machine, tensors, operations, f"axis {number}", mappings)
            for number in range(1, axes)
        ),
    )


def _along(  # noqa: PLR0917
    random: np.random.Generator,
    machine: Machine,
    tensors: tuple[Tensor, ...],
    operations: Sequence[TileableOperation],
    name: str,
    mappings: int,
) -> TileableGraph:
    """Make the same operations along another axis, along which others can be tiled."""
    along = random.random(len(tensors)) < 0.6
    found = list[TileableOperation]()
    for operation in operations:
        used = {*operation.reads, *operation.writes}
        cut = frozenset(t for t in used if along[t])
        can = bool(cut) and random.random() < 0.85
        other = replace(
            operation,
            cut=cut if can else frozenset(),
            partial_sums=frozenset(t for t in operation.writes if not along[t] and can),
            mappings={1: operation.mappings[1]},
        )
        if can:
            macs = 4 * operation.is_product
            each = [_mappings(random, other, 2, macs) for _ in range(mappings)]
            first, later = zip(*each, strict=True)
            other.mappings[2] = TileMappings.of(first, later)
        found.append(other)
    return TileableGraph(
        name="along",
        machine=machine,
        tensors=tensors,
        operations=tuple(found),
        batch=2,
        along=name,
        mapper="custom",
    )


def _mappings(
    random: np.random.Generator, operation: TileableOperation, micro_batches: int, macs: int
) -> tuple[OpMapping, OpMapping]:
    """Return mappings that are not much alike from one number of fusion tiles to another."""
    fetches = {t: int(random.choice([1, 1, 1, 2, 3])) for t in operation.uses(0)}
    fixed = {t: bool(random.random() < 0.15) for t in operation.uses(0)}
    cycles = int(random.integers(0, 30)) // micro_batches
    scratch = int(random.choice([0, 0, 0, 1, 2]))

    def mapping(fusion_tile: int) -> OpMapping:
        operands = tuple(
            Operand(fetches=fetches[t], required_resident=fixed[t])
            for t in operation.uses(fusion_tile)
        )
        return OpMapping(
            compute_cycles=cycles,
            operands=operands,
            scratch_bytes=scratch,
            macs=macs // micro_batches,
        )

    return mapping(0), mapping(1)


def fusion_plans(
    tileable: TileableGraph,
    begin: int = 0,
    *,
    ways: Sequence[tuple[int, int, int]] = (),
    longest_first: bool = False,
) -> Iterator[FusionPlan]:
    """Yield all fusion plans of the operations from one on.

    ``ways``: tiles, stripes, and the axis; by default all, without stripes.
    """
    count = len(tileable.operations)
    if begin == count:
        yield ()
        return
    for end in range(begin + 1, count + 1)[:: -1 if longest_first else 1]:
        further = [(2, 1, axis) for axis in range(1, len(tileable.axes))]
        every = [(1, 1, 0), (2, 1, 0), (4, 1, 0), *further]
        for micro_batches, stripes, axis in ways or every:
            fused_group = FusedGroup(
                begin=begin, end=end, micro_batches=micro_batches, stripes=stripes, axis=axis
            )
            if not tileable.obstacle(fused_group):
                for rest in fusion_plans(tileable, end, ways=ways, longest_first=longest_first):
                    yield (fused_group, *rest)


def fits(tileable: TileableGraph, fusion_plan: Iterable[FusedGroup]) -> bool:
    """Return whether each operation of some fused groups fits."""
    return all(
        tileable.along_axis(s.axis).fits(at, s.micro_batches)
        for s in fusion_plan
        for at in range(s.begin, s.end)
    )


def duplex(tileable: TileableGraph) -> TileableGraph:
    """The tileable graph on a machine with a channel each way."""
    return replace(tileable, machine=replace(tileable.machine, duplex=True))
