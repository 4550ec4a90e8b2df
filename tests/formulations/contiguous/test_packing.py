"""Bases for blocks, on scratchpads of a few pages: all of them, the best, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from formulations.contiguous import packing
from formulations.contiguous.blocks import Block
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.packing import ORDERS, cut, fit, pack
from spmopt.core.scheduler import Request


def block(begin: int, heights: Sequence[int], required: Sequence[int] = ()) -> Block:
    """A block that is used in its first step and its last, and ``required`` in some."""
    return Block(
        tensor=0,
        begin=begin,
        heights=np.array(heights),
        uses=np.unique((begin, begin + len(heights) - 1)),
        required_resident=np.array(required, np.int64),
    )


def placed(blocks: Sequence[Block], pages: int, scratch: Sequence[int]) -> bool:
    return fit(list(blocks), pages, np.array(scratch), Request(time_limit_s=5.0))


def test_all_blocks_fit_below_the_scratch_where_they_leave_room_for_each_other() -> None:
    # Side by side in steps 0 and 2; in step 1 the first lends 3 of its pages.
    blocks = [block(0, [4, 1, 4]), block(1, [3])]
    assert placed(blocks, 5, [1, 1, 0])
    low, high = (int(one.base) for one in blocks)
    assert (low, high) == (0, 1)


def test_no_bases_where_two_blocks_and_the_scratch_need_a_page_too_many() -> None:
    assert placed([block(0, [2, 2]), block(0, [2, 2])], 5, [1, 0])
    assert not placed([block(0, [2, 2]), block(0, [2, 2])], 5, [2, 0])


def test_a_block_goes_where_all_of_it_fits_rather_than_where_a_page_is_lost() -> None:
    memory = SpmMap(10, np.zeros(2, np.int64))
    memory.take(7, 3, 0, np.array([3, 3]))  # leaves pages 0 to 2, and 6 to 9
    one = block(0, [4, 4])
    assert pack([one], memory, ORDERS["area"])
    assert (one.base, one.heights.tolist()) == (6, [4, 4])


def test_pages_that_are_taken_after_the_next_use_are_not_lost_before_it() -> None:
    """At 0 two pages are lost before the last use, at 4 three before the second."""
    memory = SpmMap(8, np.zeros(4, np.int64))
    memory.take(7, 2, 3, np.array([2]))
    memory.take(8, 5, 0, np.array([3]))
    one = replace(block(0, [4] * 4), uses=np.array([0, 1, 3]))
    assert pack([one], memory, ORDERS["area"])
    assert one.base == 0


@pytest.mark.parametrize(
    ("order", "first"),
    [("peak", [1, 5]), ("area", [3, 3, 3, 3]), ("begin", [2, 2])],
)
def test_the_order_says_which_block_is_packed_at_the_bottom(order: str, first: list[int]) -> None:
    blocks = [block(1, [3, 3, 3, 3]), block(1, [1, 5]), block(0, [2, 2])]
    assert pack(blocks, SpmMap(20, np.zeros(5, np.int64)), ORDERS[order])
    assert [one.heights.tolist() for one in blocks if one.base == 0] == [first]


def test_the_highest_of_very_many_bases_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_FEW", 5)
    memory = SpmMap(40, np.zeros(1, np.int64))
    for owner in range(10):  # every other page is taken, up to page 19
        memory.take(1 + owner, 2 * owner + 1, 0, np.array([1]))
    one = block(0, [2])
    assert pack([one], memory, ORDERS["area"], owners=[0])
    assert one.base == 20


@pytest.mark.parametrize("order", ORDERS)
def test_packed_stays_keep_apart(order: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        blocks = []
        for _ in range(12):
            heights = rng.integers(1, 7, rng.integers(1, 6)).tolist()
            blocks.append(block(int(rng.integers(0, 15)), heights))
        wanted = [one.heights for one in blocks]
        assert pack(blocks, SpmMap(10, np.zeros(21, np.int64)), ORDERS[order])
        taken = np.zeros((21, 10), int)
        for one, heights in zip(blocks, wanted, strict=True):
            assert (one.heights <= heights).all()
            for step, height in enumerate(one.heights.tolist(), one.begin):
                taken[step, one.base : one.base + height] += 1
        assert taken.max() == 1


def test_a_stay_is_cut_where_least_is_lost() -> None:
    # The first fills pages 0 to 5 of 8; above it there is room for 2 pages of the second.
    blocks = [block(0, [6, 6, 6]), block(1, [4, 4])]
    assert pack(blocks, SpmMap(8, np.zeros(3, np.int64)), ORDERS["area"])
    assert [one.base for one in blocks] == [0, 6]
    assert blocks[1].heights.tolist() == [2, 2]


def test_a_required_resident_operand_is_never_cut() -> None:
    blocks = [block(0, [6, 6, 6]), block(1, [4, 4], [1])]
    assert pack(blocks, SpmMap(8, np.zeros(3, np.int64)), ORDERS["area"])
    assert blocks[1].heights.tolist() == [4, 4]
    assert blocks[0].heights.tolist() in ([6, 4, 4], [4, 4, 4], [6, 4, 6])
    crowd = [block(0, [5], [0]), block(0, [5], [0])]
    assert not pack(crowd, SpmMap(8, np.zeros(1, np.int64)), ORDERS["area"])


def test_what_is_cut_comes_back_at_a_use() -> None:
    one = replace(block(0, [2, 4, 4, 4, 4, 4]), base=0, uses=np.array([0, 4]))
    assert cut(one, np.array([9, 9, 1, 9, 9, 9])).tolist() == [2, 4, 1, 1, 4, 4]
