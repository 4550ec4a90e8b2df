"""Tilings to choose among: against all tiles, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.graph.buffers import Lines, Window
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tile_choice import other_tilings
from spmopt.graph.tiles import Product, ProductTensors
from spmopt.graph.tiling import Tiling
from spmopt.hardware.machines import load_machine
from tests.graph.test_tiles import machine
from tests.thorough import some

Shape = tuple[int, int, int]


def tilings(shape: Shape, pages: int) -> list[Tiling]:
    m, k, n = shape
    sizes = [m * k, k * n, m * n]
    tensors = ProductTensors(Gemm(m=m, k=k, n=n), [0, 1], [2], sizes, maps={})
    return other_tilings(tensors, machine(pages))


def figures(shape: Shape, kept: int, tile: Sequence[int], single: bool) -> tuple[int, list[int]]:
    """Bytes of buffers, and fetches, of tiles of one operand past which the others stream."""
    sides = ((0, 1), (1, 2), (0, 2))
    trips = [-(-size // each) for size, each in zip(shape, tile, strict=True)]
    room, fetches = 0, list[int]()
    for operand, (p, q) in enumerate(sides):
        copies = 1 if single and operand == kept else 2
        room += min(copies * tile[p] * tile[q], shape[p] * shape[q])
        (lacking,) = {0, 1, 2} - {p, q}
        fetches.append(1 if operand == kept else trips[lacking])
    return room, fetches


def traffic_of(shape: Shape, fetches: Sequence[int], free: int) -> int:
    m, k, n = shape
    passes = (fetches[0], fetches[1], 2 * fetches[2] - 1)
    sizes = (m * k, k * n, m * n)
    return sum(passes[k] * sizes[k] for k in range(3) if k != free)


@pytest.mark.parametrize("seed", some(range(40), 4))
def test_each_fits_and_none_moves_less_in_all_of_the_scratchpad(seed: int) -> None:
    """Whatever operand is on chip, and with one buffer of the kept tile or two."""
    generator = np.random.default_rng(seed)
    m, k, n = (int(each) for each in generator.integers(2, 14, 3))
    shape, pages = (m, k, n), int(generator.integers(3, 30))
    room = pages * machine(1).page_bytes
    found = tilings(shape, pages)
    sizes = [m * k, k * n, m * n]
    for each in found:
        own = [sizes[t] for t, operand in each.operands.items() if operand.required_resident]
        held = sum(-(-size // machine(1).page_bytes) for size in [each.scratch_bytes, *own])
        assert held <= pages
        assert each.serial_bytes in (0, *sizes)
    streamed = [each for each in found if len(each.operands) == 3]
    for single, free in product((False, True), (-1, 0, 1, 2)):
        ours = [
            traffic_of(shape, tuple(each.operands[t].fetches for t in range(3)), free)
            for each in streamed
            if single or not each.serial_bytes
        ]
        least = None
        for kept in range(3):
            (third,) = {0, 1, 2} - set(((0, 1), (1, 2), (0, 2))[kept])
            sides = [range(1, size + 1) for size in shape]
            sides[third] = range(1, 2)
            for tile in product(*sides):
                for one in {False, single}:
                    needed, fetches = figures(shape, kept, tile, one)
                    if needed <= room:
                        traffic = traffic_of(shape, fetches, free)
                        least = traffic if least is None else min(least, traffic)
        assert (min(ours) if ours else None) == least, (single, free)


@pytest.mark.parametrize(("kib", "most"), [(64, 1_835_008), (128, 1_310_720)])
def test_a_textbook_tiling_is_among_them(kib: int, most: int) -> None:
    """512 x 512 x 512 in 128 KiB: 208 rows of A stay in one buffer; B passes three times."""
    own = replace(load_machine("small-npu"), spm_bytes=kib * 1024)
    gemm = Gemm(m=512, k=512, n=512)
    found = other_tilings(ProductTensors(gemm, [0, 1], [2], [512 * 512] * 3, maps={}), own)
    streamed = [each.operands for each in found if len(each.operands) == 3]
    fetches = [tuple(each[t].fetches for t in range(3)) for each in streamed]
    assert min(traffic_of((512, 512, 512), each, -1) for each in fetches) <= most


def test_of_operands_of_many_gb_tiles_are_those_of_smaller_elements() -> None:
    """Four times the bytes of everything: products of bytes and elements exceed 64 bits."""
    shape = 20, 200_000, 200_000
    found = []
    for size in (1, 4):
        own = replace(load_machine("small-npu"), spm_bytes=size << 20, page_bytes=size << 10)
        sizes = [size * shape[p] * shape[q] for p, q in ((0, 1), (1, 2), (0, 2))]
        gemm = Gemm(m=shape[0], k=shape[1], n=shape[2])
        tilings = other_tilings(ProductTensors(gemm, [0, 1], [2], sizes, maps={}), own)
        found.append([(each.scratch_bytes // size, each.operands) for each in tilings])
    assert found[0] == found[1]


def room_of(shape: Product, tile: Sequence[int], kept: int, copies: int) -> int:
    """Bytes of buffers by the rules of the contract, one operand after another."""
    total = 0
    for k, term in zip(shape.buffered, shape.terms, strict=True):
        (p, q), often = term.sides, copies if k == kept else 2
        found = often * -(-term.whole * tile[p] * tile[q] // term.elements)
        if term.lines and tile[shape.positions] < shape.dimensions[shape.positions]:
            channels = tile[term.across]
            of_halo = shape.dimensions[term.across] if shape.returns(k, kept) else channels
            found += often * -(-term.seam * channels // term.parts)
            found += -(-term.halo * of_halo // term.parts)
            found = max(found, -(-term.lines * channels // term.parts))
        total += min(found, term.limit)
    return total


@pytest.mark.parametrize("shape", [(100_003, 90_001, 100_003), (300_001, 64_001, 300_007)])
def test_of_odd_numbers_of_int4_too_they_have_the_room_of_their_elements(shape: Shape) -> None:
    own = load_machine("tpuv4i")
    sizes = [(shape[p] * shape[q] + 1) // 2 for p, q in ((0, 1), (1, 2), (0, 2))]
    gemm = Gemm(m=shape[0], k=shape[1], n=shape[2])
    tensors = ProductTensors(gemm, [0, 1], [2], sizes, maps={})
    for tile in ([700, 1, 900], [20_000, 1, 3_000], [64_000, 1, 60_001]):
        # An element is half a byte: of C, which is kept, and of a row of A and of B.
        least = sum(tile[p] * tile[q] for p, q in ((0, 1), (1, 2), (0, 2)))
        found = int(tensors.product.buffers(tile, 2))
        assert least <= found <= 1.000001 * least + 6
    room = own.spm_pages * own.page_bytes
    assert all(0 < each.scratch_bytes <= room for each in other_tilings(tensors, own))


@given(st.data())
def test_many_tiles_take_the_room_of_each(data: st.DataObject) -> None:
    """Arrays against one tile: of feature maps with lines, in slices, with windows or without."""
    sides = st.integers(1, 20)
    gemm = Gemm(m=data.draw(sides), k=data.draw(sides), n=data.draw(sides))
    whole = [data.draw(st.integers(1, 500)) for _ in range(3)]
    some = st.integers(0, 60)
    windows = st.none() | st.builds(Window, st.integers(1, 500), some, some)
    maps = {place: Lines(data.draw(some), data.draw(windows)) for place in (0, 2)}
    shape = ProductTensors(gemm, [0, 1], [2], whole, maps=maps).product
    for kept in range(3):
        tiles = [[data.draw(st.integers(1, size)) for size in shape.dimensions] for _ in range(3)]
        found = shape.buffers([*np.array(tiles).T], kept, np.array([[2], [1]]))
        for at, tile in enumerate(tiles):
            rooms = [room_of(shape, tile, kept, copies) for copies in (2, 1)]
            assert found[:, at].tolist() == rooms
            assert int(shape.buffers(tile, kept)) == rooms[0]
