"""Fusion tiles that the checker lets pass compute what the whole does; planted faults are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.audit.boxes import tile_maps
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.loops import Access, Index, Statement
from spmopt.frontends import zoo
from spmopt.graph import axes
from spmopt.graph.build import GraphBuilder
from spmopt.graph.folding import fold
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.verifier.fusion_tiles import check_fusion
from spmopt.verifier.tile_maps import (
    NodeMap,
    PartMap,
    Share,
    TileMap,
    TileMaps,
    ValueMap,
)
from tests.checked import need
from tests.formulations.fusion.random_tileable_graph import fusion_plans
from tests.fused import MACHINE
from tests.graph.feature_maps import feature_maps, striped
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.thorough import share
from tests.uniform import uniform_plan
from tests.verifier.naive_fusion_tiles import chunked, whole


def listed(graph: Graph) -> TileableGraph:
    return tileable(graph, MACHINE)


def maps_of(found: TileableGraph, fusion_plan: FusionPlan) -> TileMaps:
    return tile_maps(need(found.graph), found, fusion_plan, found.problem(fusion_plan)[0])


def said(maps: TileMaps) -> list[str]:
    return [violation.message for violation in check_fusion(maps)]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Convolutions, pools, sums, means over the batch, products, and perhaps their gradients."""
    b = GraphBuilder("random")
    batch, channels, size = draw(st.sampled_from((2, 4))), draw(st.integers(1, 2)), 3
    x = b.input("x", (batch, channels, size, size))
    kinds = st.sampled_from(("Conv", "MaxPool", "Relu", "Add", "mean", "BatchNormalization"))
    for k, kind in enumerate(draw(st.lists(kinds, min_size=1, max_size=3))):
        name = f"{kind}{k}"
        if kind == "Conv":
            kernel, strides = draw(st.integers(1, 3)), draw(st.integers(1, 2))
            w = b.weight(f"w{k}", (channels, channels, kernel, kernel))
            pads = (kernel // 2,) * 4
            x = b.add("Conv", [x, w], name=name, pads=pads, strides=(strides, strides))
        elif kind == "MaxPool":
            x = b.add("MaxPool", [x], name=name, kernel_shape=(2, 2), pads=(0, 0, 1, 1))
        elif kind == "mean":
            mean = b.add("ReduceMean", [x], name=f"{name}.m", axes=(0,))
            x = b.add("Sub", [x, mean], name=name)
        elif kind == "BatchNormalization":
            extra = [b.weight(f"{name}.{t}", (channels,)) for t in ("s", "b", "m", "v")]
            x = b.add("BatchNormalization", [x, *extra], name=name)
        else:
            x = b.add(kind, [x, x] if kind == "Add" else [x], name=name)
    ends = draw(st.sampled_from(("as it is", "a layer", "training")))
    if ends != "as it is":
        flat = b.add("Flatten", [x], name="flat")
        bias = b.weight("bias", (2,))
        x = b.add("Gemm", [flat, b.weight("v", (b.shape(flat)[1], 2)), bias], name="y")
    graph = b.finish([x])
    return training_graph(graph, optimizer="sgd") if ends == "training" else graph


SMALL = feature_maps(most=3, height=6, width=2)


unstriped = partial(striped, stripes=(1,), micro_batches=(1, 2, 4))


@settings(max_examples=share(60), deadline=None)
@given(st.data())
def test_pieces_compute_what_the_whole_does(data: st.DataObject) -> None:
    found = listed(data.draw(graphs()))
    maps = maps_of(found, data.draw(unstriped(found)))
    assert said(maps) == []
    assert chunked(maps) == whole(maps)


@settings(max_examples=share(60), deadline=None)
@given(st.data())
def test_stripes_compute_what_the_whole_does(data: st.DataObject) -> None:
    found = listed(data.draw(SMALL))
    maps = maps_of(found, data.draw(striped(found)))
    assert said(maps) == []
    assert chunked(maps) == whole(maps)


@settings(max_examples=share(300), deadline=None)
@given(st.data())
def test_what_passes_computes_what_the_whole_does(data: st.DataObject) -> None:
    """Any damage to boxes, parts and order: either it is refused, or nothing comes of it."""
    found = listed(data.draw(graphs() | SMALL))
    maps = maps_of(found, data.draw(unstriped(found) | striped(found)))
    fusion_tiles = list(maps.fusion_tiles)
    for _ in range(data.draw(st.integers(1, 2))):
        at, other = (data.draw(st.integers(0, len(fusion_tiles) - 1)) for _ in range(2))
        kind = data.draw(st.sampled_from(("swap", "drop", "again", "box", "reads", "writes")))
        fusion_tile = fusion_tiles[at]
        if kind == "swap":
            fusion_tiles[at], fusion_tiles[other] = fusion_tiles[other], fusion_tiles[at]
        elif kind == "drop" and len(fusion_tiles) > 1:
            del fusion_tiles[at]
        elif kind == "again":
            fusion_tiles.insert(other, fusion_tile)
        elif kind == "box" and fusion_tile.box:
            loop = data.draw(st.sampled_from(sorted(fusion_tile.box)))
            begin, more = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 2))
            fusion_tiles[at] = replace(
                fusion_tile, box={**fusion_tile.box, loop: (begin, begin + more)}
            )
        elif kind in ("reads", "writes"):
            named = {*getattr(fusion_tile, kind)}
            named ^= {data.draw(st.integers(0, len(maps.parts) - 1))}
            change: dict[str, Any] = {kind: tuple(sorted(named))}
            fusion_tiles[at] = replace(fusion_tile, **change)
    damaged = replace(maps, fusion_tiles=fusion_tiles)
    if not said(damaged):
        assert chunked(damaged) == whole(maps)


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
@pytest.mark.parametrize("training", [False, True])
def test_all_fusion_plans_of_networks_pass(make: Callable[[], Graph], training: bool) -> None:
    graph = training_graph(make(), optimizer="adam") if training else make()
    found = listed(graph)
    divisors = {micro_batches for each in found.operations for micro_batches in each.mappings}
    for micro_batches in divisors:
        assert said(maps_of(found, uniform_plan(found, micro_batches))) == []


def test_every_fusion_plan_of_a_short_list_passes() -> None:
    short = listed(perceptron())
    checked = 0
    for fusion_plan in islice(fusion_plans(short), 400):
        assert said(maps_of(short, fusion_plan)) == []
        checked += 1
    assert checked > 100


def perceptron() -> Graph:
    """A mean over the batch behind a layer, and of figures derived from it."""
    b = GraphBuilder("mean")
    y = b.add("Gemm", [b.input("x", (4, 3)), b.weight("w", (3, 2))], name="y")
    r = b.add("Softmax", [y], name="r")
    mean = b.add("ReduceMean", [r], name="mean", axes=(0,))
    return b.finish([b.add("Sub", [r, mean], name="centered")])


FOUND = listed(perceptron())
FUSION_PLAN = (
    FusedGroup(begin=0, end=3, micro_batches=4),
    FusedGroup(begin=3, end=4, micro_batches=2),
)
MAPS = maps_of(FOUND, FUSION_PLAN)
PLACE = {fusion_tile.name: at for at, fusion_tile in enumerate(MAPS.fusion_tiles)}
PART = {part.name: at for at, part in enumerate(MAPS.parts)}


def changed(name: str, **changes: Any) -> TileMaps:
    fusion_tiles = list(MAPS.fusion_tiles)
    fusion_tiles[PLACE[name]] = replace(fusion_tiles[PLACE[name]], **changes)
    return replace(MAPS, fusion_tiles=fusion_tiles)


def reordered(names: list[str]) -> TileMaps:
    return replace(MAPS, fusion_tiles=[MAPS.fusion_tiles[PLACE[name]] for name in names])


@pytest.mark.parametrize("training", [False, True])
def test_pieces_of_tokens_that_pass_for_heads_are_refused(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one sequence tokens are cut; heads read all of them, through a view in another order."""
    forward = zoo.network("bert-tiny", batch=1, sequence=8, layers=1, hidden=16)
    graph = training_graph(forward) if training else fold(forward)
    found = tileable(graph, MACHINE, mapper="choose-unfolded")
    assert found.batch == 8
    count = len(found.operations)
    for begin in range(0, count, 96 if training else 10):
        for end in range(begin + 1, count + 1):
            fused_group = FusedGroup(begin=begin, end=end, micro_batches=4)
            if found.obstacle(fused_group):
                break
            fusion_plan = [FusedGroup(begin=k, end=k + 1) for k in range(begin)]
            fusion_plan += [
                fused_group,
                *(FusedGroup(begin=k, end=k + 1) for k in range(end, count)),
            ]
            assert not said(maps_of(found, tuple(fusion_plan)))
    monkeypatch.setattr(
        axes, "inspect", lambda _, source, result: axes.same_leading(source, result)
    )
    # Spans in memory would tell that the axes differ.
    monkeypatch.setattr(axes.LinkedAxes, "_span", lambda *_: None)
    wrong = tileable(graph, MACHINE, mapper="choose-unfolded")
    query = next(k for k, each in enumerate(wrong.operations) if each.name.endswith(".query"))
    fusion_plan = [FusedGroup(begin=k, end=k + 1) for k in range(query)]
    fusion_plan += [FusedGroup(begin=query, end=query + 1, micro_batches=2)]
    fusion_plan += [FusedGroup(begin=k, end=k + 1) for k in range(query + 1, count)]
    assert "its parts are others in the shape" in said(maps_of(wrong, tuple(fusion_plan)))[0]


def test_a_piece_twice_and_a_piece_never_are_named() -> None:
    assert said(MAPS) == []
    names = [fusion_tile.name for fusion_tile in MAPS.fusion_tiles]
    twice = said(reordered([*names[:4], "y[1]", *names[4:]]))
    assert "y: m 1 to 2 is computed 2 times, by y[1], y[1]" in twice
    never = said(reordered([name for name in names if name != "r[2]"]))
    assert "r: a 2 to 3 is computed never" in never
    assert "mean[2]: reads r[2] before r has written it" in never
    overlapping = said(changed("y[1]", box={"m": (1, 3)}))
    assert "y: m 2 to 3 is computed 2 times, by y[1], y[2]" in overlapping
    beyond = said(changed("y[3]", box={"m": (3, 5)}))
    assert "y[3]: computes m 3 to 5, which y does not have" in beyond


def test_a_wrong_part_is_named() -> None:
    weight = PART["w"]
    wrong = said(changed("y[1]", reads=(PART["x[2]"], weight)))
    assert wrong == ["y[1]: reads index 1 of axis 0 of x, but names x[2] only"]
    assert said(changed("y[1]", reads=(PART["x[1]"],))) == [
        "y[1]: reads all of w, but names no part of it"
    ]
    other = said(changed("y[1]", writes=(PART["y[2]"],)))
    assert "y[1]: writes index 1 of axis 0 of y, but names y[2] only" in other
    assert "y[2]: writes y[2] anew, which another fusion tile has written" in other
    more = said(changed("y[1]", writes=(PART["y[1]"], PART["r[1]"])))
    assert more == ["y[1]: writes r[1] though its node does not"]
    assert said(changed("y[1]", reads=(PART["x[1]"], weight, PART["mean"]))) == [
        "y[1]: reads mean though its node does not"
    ]


def test_a_reader_before_its_sum_is_complete_is_named() -> None:
    names = [fusion_tile.name for fusion_tile in MAPS.fusion_tiles]
    names.remove("centered[0]")
    early = said(reordered([*names[:9], "centered[0]", *names[9:]]))
    assert "centered[0]: reads mean before all fusion tiles of mean have written it" in early
    before = said(reordered(["centered[0]", *names]))
    assert "centered[0]: reads mean before mean has written it" in before


def test_a_sum_is_begun_once_and_added_to() -> None:
    mean, part = PART["mean"], PART["r[2]"]
    assert said(changed("mean[2]", reads=(part,))) == [
        "mean[2]: writes mean anew, which another fusion tile has written"
    ]
    assert said(changed("mean[0]", reads=(PART["r[0]"], mean))) == [
        "mean[0]: reads mean before mean has written it"
    ]


def test_parts_that_do_not_add_up_are_named() -> None:
    parts = list(MAPS.parts)
    parts[PART["x[1]"]] = replace(parts[PART["x[1]"]], size_bytes=8)
    assert said(replace(MAPS, parts=parts)) == ["x[1]: has 8 bytes, not 1/4 of the 48 of x"]
    for shares, what in (
        (Share(2, 3, 4), "x: its parts do not add up to it"),
        (Share(1, 2, 8), "x[1]: is no part of x as the others are"),
        (Share(1, 1, 4), "x[1]: is no part of x as the others are"),
    ):
        parts = [
            each if each.name != "x[1]" else replace(each, shares=(shares, *each.shares[1:]))
            for each in MAPS.parts
        ]
        assert what in said(replace(MAPS, parts=parts))
    fewer = [each for each in MAPS.parts if each.name != "w"]
    assert "w: its parts do not add up to it" in said(replace(MAPS, parts=fewer))
    other = replace(MAPS.values[0], shape=(2, 6), axes=(1, None), runs=((6, 1), (1, 1)))
    seen = replace(MAPS, values=[*MAPS.values, other])
    assert any("in the shape (2, 6)" in each for each in said(seen))
    odd = [replace(MAPS.values[0], shape=(2, 6), runs=((2, 6), (1, 1))), *MAPS.values[1:]]
    assert "x: its parts cut through elements of an axis of 2" in said(replace(MAPS, values=odd))


def test_what_is_read_within_an_operation_is_complete() -> None:
    """A softmax over the axis that is cut: each fusion tile has a part of the sum only."""
    statements = (
        Statement(target=Access("s", ()), reads=(access("x0", "n"),)),
        Statement(target=access("y0", "n"), reads=(access("x0", "n"), Access("s", ()))),
    )
    maps = rows(statements, {"n": 4}, 4, 4, reads=[(0,), (1,), (2,), (3,)])
    assert "y[0]: uses s before all fusion tiles have added to it" in said(maps)
    shifted = (
        Statement(target=access("s", "n"), reads=(access("x0", "n"),)),
        Statement(target=access("y0", "n"), reads=(access("s", "n", offset=1),)),
    )
    maps = rows(shifted, {"n": 4}, 4, 4, reads=[(0,), (1,), (2,), (3,)])
    assert "y[0]: uses s where it has not computed it" in said(maps)


def access(operand: str, *loops: str, factors: tuple[int, ...] = (1,), offset: int = 0) -> Access:
    terms = tuple(zip(loops, factors, strict=True))
    return Access(operand, (Index(terms=terms, offset=offset),))


def rows(
    statements: tuple[Statement, ...],
    extents: dict[str, int],
    size: int,
    made: int,
    reads: Sequence[tuple[int, ...]],
) -> TileMaps:
    """Rows of x in parts of one, and a fusion tile for each row or two of y."""
    count = len(reads)
    loop = next(iter(extents))
    node = NodeMap(
        name="y", extents=extents, statements=statements, inputs={"x0": 0}, outputs={"y0": 1}
    )
    parts = [
        PartMap(name=f"x[{k}]", tensor=0, shares=(Share(k, k + 1, size),), size_bytes=4)
        for k in range(size)
    ]
    parts += [
        PartMap(
            name=f"y[{k}]",
            tensor=1,
            shares=(Share(k, k + 1, count),),
            size_bytes=4 * made // count,
        )
        for k in range(count)
    ]
    fusion_tiles = [
        TileMap(
            name=f"y[{k}]",
            node=0,
            box={loop: (made * k // count, made * (k + 1) // count)},
            reads=read,
            writes=(size + k,),
        )
        for k, read in enumerate(reads)
    ]
    values = [
        ValueMap(shape=(n,), tensor=t, axes=(0,), runs=((n, 1),))
        for t, n in enumerate((size, made))
    ]
    return TileMaps(
        tensors=[("x", 4 * size), ("y", 4 * made)],
        values=values,
        nodes=[node],
        parts=parts,
        fusion_tiles=fusion_tiles,
    )
