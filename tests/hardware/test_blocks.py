"""Products in blocks: cycles of part-filled ones, and the settings that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Blocks
from spmopt.graph.build import GraphBuilder
from spmopt.graph.cycles import block_count
from spmopt.graph.lower import lower
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.settings import from_settings, to_settings
from spmopt.io.codec import decode, encode

U65 = load_machine("ethos-u65")


def cycles(
    channels: int, filters: int, side: int, *, kernel: int = 3, group: int = 1, of: str = "int8"
) -> int:
    b = GraphBuilder("convolution", element_type=of)
    x = b.input("x", (1, channels, side, side))
    w = b.weight("w", (filters, channels // group, kernel, kernel))
    pads = (kernel // 2,) * 4
    problem = lower(b.finish([b.add("Conv", [x, w], pads=pads, group=group)]), U65)
    return problem.operations[0].mappings[0].compute_cycles


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


def test_settings_and_records_keep_them() -> None:
    assert U65.blocks == Blocks(rows=4, columns=16, depth=32, window=4)
    assert from_settings(to_settings(U65), "x") == U65
    assert decode(encode(U65), type(U65), "machine") == U65
    plain = replace(U65, blocks=None)
    assert "blocks" not in encode(plain)
    given = {"blocks.rows": 4, "blocks.columns": 16, "blocks.depth": 32, "blocks.window": 4}
    assert override(plain, given).blocks == U65.blocks


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"blocks.rows": 0}, "rows"),
        ({"blocks.window": 5}, "window must divide depth"),
        ({"array.rows": 8, "array.columns": 8}, "array and blocks both time its products"),
    ],
)
def test_bad_blocks_are_one_line(settings: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        override(U65, settings)
    assert "\n" not in str(caught.value)
