"""Rows of stripes and halos: planted faults are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.loops import Access, Index, Statement
from spmopt.frontends import zoo
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.verifier.fusion_tiles import check_fusion
from spmopt.verifier.tile_maps import Share, TileMap
from tests.fused import MACHINE
from tests.thorough import nightly
from tests.verifier.naive_fusion_tiles import chunked, whole
from tests.verifier.test_fusion_tiles import access, listed, maps_of, rows, said


def window(strides: int, dilations: int, pads: int) -> tuple[Statement, ...]:
    """Three rows of x for each of y."""
    source = access("x0", "y", "r", factors=(strides, dilations), offset=-pads)
    return (Statement(target=access("y0", "y"), reads=(source,)),)


def test_a_missing_row_of_a_halo_is_named() -> None:
    conv, extents = window(1, 1, 1), {"y": 4, "r": 3}
    halo = [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]
    assert said(rows(conv, extents, 4, 4, halo)) == []
    assert chunked(rows(conv, extents, 4, 4, halo)) == whole(rows(conv, extents, 4, 4, halo))
    for fusion_tile, row in ((0, 1), (1, 0), (2, 3), (3, 2)):
        less = halo.copy()
        less[fusion_tile] = tuple(each for each in halo[fusion_tile] if each != row)
        maps = rows(conv, extents, 4, 4, less)
        (line,) = said(maps)
        assert line.startswith(f"y[{fusion_tile}]: reads index {row} of axis 0 of x, but names x[")
        assert chunked(maps) != whole(maps)


def upward(quotient: Index) -> tuple[Statement, ...]:
    """Twice as many rows of y as there are of x."""
    source = Access("x0", (quotient,))
    return (Statement(target=access("y0", "y"), reads=(source,)),)


@pytest.mark.parametrize(
    ("quotient", "taps", "halo"),
    [
        # A transposed convolution of four taps, and of two; stripes that split a row of x.
        (Index((("y", 1), ("r", -1)), 1, 2, True), 4, [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]),
        (Index((("y", 1), ("r", -1)), 0, 2, True), 2, [(0,), (1,), (2,), (3,)]),
        (Index((("y", 1), ("r", -1)), 1, 2, True), 2, [(0, 1), (1, 2), (2, 3), (3,)]),
        # Only every other row of y has one of x.
        (Index((("y", 1), ("r", -1)), 1, 2, True), 1, [(1,), (2,), (3,), ()]),
        # Nearest rows, and the two around.
        (Index((("y", 1),), 0, 2), 1, [(0,), (1,), (2,), (3,)]),
        (Index((("r", 4), ("y", 2)), -1, 4), 2, [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]),
    ],
)
def test_rows_of_a_larger_map_need_their_quotients(
    quotient: Index, taps: int, halo: list[tuple[int, ...]]
) -> None:
    statements, extents = upward(quotient), {"y": 8, "r": taps}
    if "r" not in quotient.loops:
        extents = {"y": 8}
    maps = rows(statements, extents, 4, 8, halo)
    assert said(maps) == []
    assert chunked(maps) == whole(maps)
    for fusion_tile, named in enumerate(halo):
        for row in named:
            less = halo.copy()
            less[fusion_tile] = tuple(each for each in named if each != row)
            maps = rows(statements, extents, 4, 8, less)
            (line,) = said(maps)
            assert line.startswith(f"y[{fusion_tile}]: reads index {row} of axis 0 of x, but names")
            assert chunked(maps) != whole(maps)


def test_rows_between_those_of_a_window_are_not_needed() -> None:
    """Images are sets of indices, not the interval from the first to the last."""
    conv, extents = window(1, 2, 2), {"y": 4, "r": 3}
    apart = [(0, 2), (1, 3), (0, 2), (1, 3)]
    maps = rows(conv, extents, 4, 4, apart)
    assert said(maps) == []
    assert chunked(maps) == whole(maps)
    assert said(rows(conv, extents, 4, 4, [(0, 1), *apart[1:]])) == [
        "y[0]: reads index 2 of axis 0 of x, but names x[0], x[1] only"
    ]


def test_faults_of_stripes_are_named() -> None:
    """A row of a halo, a stripe twice and never, a reader before its rows, parts that overlap."""
    b = GraphBuilder("stripes")
    x = b.add("Relu", [b.input("x", (2, 1, 8, 1))], name="r")
    w = b.weight("w", (1, 1, 3, 1))
    found = listed(b.finish([b.add("Conv", [x, w], name="y", pads=(1, 0, 1, 0))]))
    maps = maps_of(found, (FusedGroup(begin=0, end=2, micro_batches=2, stripes=2),))
    assert said(maps) == []
    fusion_tiles = {each.name: each for each in maps.fusion_tiles}
    part = {each.name: at for at, each in enumerate(maps.parts)}
    assert [*fusion_tiles] == [
        f"{name}[{image}][{rows}]"
        for image in range(2)
        for name, rows in (("r", "0:4"), ("y", "0:3"), ("r", "4:8"), ("y", "3:8"))
    ]

    def of(*changed: TileMap, names: Sequence[str] = tuple(fusion_tiles)) -> list[str]:
        known = fusion_tiles | {each.name: each for each in changed}
        return said(replace(maps, fusion_tiles=[known[name] for name in names]))

    stripe = fusion_tiles["y[1][3:8]"]
    halo = tuple(t for t in stripe.reads if t != part["r[1][2:4]"])
    assert of(replace(stripe, reads=halo)) == [
        "y[1][3:8]: reads index 1 of axis 0, index 2 of axis 2 of r, but names r[1][4:8] only"
    ]
    other = tuple(part["r[0][2:4]"] if t == part["r[1][2:4]"] else t for t in stripe.reads)
    assert "index 1 of axis 0, index 2 of axis 2 of r" in of(replace(stripe, reads=other))[0]
    names = list(fusion_tiles)
    assert "y: n 1 to 2, y.0 3 to 8 is computed never" in of(names=names[:-1])
    assert of(names=[*names, names[-1]])[0] == (
        "y: n 1 to 2, y.0 3 to 8 is computed 2 times, by y[1][3:8], y[1][3:8]"
    )
    early = [*names[:2], names[3], names[2], *names[4:]]
    assert "y[0][3:8]: reads r[0][4:8] before r has written it" in of(names=early)
    wide = replace(stripe, box={**stripe.box, "y.0": (2, 8)})
    assert "y: n 1 to 2, y.0 2 to 3 is computed 2 times, by y[1][0:3], y[1][3:8]" in of(wide)
    parts = [
        each if each.name != "r[1][2:4]" else replace(each, shares=(each.shares[0], Share(1, 3, 8)))
        for each in maps.parts
    ]
    assert said(replace(maps, parts=parts)) == ["r: its parts do not add up to it"]


@nightly
def test_many_stripes_are_checked() -> None:
    found = tileable(zoo.network("mobilenetv2", batch=32), MACHINE, mapper="tiled-unfolded")
    fusion_plan = (
        FusedGroup(begin=0, end=33, micro_batches=32, stripes=7),
        FusedGroup(begin=33, end=77, micro_batches=32, stripes=2),
        FusedGroup(begin=77, end=len(found.operations)),
    )
    maps = maps_of(found, fusion_plan)
    assert len(maps.fusion_tiles) > 10_000
    assert check_fusion(maps) == ()
