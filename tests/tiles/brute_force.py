"""The least traffic over all orders and residencies of a few equal tiles, by cheapest paths.

Straight from what may happen to a tile: it is loaded if needed or made by a product, and leaves,
stored if DRAM lacks it, when the SPM is full or nothing needs it any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from heapq import heappop, heappush
from itertools import product

State = tuple[int, int, int]
"""Sets of bits: products done, tiles in the SPM, those of them that DRAM has no copy of."""


@cache
def least_traffic(shape: tuple[int, int, int], spm_tiles: int, *, both: bool = True) -> int:
    """Tiles moved at least; each product needs its three tiles in the SPM."""
    products = list(uses(shape, both=both))
    tiles = sorted({tile for used in products for tile in used})
    number = {tile: 1 << bit for bit, tile in enumerate(tiles)}
    bits = [(number[one], number[two], number[three]) for one, two, three in products]
    users = dict.fromkeys(number.values(), 0)
    for index, used in enumerate(bits):
        for tile in used:
            users[tile] |= 1 << index
    results = {used[2] for used in bits}

    def moves(state: State) -> Iterator[tuple[int, State]]:
        done, held, dirty = state
        full = held.bit_count() == spm_tiles
        for index, (one, two, result) in enumerate(bits):
            new = not done & users[result] and not full
            if held & one and held & two and (held & result or new) and not done >> index & 1:
                yield 0, (done | 1 << index, held | result, dirty | result)
        for tile, its_users in users.items():
            needed = its_users & ~done
            if held & tile and (full or not needed):
                yield int(bool(dirty & tile)), (done, held ^ tile, dirty & ~tile)
            elif (
                needed
                and not held & tile
                and not full
                and (tile not in results or done & its_users)
            ):
                yield 1, (done, held | tile, dirty)

    everything = (1 << len(bits)) - 1
    waiting, settled = [(0, (0, 0, 0))], set[State]()
    while True:
        cost, state = heappop(waiting)
        if state in settled:
            continue
        settled.add(state)
        if state[0] == everything and not state[2]:
            return cost
        for more, after in moves(state):
            if after not in settled:
                heappush(waiting, (cost + more, after))


def uses(shape: tuple[int, int, int], *, both: bool) -> Iterator[tuple[str, str, str]]:
    """Tiles of each product: two inputs and the result."""
    for i, k, j in product(*map(range, shape)):
        if both:
            yield f"dY{i},{j}", f"W{k},{j}", f"dX{i},{k}"
        yield f"dY{i},{j}", f"X{i},{k}", f"dW{k},{j}"
