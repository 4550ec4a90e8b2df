"""No layer is refused that some tile cuts into few enough products."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.hardware.machines import load_machine
from spmopt.tiles import tiling
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.tiling import (
    MOST_PRODUCTS,
    HalfSpm,
    require_few,
    require_large_tiles,
    tile_space,
)
from tests.thorough import share

SIDES = st.integers(1, 12)


@settings(deadline=None, max_examples=share(60))
@given(SIDES, SIDES, SIDES, st.integers(3, 200), st.integers(1, 30))
def test_what_is_refused_cannot_be_done(m: int, k: int, n: int, elements: int, most: int) -> None:
    layer = Layer(name="a", m=m, k=k, n=n)
    fewest = min(
        TileGrid(layer=layer, tile=Tile(m=a, k=b, n=c)).products
        for a, b, c in product(range(1, m + 1), range(1, k + 1), range(1, n + 1))
        if a * b + b * c + a * c <= elements
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiling, "MOST_PRODUCTS", most)
        try:
            require_large_tiles(layer, elements)
        except InputError:
            assert fewest > most


def test_a_grid_is_counted_before_it_is_made() -> None:
    grid = TileGrid(layer=Layer(name="a", m=10**9, k=10**9, n=10**9), tile=Tile(m=1, k=1, n=1))
    with pytest.raises(InputError, match=f"make {10**27:,} tile products a gradient"):
        require_few(grid)
    most = TileGrid(layer=Layer(name="a", m=MOST_PRODUCTS, k=1, n=1), tile=Tile(m=1, k=1, n=1))
    require_few(most)
    with pytest.raises(InputError, match="at most 500,000 are run; give a larger --tile"):
        require_few(TileGrid(layer=Layer(name="a", m=MOST_PRODUCTS + 1, k=1, n=1), tile=most.tile))


@pytest.mark.parametrize("sizes", [(10**14, 3, 4), (3, 10**14, 4), (10**6, 10**6, 10**6)])
def test_a_layer_that_no_tile_fits_is_refused_at_once(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    layer = Layer(name="a", m=m, k=k, n=n)
    room = HalfSpm(layer=layer, machine=load_machine("small-npu"), element_bytes=4, cores=1)
    with pytest.raises(InputError, match="take more than 500,000 tile products a gradient in any"):
        tile_space(room)
