"""Tilings of both gradients of a layer, against walks through all their tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.machine import Machine
from spmopt.core.operation import STREAMED
from spmopt.graph.gradient_tiles import gradient_tilings
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tiles import ProductTensors, budget_bytes, sizes_of_tiles
from spmopt.graph.tiling import Tiling
from tests.thorough import share
from tests.tiny import plain_machine

DY, W, X, DX, DW = range(5)
AXES = {DY: "ij", W: "kj", X: "ik", DX: "ik", DW: "kj"}
TOGETHER = ((X, DX), (W, DW), (DY,))
APART = ((DY, W, DX), (X, DY, DW))
Layer = tuple[int, int, int]
"""M, K and N."""
Figures = tuple[int, int, tuple[int, ...]]
"""Room, bytes for which computing waits, and fetches by tensor."""
Walks = Iterator[Figures]


def tilings(
    layer: Layer, machine: Machine, *, several: bool = True, others: int = 0
) -> list[Tiling]:
    """Return the tilings of a layer of one byte an element, beside buffers of other operands."""
    m, k, n = layer
    dx = Gemm(m=m, k=n, n=k, a=(0,), b=(1,), c=(0,))
    dw = Gemm(m=k, k=m, n=n, a=(2,), b=(0,), c=(1,))
    of = ((DY, W, X), (DX, DW), (m * n, k * n, m * k, m * k, k * n))
    both = [ProductTensors(gemm, *of, maps={}, others=others) for gemm in (dx, dw)]
    return gradient_tilings(both[0], both[1], machine, several=several)


def figures(tiling: Tiling) -> Figures:
    used = [tiling.operands.get(t, STREAMED).fetches for t in range(5)]
    return tiling.scratch_bytes, tiling.serial_bytes, tuple(used)


def is_resident(tiling: Tiling) -> bool:
    return any(each.required_resident for each in tiling.operands.values())


def walked(layer: Layer, groups: Sequence[Sequence[int]], kept: int, single: bool) -> Walks:
    """Go through the tiles of each walk that keeps a tile of a group, and count.

    The loop inside is along the axis that the group lacks, in steps of one element. Of each operand
    the tile in use is on chip, and room for the next one: of a single buffer none.
    """
    length = dict(zip("ikj", layer, strict=True))
    own = AXES[groups[kept][0]]
    (inner,) = set("ikj") - set(own)
    size = {t: prod(length[axis] for axis in axes) for t, axes in AXES.items()}
    for sizes in product(*(sizes_of_tiles(length[axis]) for axis in own)):
        step = {**dict(zip(own, sizes, strict=True)), inner: 1}
        loads = loaded(length, step, (*own, inner), [t for group in groups for t in group])
        room = 0
        for at, group in enumerate(groups):
            tile = sum(prod(step[axis] for axis in AXES[t]) for t in group)
            most = sum(size[t] for t in group)
            room += min(most, tile * (1 if single and at == kept else 2))
        assert not any(count % size[t] for t, count in loads.items())
        waits = sum(size[t] for t in groups[kept]) if single else 0
        yield room, waits, tuple(loads.get(t, 0) // size[t] for t in range(5))


def loaded(
    length: Mapping[str, int], step: Mapping[str, int], nest: Sequence[str], tensors: Sequence[int]
) -> dict[int, int]:
    """Return the bytes of tiles of each tensor that come while a loop nest goes through them."""
    here, loads = dict[int, tuple[int, ...]](), dict.fromkeys(tensors, 0)
    for place in product(*(range(0, length[axis], step[axis]) for axis in nest)):
        at = dict(zip(nest, place, strict=True))
        for tensor in tensors:
            tile = tuple(at[axis] for axis in AXES[tensor])
            if here.get(tensor) != tile:
                here[tensor] = tile
                sides = (min(step[axis], length[axis] - at[axis]) for axis in AXES[tensor])
                loads[tensor] += prod(sides)
    return loads


def moved(found: Figures, layer: Layer) -> int:
    """Return the bytes that move: results out in each pass, and in again in all but the first."""
    m, k, n = layer
    size = (m * n, k * n, m * k, m * k, k * n)
    passes = zip(size, found[2], strict=True)
    return sum(s * (2 * p - 1 if t in (DX, DW) else p) for t, (s, p) in enumerate(passes))


def all_together(layer: Layer) -> set[Figures]:
    return {
        found
        for kept, single in product(range(3), (False, True))
        for found in walked(layer, TOGETHER, kept, single)
    }


def all_apart(layer: Layer) -> set[Figures]:
    """One gradient after the other: the larger room, and dY for each."""
    every = [
        [
            each
            for kept, single in product(range(3), (False, True))
            for each in walked(layer, [[t] for t in group], kept, single)
        ]
        for group in APART
    ]
    return {
        (max(a[0], b[0]), a[1] + b[1], tuple(p + q for p, q in zip(a[2], b[2], strict=True)))
        for a, b in product(*every)
    }


LAYERS = ((6, 4, 5), (12, 3, 4), (3, 12, 4))
each_layer = pytest.mark.parametrize("layer", LAYERS)


@each_layer
def test_each_tiling_moves_and_needs_what_a_walk_does(layer: Layer) -> None:
    together, apart = all_together(layer), all_apart(layer)
    for pages in (6, 12, 40):
        machine = plain_machine(4 * pages)
        found = tilings(layer, machine)
        assert len(found) > 1
        for each in (each for each in found[1:] if not is_resident(each)):
            assert figures(each) in together | apart
            if each.reads[DY] == (each.operands[DY].fetches,) * 2:
                assert figures(each) in together
            else:
                assert sum(each.reads[DY]) == each.operands[DY].fetches


@each_layer
def test_no_walk_in_the_scratchpad_moves_less_than_the_best_tiling(
    layer: Layer,
) -> None:
    for pages in (6, 12, 40):
        machine = plain_machine(4 * pages)
        able = [each for each in all_together(layer) | all_apart(layer) if each[0] <= 4 * pages]
        least = min(moved(each, layer) for each in able)
        assert min(moved(figures(each), layer) for each in tilings(layer, machine)) <= least


def first_of(layer: Layer, machine: Machine) -> Tiling:
    (first,) = tilings(layer, machine, several=False)
    assert tilings(layer, machine)[0] == first
    return first


@pytest.mark.parametrize(
    ("layer", "kept"),
    [((24, 5, 6), 0), ((5, 6, 24), 0), ((5, 24, 6), 1)],
)
def test_one_of_a_long_layer_goes_by_rows_or_columns(layer: Layer, kept: int) -> None:
    """Rows of dY complete dX, columns dW: the other one spills, or stays on chip."""
    machine = plain_machine(64)
    able = [each for each in walked(layer, TOGETHER, kept, False) if each[0] <= 32]
    first = first_of(layer, machine)
    assert figures(first) in able
    assert moved(figures(first), layer) == min(moved(each, layer) for each in able)
    # In a larger one nothing of it moves.
    first = first_of(layer, plain_machine(1200))
    held = {t for t, each in first.operands.items() if each.required_resident}
    assert held == {*TOGETHER[1 - kept]}
    assert figures(first)[2] == (1,) * 5


def test_a_nearly_square_one_completes_both_and_reads_dy_for_each() -> None:
    layer, machine = (10, 12, 9), plain_machine(240)
    first = first_of(layer, machine)
    halves = [
        min(
            (each for each in walked(layer, [[t] for t in group], 2, False) if each[0] <= 60),
            key=lambda each: (moved(each, layer), each[0]),
        )
        for group in APART
    ]
    assert first.scratch_bytes == sum(each[0] for each in halves)
    fetches = tuple(map(sum, zip(*(each[2] for each in halves), strict=True)))
    assert figures(first)[2] == fetches
    assert fetches[DX:] == (1, 1)
    assert first.reads == {DY: tuple(each[2][DY] for each in halves)}


@settings(max_examples=share(60, 4))
@given(
    st.tuples(*[st.integers(1, share(30, 3))] * 3),
    st.integers(1, share(300, 4)),
)
def test_tilings_fit_and_none_is_worse_than_another(layer: Layer, pages: int) -> None:
    machine = plain_machine(4 * pages)
    first, *found = tilings(layer, machine)
    sizes = [prod(layer["ikj".index(axis)] for axis in axes) for axes in AXES.values()]

    def room(tiling: Tiling) -> int:
        held = [t for t, each in tiling.operands.items() if each.required_resident]
        return 4 * sum(map(machine.pages, (tiling.scratch_bytes, *(sizes[t] for t in held))))

    assert room(first) <= budget_bytes(machine)
    assert all(room(each) <= 4 * pages for each in found)
    groups: dict[frozenset[int], list[tuple[int, ...]]] = {}
    for each in found:
        held = frozenset(t for t, o in each.operands.items() if o.required_resident)
        (*own, fetches) = figures(each)
        groups.setdefault(held, []).append((*own, *fetches))
    for alike in groups.values():
        # One that is nowhere above another has all figures of it, or some below.
        rows = np.array(alike)
        no_worse = (rows[:, None] <= rows[None]).all(axis=2)
        assert not (no_worse & ~np.eye(len(rows), dtype=bool)).any()


def test_large_buffers_of_other_operands_leave_no_tiling_out() -> None:
    """A bias of 12 bytes shrinks to a part of the room of 16, as in the first tiling."""
    found = tilings((2, 3, 2), plain_machine(16, page_bytes=8), others=12)
    assert min(moved(figures(each), (2, 3, 2)) for each in found) == 32
