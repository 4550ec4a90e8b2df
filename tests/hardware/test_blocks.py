"""Products in blocks: cycles of part-filled ones, and the settings that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Blocks, Machine
from spmopt.graph.build import GraphBuilder
from spmopt.graph.cycles import block_count
from spmopt.graph.lower import lower
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.settings import from_settings, to_settings
from spmopt.io.codec import decode, encode
from spmopt.search.candidate import Candidate
from spmopt.tiles.partition import scale

U65 = load_machine("ethos-u65")
# Products alone: weights load and results leave in no time.
PLAIN = replace(U65, blocks=Blocks(rows=4, columns=16, depth=32, window=4), vector=None)


def cycles(
    channels: int,
    filters: int,
    side: int,
    *,
    kernel: int = 3,
    group: int = 1,
    of: str = "int8",
    on: Machine = PLAIN,
) -> int:
    b = GraphBuilder("convolution", element_type=of)
    x = b.input("x", (1, channels, side, side))
    w = b.weight("w", (filters, channels // group, kernel, kernel))
    pads = (kernel // 2,) * 4
    problem = lower(b.finish([b.add("Conv", [x, w], pads=pads, group=group)]), on)
    return problem.operations[0].mappings[0].compute_cycles


def with_blocks(**settings: int) -> Machine:
    return override(PLAIN, {f"blocks.{name}": value for name, value in settings.items()})


def test_cycles_of_convolutions_by_hand() -> None:
    """Four cycles a block of 4 positions, 16 filters, and 32 channels or 8 of 4 elements."""
    assert cycles(64, 64, 8) == 4 * 16 * 4 * (9 * 2)  # full blocks: 512 products a cycle
    assert cycles(64, 64, 8) == 64 * 64 * 64 * 9 // 512
    assert cycles(16, 16, 32) == 4 * 256 * 1 * (3 * 2)  # 8 channels of 4 of the 9 elements
    assert cycles(3, 16, 32) == 4 * 256 * 1 * 3  # 3 of 8 channels
    assert cycles(16, 17, 32, kernel=1) == 4 * 256 * 2
    # Depthwise: 16 groups side by side, and 4 elements of each.
    assert cycles(64, 64, 8, group=64) == 4 * 16 * 4 * 3
    # Two groups of many channels are two products.
    assert cycles(64, 64, 8, group=2) == 2 * 4 * 16 * 2 * 9
    assert cycles(64, 64, 8, of="int16") == 2 * cycles(64, 64, 8)


def test_a_product_without_windows() -> None:
    blocks = Blocks(rows=4, columns=16, depth=32)
    assert block_count(blocks, Gemm(m=1, k=100, n=10)) == 4
    # A batch of products of one channel, as attention has, is no convolution.
    assert block_count(blocks, Gemm(batch=12, m=8, k=64, n=1)) == 12 * 2 * 2


def test_weights_take_time_to_load() -> None:
    """Few positions wait for weights: 2 blocks of 4 positions each take as long as 8."""
    slow = with_blocks(load=8)
    assert cycles(32, 16, 2, kernel=1) == 4
    assert cycles(32, 16, 2, kernel=1, on=slow) == 4 * 8
    # Two sets of columns, two of depth.
    assert cycles(64, 32, 2, kernel=1, on=slow) == 4 * 8 * 2 * 2
    # 36 positions are 9 blocks.
    assert cycles(64, 32, 6, kernel=1, on=slow) == cycles(64, 32, 6, kernel=1) == 4 * 9 * 2 * 2
    assert cycles(16, 16, 2, group=16, on=slow) == 4 * 8 * 3


def test_results_leave_beside_products() -> None:
    """8 results a cycle, and 1024 of them are summed up while those before leave."""
    own = with_blocks(outputs=8, accumulators=1024)
    # 4096 results leave in 512 cycles. Products take 4608; a quarter of the results leave after.
    assert cycles(64, 64, 8) == 4608
    assert cycles(64, 64, 8, on=own) == 4608 + 512 // 4
    # 32 channels of one element take 256 cycles: results decide, a quarter of products are before.
    assert cycles(32, 64, 8, kernel=1) == 256 * 1
    assert cycles(32, 64, 8, kernel=1, on=own) == 512 + 256 // 4
    # All 256 results are summed up before any leaves.
    assert cycles(32, 16, 4, kernel=1, on=own) == 16 + 256 // 8
    # Groups count, each of 64 results: 64 x 64 of them again.
    assert cycles(64, 64, 8, group=64, on=own) == 4 * 16 * 4 * 3 + 512 // 4


def pooling(operator: str, on: Machine) -> int:
    b = GraphBuilder("pooling", element_type="int8")
    x = b.input("x", (1, 20, 8, 8))
    if operator in ("MaxPool", "AveragePool"):
        y = b.add(operator, [x], kernel_shape=(2, 2), strides=(2, 2))
    else:
        y = b.add(operator, [x])
    return lower(b.finish([y]), on).operations[0].mappings[0].compute_cycles


def test_poolings_in_blocks() -> None:
    """20 channels in two sets of columns; no weights to load, but results that leave."""
    own = with_blocks(pool=1, load=8)
    assert pooling("MaxPool", own) == 4 * 4 * 2 * 4
    assert pooling("AveragePool", own) == pooling("MaxPool", own)
    assert pooling("GlobalAveragePool", own) == 4 * 1 * 2 * 64
    assert pooling("MaxPool", with_blocks(pool=4)) == 4 * 4 * 2
    # 320 results leave in 40 cycles, after a fifth of the products.
    assert pooling("MaxPool", with_blocks(pool=1, outputs=8, accumulators=64)) == 128 + 8
    # By the vector unit otherwise, here at the rate of products: 1280 operations in two cycles.
    assert pooling("MaxPool", PLAIN) == 2
    assert pooling("Softmax", own) == pooling("Softmax", PLAIN)


def test_cores_empty_their_accumulators_side_by_side() -> None:
    own = with_blocks(outputs=8, accumulators=1024)
    two = Candidate.of(own, {"cores": 2}).machine
    assert two.blocks == with_blocks(outputs=16, accumulators=2048).blocks
    assert scale(own, 2).blocks == two.blocks
    assert cycles(64, 64, 8, on=two) == 4608 // 2 + 256 // 2
    assert Candidate.of(PLAIN, {"cores": 2}).machine.blocks == PLAIN.blocks


@pytest.mark.parametrize("machine", [U65, PLAIN, with_blocks(load=2)])
def test_settings_and_records_keep_them(machine: Machine) -> None:
    assert from_settings(to_settings(machine), "x") == machine
    record = encode(machine)
    assert decode(record, Machine, "machine") == machine
    # Files of versions without these fields have none either.
    own = machine.blocks
    assert own is not None
    assert ("load" in record["blocks"]) is (own.load is not None)
    assert ("outputs" in record["blocks"]) is (own.outputs is not None)
    assert ("pool" in record["blocks"]) is (own.pool is not None)


def test_settings_of_blocks() -> None:
    plain = replace(PLAIN, blocks=None)
    assert "blocks" not in encode(plain)
    given = {"blocks.rows": 4, "blocks.columns": 16, "blocks.depth": 32, "blocks.window": 4}
    assert override(plain, given).blocks == PLAIN.blocks
    more = {"blocks.load": 8, "blocks.outputs": 8, "blocks.accumulators": 4096}
    more["blocks.pool"] = 1
    assert override(plain, {**given, **more}).blocks == Blocks(
        rows=4, columns=16, depth=32, window=4, load=8, outputs=8, accumulators=4096, pool=1
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"blocks.rows": 0}, "rows"),
        ({"blocks.window": 5}, "window must divide depth"),
        ({"blocks.load": 0}, "load must be at least 1, is 0"),
        ({"blocks.outputs": 8}, "outputs and accumulators go together"),
        ({"array.rows": 8, "array.columns": 8}, "array and blocks both time its products"),
    ],
)
def test_bad_blocks_are_one_line(settings: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        override(PLAIN, settings)
    assert "\n" not in str(caught.value)
