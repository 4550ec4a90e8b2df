"""A tileable graph made by hand is held to what bounds on fusion plans rest on."""

import pytest

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import TileableOperation, TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor

TILES = 4


def graph(size_bytes: int, summed: bool, counts: tuple[int, ...] = (1, TILES)) -> TileableGraph:
    """One operation reads ``x``, in parts, and writes ``w``, which is whole to each fusion tile."""
    one = TileableOperation(
        name="o",
        reads=(0,),
        writes=(1,),
        cut=frozenset({0}),
        partial_sums=frozenset({1}) if summed else frozenset(),
    )
    for count in counts:
        mapping = OpMapping(compute_cycles=0, operands=(Operand(), Operand()))
        one.mappings[count] = TileMappings(mapping, mapping)
    return TileableGraph(
        name="by hand",
        machine=Machine(
            name="small",
            spm_bytes=8,
            dram_bytes_per_s=1,
            clock_hz=1,
            operations_per_s=1,
            page_bytes=1,
        ),
        tensors=(
            Tensor(name="x", size_bytes=size_bytes, in_dram=True, keep=False),
            Tensor(name="w", size_bytes=10, in_dram=False, keep=True),
        ),
        operations=(one,),
        batch=TILES,
        mapper="custom",
    )


def test_sums_of_equal_parts_are_taken() -> None:
    assert graph(8, summed=True).fusion_space().micro_batches == (1, TILES)


def test_whole_operations_may_write_anything() -> None:
    graph(7, summed=False, counts=(1,))


def test_a_part_of_a_byte_is_refused() -> None:
    """Four parts of 1 byte are made of 7: a bound by 7 bytes would be too high."""
    with pytest.raises(InputError, match="o: x, 7 bytes, does not divide into 4 fusion tiles"):
        graph(7, summed=True)


def test_a_result_that_each_fusion_tile_writes_anew_is_refused() -> None:
    """Of the first three tiles it is dead: a bound that stores it four times would be too high."""
    with pytest.raises(InputError, match="o: w is whole to each fusion tile"):
        graph(8, summed=False)
