"""Tiles of products: never beaten by any other, always with room, less traffic with more room."""

from __future__ import annotations

from itertools import permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand
from spmopt.graph.buffers import Lines, Window
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tiles import (
    SHARE,
    ProductTensors,
    budget_bytes,
    least_traffic,
    sizes_of_tiles,
    stream_operands,
)
from spmopt.graph.tiling import Tiling
from tests.thorough import some
from tests.tiny import plain_machine

PAGE = 16
ELEMENT = 4


def machine(pages: int) -> Machine:
    return plain_machine(pages * PAGE, page_bytes=PAGE)


def sizes(gemm: Gemm) -> list[int]:
    m, k, n = gemm.m, gemm.k, gemm.n
    return [ELEMENT * gemm.batch * each for each in (m * k, k * n, m * n)]


def tiled(gemm: Gemm, pages: int, *, added: bool = False, others: int = 0) -> Tiling:
    """Tensors 0, 1, 2 are A, B, C; C is also an input where it is added to."""
    inputs = [0, 1, 2] if added else [0, 1]
    tensors = ProductTensors(gemm, inputs, [2], sizes(gemm), maps={}, others=others)
    return least_traffic(tensors, machine(pages))


def traffic(gemm: Gemm, tiling: Tiling, *, added: bool = False) -> int:
    p = [tiling.operands.get(t, Operand()).fetches for t in range(3)]
    moved = [p[0], p[1], 2 * p[2] if added else 2 * p[2] - 1]
    return sum(map(prod, zip(moved, sizes(gemm), strict=True)))


def walked(gemm: Gemm, tile: tuple[int, ...], order: tuple[int, ...], *, added: bool) -> int:
    """Bytes that a loop over tiles moves, one tile of each operand on chip at a time."""
    extents = [
        range(0, size, each) for size, each in zip((gemm.m, gemm.k, gemm.n), tile, strict=True)
    ]
    held: list[object] = [None] * 3
    begun = set[object]()
    moved = 0
    for at in product(*(extents[d] for d in order)):
        place = dict(zip(order, at, strict=True))
        for operand, axes in enumerate(((0, 1), (1, 2), (0, 2))):
            corner = tuple(place[d] for d in axes)
            if held[operand] == corner:
                continue
            held[operand] = corner
            whole = (gemm.m, gemm.k, gemm.n)
            part = ELEMENT * prod(min(tile[d], whole[d] - place[d]) for d in axes)
            moved += part
            if operand == 2 and (added or corner in begun):
                moved += part  # partial sums come back
            begun |= {corner} if operand == 2 else set()
    return moved * gemm.batch


def least(gemm: Gemm, room: int, *, added: bool) -> int | None:
    """The least traffic of all tiles in all orders of loops, two tiles of each operand on chip."""
    whole = (gemm.m, gemm.k, gemm.n)
    found = []
    for tile in product(*(range(1, size + 1) for size in whole)):
        needed = 0
        for p, q in ((0, 1), (1, 2), (0, 2)):
            most = ELEMENT * whole[p] * whole[q] * (2 if gemm.batch > 1 else 1)
            needed += min(2 * ELEMENT * tile[p] * tile[q], most)
        if needed <= room:
            found += [walked(gemm, tile, order, added=added) for order in permutations(range(3))]
    return min(found, default=None)


def test_tiles_of_every_number_along_a_side_are_tried() -> None:
    for length in range(1, 400):
        wanted = {-(-length // count) for count in range(1, length + 1)}
        assert list(sizes_of_tiles(length)) == sorted(wanted)


@settings(max_examples=60, deadline=None)
@example(shape=(3, 3, 4), batch=1, pages=8, added=False)  # two tiles of a side of three
@given(
    shape=st.tuples(*[st.integers(1, 5)] * 3),
    batch=st.integers(1, 2),
    pages=st.integers(1, 40),
    added=st.booleans(),
)
def test_no_other_tiles_move_less(
    shape: tuple[int, int, int], batch: int, pages: int, added: bool
) -> None:
    m, k, n = shape
    gemm = Gemm(m=m, k=k, n=n, batch=batch, slices=(batch,) * 3)
    found = tiled(gemm, pages, added=added)
    best = least(gemm, budget_bytes(machine(pages)), added=added)
    if REQUIRED_RESIDENT in found.operands.values():
        assert batch == 1
        assert traffic(gemm, found, added=added) == sum(sizes(gemm)) + added * sizes(gemm)[2]
    elif best is not None:
        assert traffic(gemm, found, added=added) == best


@settings(max_examples=200, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 40)] * 3),
    batch=st.integers(1, 3),
    sliced=st.booleans(),
    others=st.integers(0, 100),
    data=st.data(),
)
def test_it_fits_and_more_room_never_means_more_traffic(
    shape: tuple[int, int, int], batch: int, sliced: bool, others: int, data: st.DataObject
) -> None:
    m, k, n = shape
    gemm = Gemm(m=m, k=k, n=n, batch=batch, slices=(batch if sliced else 1,) * 3)
    before = None
    for pages in sorted(data.draw(st.sets(st.integers(1, 400), min_size=1, max_size=8))):
        found = tiled(gemm, pages, others=others)
        required_resident = [t for t in range(3) if found.operands.get(t) == REQUIRED_RESIDENT]
        kept = [sizes(gemm)[t] for t in required_resident]
        taken = sum(map(machine(pages).pages, [*kept, found.scratch_bytes]))
        assert taken <= max(1, int(pages * SHARE))
        assert found.scratch_bytes > 0
        assert not (sliced and batch > 1 and required_resident)
        moved = traffic(gemm, found)
        assert before is None or moved <= before
        before = moved


@pytest.mark.parametrize("seed", some(range(100), 5))
def test_nor_does_it_where_maps_have_halos(seed: int) -> None:
    """From scratchpads on in which not even the least tiles fit; those of all positions may."""
    draw = np.random.default_rng(seed).integers
    gemm = Gemm(m=int(draw(1, 40)), k=int(draw(1, 40)), n=int(draw(1, 40)))
    place, before = int(draw(2)) * 2, None
    slide = Window(sizes(gemm)[place] + int(draw(50)), int(draw(400)), int(draw(40)))
    maps = {place: Lines(int(draw(1, 600)), slide), 2 - place: Lines(int(draw(1, 300)))}
    tensors = ProductTensors(gemm, [0, 1], [2], sizes(gemm), maps=maps)
    for pages in range(1, 300, 7):
        moved = traffic(gemm, least_traffic(tensors, machine(pages)))
        assert before is None or moved <= before
        before = moved


def test_the_operand_that_takes_least_room_is_required_resident() -> None:
    # 16 B of B take a page, two rows of A and of C, of 8 B each, two pages.
    found = tiled(Gemm(m=100, k=2, n=2), 6)
    assert found.operands == {1: REQUIRED_RESIDENT}
    assert found.scratch_bytes == 2 * (2 + 2) * ELEMENT
    # One page less, and nothing is.
    assert REQUIRED_RESIDENT not in tiled(Gemm(m=100, k=2, n=2), 5).operands.values()


@pytest.mark.parametrize("kept", range(3))
def test_the_smallest_stays_of_large_products(kept: int) -> None:
    long = {0: 2, 1: 0, 2: 1}[kept]  # the dimension that the smallest lacks
    m, k, n = (200 if d == long else 10 for d in range(3))
    assert tiled(Gemm(m=m, k=k, n=n), 200).operands == {kept: REQUIRED_RESIDENT}


@pytest.mark.parametrize("pages", [2, 4, 16, 128])
def test_what_bypasses_neither_stays_nor_has_a_buffer(pages: int) -> None:
    gemm = Gemm(m=40, k=8, n=4, a=(0,), b=(1,), c=(0,))
    free = tiled(gemm, pages)
    tensors = ProductTensors(gemm, [0, 1], [2], sizes(gemm), maps={}, bypassing={1})
    barred = least_traffic(tensors, machine(pages))
    assert not barred.operands.get(1, Operand()).required_resident
    assert barred.scratch_bytes <= budget_bytes(machine(pages))
    if pages == 128:
        assert free.operands == {1: REQUIRED_RESIDENT}
        # Two rows of A, of what it shares with C; B has none.
        assert barred == Tiling(operands={2: REQUIRED_RESIDENT}, scratch_bytes=2 * ELEMENT * 40)


def test_a_tensor_in_two_places_is_fetched_for_each() -> None:
    assert stream_operands([[0], [0], [1]], (3, 2, 1)) == {0: Operand(fetches=5), 1: Operand()}


def test_windows_keep_their_lines() -> None:
    """A feature map streams past W by lines, of which so many are on chip."""
    gemm = Gemm(m=64, k=18, n=4)
    maps = {0: Lines(96, Window(512, 48, 0)), 2: Lines(64)}
    tensors = ProductTensors(gemm, [0, 1], [2], [512, 288, 1024], maps=maps)
    found = least_traffic(tensors, machine(100))
    assert found == Tiling(operands={1: REQUIRED_RESIDENT}, scratch_bytes=96 + 64)
    # Without room for W two tiles of C stay, and rows of A have their share of the lines.
    found = least_traffic(tensors, machine(20))
    assert REQUIRED_RESIDENT not in found.operands.values()
    assert found.scratch_bytes <= 10 * PAGE


def test_no_halo_is_read_again() -> None:
    """That of all channels stays where other channels come between two tiles of positions."""
    gemm = Gemm(m=64, k=18, n=4)
    without, slides = (
        ProductTensors(
            gemm, [0, 1], [2], [512, 288, 1024], maps={0: Lines(96, window), 2: Lines(64)}
        ).product
        for window in (None, Window(512, 48, 0))
    )
    tile = (8, 1, 4)
    # Weights that are kept see positions one after another, and so does a kept map: a share of 48.
    for kept in (0, 1):
        assert slides.buffers(tile, kept) - without.buffers(tile, kept) == 3
    # Else 48 bytes of all channels; tiles of all positions need none.
    assert slides.buffers(tile, 2) - without.buffers(tile, 2) == 48
    assert slides.buffers((64, 1, 4), 2) == without.buffers((64, 1, 4), 2)


def test_tiles_hold_whole_channels() -> None:
    """Nine taps of two channels: one channel at a time, past which two rows are two channels."""
    gemm = Gemm(m=64, k=18, n=4, taps=(1, 9, 1))
    product = ProductTensors(gemm, [0, 1], [2], [512, 288, 1024], maps={}).product
    assert product.dimensions == (64, 2, 4)
    assert product.row_buffers(2) == 512 + 288
