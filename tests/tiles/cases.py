"""Small layers and machines, and all kinds of orders."""

from __future__ import annotations

from hypothesis import strategies as st

from spmopt.core.machine import Machine, SystolicArray
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.order import LOOPS, Order, Walk
from tests.tiny import plain_machine

PAGE = 64
"""Bytes of a tile of 4 x 4 elements."""
_NESTS = st.sampled_from(LOOPS)
ANY_WALK = st.builds(Walk, loops=_NESTS, boustrophedon=st.booleans()) | st.builds(
    Walk,
    loops=_NESTS,
    block=st.tuples(*[st.integers(1, 3)] * 3),
    blocks=_NESTS,
    boustrophedon=st.booleans(),
)
ANY_ORDER = st.builds(Order, dx=ANY_WALK, dw=ANY_WALK, alternate=st.booleans())


def grid(sizes: tuple[int, int, int], tile: tuple[int, int, int]) -> TileGrid:
    """A layer and its tiles, sizes along M, K, N."""
    (m, k, n), (tile_m, tile_k, tile_n) = sizes, tile
    return TileGrid(layer=Layer(name="fc", m=m, k=k, n=n), tile=Tile(m=tile_m, k=tile_k, n=tile_n))


def machine(spm_bytes: int, page_bytes: int = 64, array: SystolicArray | None = None) -> Machine:
    """A machine that moves 8 bytes and computes 20 operations a cycle."""
    rates = {"dram_bytes_per_s": 8, "operations_per_s": 20}
    return plain_machine(spm_bytes, page_bytes=page_bytes, array=array, **rates)


def tiles_machine(spm_tiles: int, *, duplex: bool = False) -> Machine:
    """A machine of tiles of 4 x 4 elements, each a page."""
    rates = {"dram_bytes_per_s": PAGE, "operations_per_s": 1000}
    return plain_machine(spm_tiles * PAGE, page_bytes=PAGE, duplex=duplex, **rates)
