"""Attention as one operation: where it is found, what it computes, and what it moves and needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import spmopt
from spmopt.core.graph import Graph, Node
from spmopt.core.machine import SystolicArray
from spmopt.core.operation import OpMapping
from spmopt.frontends import zoo
from spmopt.graph import statistics
from spmopt.graph.attention import OPERATOR, fuse_attention
from spmopt.graph.attention_tiles import Attention, Mask, attention_blocks
from spmopt.graph.build import GraphBuilder
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.lower import lower
from spmopt.graph.operators.attention import visible_keys
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from tests.checked import need
from tests.execution.called import evaluated
from tests.tiny import plain_machine

Change = Callable[[GraphBuilder, int], int]


def same(_: GraphBuilder, value: int) -> int:
    return value


def network(
    before: Change = same, after: Change = same, *, axis: int = -1, keep: bool = False
) -> Graph:
    """Attention of two heads, six queries, five keys; ``before`` and ``after`` its softmax."""
    b = GraphBuilder("attention", element_type="fp64")
    q = b.add("Relu", [b.input("q", (3, 2, 6, 4))], name="net.query")
    k, v = b.input("k", (3, 2, 4, 5)), b.input("v", (3, 2, 5, 7))
    scores = before(b, b.add("MatMul", [q, k], name="net.scores"))
    shares = after(b, b.add("Softmax", [scores], name="net.softmax", axis=axis))
    y = b.add("MatMul", [shares, v], name="net.context")
    return b.finish([y, shares] if keep else [y])


def fused(graph: Graph) -> Node | None:
    found = [node for node in fuse_attention(graph).nodes if node.operator == OPERATOR]
    assert len(found) <= 1
    return found[0] if found else None


def scale(b: GraphBuilder, value: int) -> int:
    return b.add("Mul", [value, b.state("scale", ())], name="net.scaled")


def mask(b: GraphBuilder, value: int) -> int:
    return b.add("Add", [b.state("mask", (6, 5)), value], name="net.masked")


def choose(b: GraphBuilder, value: int) -> int:
    wanted = b.input("wanted", (3, 1, 6, 5), element_type="bool")
    return b.add("Where", [wanted, value, b.state("low", (1,))], name="net.chosen")


def several(b: GraphBuilder, value: int) -> int:
    return choose(b, mask(b, scale(b, value)))


def seen(shape: tuple[int, ...]) -> Change:
    return lambda b, value: b.add("Reshape", [value], name=f"net.to{len(shape)}", shape=shape)


@pytest.mark.parametrize(
    ("graph", "between"),
    [
        (network(), ""),
        (network(scale), "Mul:s,3"),
        (network(mask), "Add:3,s"),
        (network(choose), "Where:3,s,4"),
        (network(several), "Mul:s,3 Add:4,s Where:5,s,6"),
        (network(seen((6, 6, 5)), seen((3, 2, 6, 5))), ""),
    ],
)
def test_two_products_and_a_softmax_are_one_operation(graph: Graph, between: str) -> None:
    node = need(fused(graph))
    assert (node.name, node.attributes["between"]) == ("net.attention", between)
    one = fuse_attention(graph)
    assert [each.operator for each in one.nodes] == ["Relu", OPERATOR]
    assert fuse_attention(one) is one
    assert statistics.macs(one) == statistics.macs(graph)
    assert {v.name for v in one.values} >= {v.name for v in graph.values if v.keep}
    draw = np.random.default_rng(0)
    given = {
        value.name: draw.integers(0, 2, value.shape).astype(bool)
        if value.element_type == "bool"
        else draw.normal(size=value.shape)
        for value in graph.values
    }
    whole, apart = evaluated(one, given), evaluated(graph, given)
    assert np.allclose(whole["net.context"], apart["net.context"])


def in_other_heads(b: GraphBuilder, value: int) -> int:
    """Mask scores where heads and the batch are one axis: the mask is of no head alone."""
    flat = seen((6, 6, 5))(b, value)
    masked = b.add("Add", [flat, b.state("mask", (6, 1, 5))], name="net.masked")
    return seen((3, 2, 6, 5))(b, masked)


def twice(b: GraphBuilder, value: int) -> int:
    b.add("Relu", [value], name="net.other")
    return value


@pytest.mark.parametrize(
    "graph",
    [
        network(axis=2),
        network(keep=True),
        network(in_other_heads),
        network(
            lambda b, value: mask(b, seen((3, 2, 1, 6, 5))(b, scale(b, value))),
            seen((3, 2, 6, 5)),
        ),
        network(twice),
        network(after=twice),
        network(lambda b, value: b.add("Relu", [value], name="net.cut")),
        network(lambda b, value: b.add("Add", [value, value], name="net.doubled")),
        training_graph(zoo.network("bert-tiny", batch=1, sequence=8, layers=1)),
    ],
)
def test_attention_stays_apart_where_something_else_needs_its_scores(graph: Graph) -> None:
    assert fuse_attention(graph) is graph


def test_the_context_of_one_is_not_the_scores_of_the_next_as_well() -> None:
    b = GraphBuilder("chain", element_type="fp64")
    y = b.add("MatMul", [b.input("q", (2, 6, 4)), b.input("k", (2, 4, 5))], name="one.scores")
    for name, shape in (("v", (2, 5, 7)), ("w", (2, 7, 3))):
        y = b.add("Softmax", [y], name=f"{name}.softmax", axis=-1)
        y = b.add("MatMul", [y, b.input(name, shape)], name=f"{name}.context")
    graph = b.finish([y])
    one = fuse_attention(graph)
    assert [node.operator for node in one.nodes] == [OPERATOR, "Softmax", "MatMul"]
    draw = np.random.default_rng(2)
    given = {value.name: draw.normal(size=value.shape) for value in graph.values}
    assert np.allclose(evaluated(one, given)["w.context"], evaluated(graph, given)["w.context"])


def test_keys_with_rows_of_their_own_stay_apart() -> None:
    b = GraphBuilder("rows")
    s = b.add("Einsum", [b.input("q", (6, 4)), b.input("k", (2, 5, 4))], equation="qd,hkd->hqk")
    p = b.add("Softmax", [s], axis=-1)
    y = b.add("Einsum", [p, b.input("v", (5, 7))], equation="hqk,kv->hqv")
    assert fused(b.finish([y])) is None


def test_rows_of_scores_that_are_heads_are_no_tokens() -> None:
    b = GraphBuilder("heads")
    s = b.add("Einsum", [b.input("q", (5, 3, 4)), b.input("k", (6, 3, 4))], equation="qhd,khd->qhk")
    p = b.add("Softmax", [s], axis=-1, causal=1)
    y = b.add("Einsum", [p, b.input("v", (6, 3, 7))], equation="qhk,khv->qhv")
    assert fused(b.finish([y])) is None


def test_grouped_queries_of_an_onnx_attention_are_one_operation() -> None:
    b = GraphBuilder("grouped")
    q, k, v = (
        b.input(name, (2, heads, 6, 8)) for name, heads in zip("qkv", (4, 2, 2), strict=True)
    )
    g = b.add("Reshape", [q], name="split", shape=(2, 2, 2, 6, 8))
    s = b.add("Einsum", [g, k], name="a.scores", equation="bhgqd,bhkd->bhgqk")
    s = b.add("Reshape", [s], name="flat", shape=(2, 4, 6, 6))
    p = b.add("Softmax", [s], name="a.softmax", axis=-1)
    p = b.add("Reshape", [p], name="again", shape=(2, 2, 2, 6, 6))
    y = b.add("Einsum", [p, v], name="a.values", equation="bhgqk,bhkv->bhgqv")
    graph = b.finish([y])
    node = need(fused(graph))
    assert node.attributes["first"] == "bhgqd,bhkd->bhgqk"
    draw = np.random.default_rng(1)
    given = {value.name: draw.normal(size=value.shape) for value in graph.values}
    assert np.allclose(
        evaluated(fuse_attention(graph), given)["a.values"], evaluated(graph, given)["a.values"]
    )


def test_it_is_tiled_along_heads_and_queries() -> None:
    graph = zoo.network("gpt2", batch=1, layers=1, sequence=16, hidden=16, heads=4, vocabulary=48)
    found = tileable(graph, spmopt.machine("small-npu", spm="64KiB"))
    ways = {
        each.along: next(o for o in each.operations if o.kind == OPERATOR) for each in found.axes
    }
    names = [tensor.name for tensor in found.tensors]
    assert {names[t] for t in ways["heads"].cut} >= {"layer0.self.key", "layer0.self.value"}
    whole = {names[t] for t in ways["tokens"].reads} - {names[t] for t in ways["tokens"].cut}
    assert whole == {"layer0.self.key", "layer0.self.value"}
    assert "choose" in found.mapper
    apart = tileable(graph, found.machine, mapper="choose-unfolded")
    assert OPERATOR not in {each.kind for each in apart.operations}


ATTENTION = Attention(
    first=Gemm(m=40, k=8, n=48, batch=3),
    second=Gemm(m=40, k=48, n=16, batch=3),
    sizes=(3 * 40 * 8 * 2, 3 * 8 * 48 * 2, 3 * 48 * 16 * 2, 3 * 40 * 16 * 2),
    sum_bytes=4,
    element_type=None,
)


def walk(attention: Attention, heads: tuple[int, ...], queries: int, keys: int) -> list[int]:
    """Go through the blocks one by one; return the bytes of keys, values and masks fetched.

    Of each operand the last block stays until another is used.
    """
    first, fetched = attention.first, [0] * (2 + len(attention.masks))
    last = list[object]([None] * len(fetched))
    for head, index in enumerate(np.ndindex(heads)):
        for row in range(0, first.m, queries):
            for key in range(0, first.n, keys):
                rows, columns = min(queries, first.m - row), min(keys, first.n - key)
                uses: list[tuple[object, int]] = [
                    ((head, key), columns * width * 2) for width in (8, 16)
                ]
                for mask, shape in zip(attention.masks, MASKS, strict=True):
                    own = tuple(i * (n > 1) for i, n in zip(index, shape, strict=False))
                    place_of = own, row if mask.rows > 1 else 0, key if mask.keys > 1 else 0
                    part = min(rows, mask.rows) * min(columns, mask.keys)
                    uses.append((place_of, part * mask.slice_bytes // (mask.rows * mask.keys)))
                for place, (where, size) in enumerate(uses):
                    fetched[place] += size if where != last[place] else 0
                    last[place] = where
    return fetched


HEADS = (3, 2)
MASKS = [(1, 1, 40, 48), (3, 1, 1, 48), (1, 2, 40, 48), (3, 2, 1, 1), (1, 2, 1, 48), (3, 1, 40, 1)]
MASKED = replace(
    ATTENTION,
    first=replace(ATTENTION.first, batch=6),
    second=replace(ATTENTION.second, batch=6),
    sizes=tuple(2 * size for size in ATTENTION.sizes),
    masks=tuple(
        Mask.of(each, 2 * int(np.prod(each)), (*HEADS, 40, 48), (True, True, False, False))
        for each in MASKS
    ),
)


@pytest.mark.parametrize(("keys", "queries"), [(48, 40), (48, 8), (24, 20), (16, 40), (1, 1)])
def test_blocks_move_and_need_what_going_through_them_does(keys: int, queries: int) -> None:
    machine = plain_machine(2**20, page_bytes=64)
    fetched = walk(MASKED, HEADS, queries, keys)
    for found in MASKED.blocks(machine, queries, [keys], 2**20):
        of_masks = [n * mask.size for n, mask in zip(found.masks, MASKED.masks, strict=True)]
        assert found.fetches * MASKED.sizes[1] == fetched[0]
        assert found.fetches * MASKED.sizes[2] == fetched[1]
        # Two blocks of each operand, or all of it; scores of a block, and sums of its rows.
        two = (
            (size, queries * width) for size, width in zip(MASKED.sizes[::3], (8, 16), strict=True)
        )
        room = queries * (keys + 2 + (16 if keys < 48 else 0)) * 4
        room += sum(min(2 * 2 * own, size) for size, own in two)
        room += sum(2 * 2 * keys * width for width in (8, 16))
        blocks = [
            mask.slice_bytes
            * min(queries, mask.rows)
            * min(keys, mask.keys)
            // (mask.rows * mask.keys)
            for mask in MASKED.masks
        ]
        pairs = list(zip(MASKED.masks, blocks, of_masks, fetched[2:], strict=True))
        least = sum(min(2 * own, mask.size) for mask, own, *_ in pairs)
        most = sum(min(2 * mask.slice_bytes, mask.size) for mask in MASKED.masks)
        assert room + least <= found.scratch_bytes <= room + most
        for mask, own, said, moved in pairs:
            # Whole slices of a mask may be held, which a walk that keeps one block does not.
            may_stay = said == mask.changes * mask.slice_bytes
            assert moved <= said < moved + mask.size or (may_stay and own < mask.slice_bytes)
        several = Gemm(m=queries, k=8, n=keys, batch=6 * -(-40 // queries) * -(-48 // keys))
        assert found.cycles >= compute_cycles(machine, 0, several)


def walk_seen(attention: Attention, queries: int, keys: int) -> tuple[int, int, int]:
    """Go through the pairs of blocks of which a query sees a key; return pairs, keys, scores."""
    rows, every = attention.first.m, attention.first.n
    every_row = {"causal": attention.causal[0], "hidden": attention.hidden}
    visible = need(visible_keys(every_row, attention.causal[1], every)).tolist()
    pairs = fetched = scores = 0
    for row in range(0, rows, queries):
        block = range(row, min(row + queries, rows))
        for key in range(0, every, keys):
            if any(visible[each % len(visible)] > key for each in block):
                size = min(keys, every - key)
                pairs, fetched, scores = pairs + 1, fetched + size, scores + size * len(block)
    return pairs, fetched, scores


@pytest.mark.parametrize(("each", "hidden", "period"), [(1, 8, 40), (4, 38, 40), (1, 3, 20)])
@pytest.mark.parametrize(("keys", "queries"), [(48, 40), (16, 8), (7, 12), (5, 27), (1, 1)])
def test_blocks_that_no_query_sees_are_left_out(
    *, each: int, hidden: int, period: int, keys: int, queries: int
) -> None:
    causal = replace(ATTENTION, causal=(each, period), hidden=hidden)
    pairs, fetched, scores = walk_seen(causal, queries, keys)
    assert causal.visible_to(queries).key_blocks(keys, 48)[:3] == (pairs, fetched, scores)
    machine = plain_machine(2**20, page_bytes=64, array=SystolicArray(rows=4, columns=4))
    (found,), (all_of_them,) = (
        [*which.blocks(machine, queries, [keys], 2**20)] for which in (causal, ATTENTION)
    )
    assert found.scores == 3 * scores <= all_of_them.scores == 3 * 40 * 48
    assert found.fetches == (-(-fetched // 48) if keys < 48 else 1) <= all_of_them.fetches
    assert found.cycles <= all_of_them.cycles
    assert found.scratch_bytes == all_of_them.scratch_bytes
    first, second = causal.products(found)
    assert 0 <= first.macs - 8 * found.scores < 3 * 8 * 48
    assert 0 <= second.macs - 16 * found.scores < 3 * 16 * 48


def test_a_row_of_scores_sees_the_keys_up_to_its_own_token() -> None:
    assert visible_keys({}, 4, 6) is None
    assert need(visible_keys({"causal": 1}, 4, 6)).tolist() == [3, 4, 5, 6]
    assert need(visible_keys({"causal": 2}, 4, 6)).tolist() == [5, 5, 6, 6]
    assert need(visible_keys({"causal": 1, "hidden": 2}, 4, 6)).tolist() == [1, 2, 3, 4]
    assert need(visible_keys({"causal": 1, "hidden": -2}, 4, 2)).tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("along", ["heads", "tokens"])
def test_fusion_tiles_of_queries_cost_as_much_as_the_last(along: str) -> None:
    """Those of heads see as few keys as all of them together."""
    sizes = {"layers": 1, "sequence": 64, "hidden": 32, "heads": 4, "vocabulary": 48}
    graph = zoo.network("gpt2", batch=1, **sizes)
    found = tileable(graph, spmopt.machine("small-npu", spm="64KiB"))
    axis = next(each for each in found.axes if each.along == along)
    operation = next(each for each in axis.operations if each.kind == OPERATOR)
    whole = min(each.macs for each in operation.common(1))
    tiled = min(each.macs for each in operation.common(4))
    # Of the last 16 queries each sees one key more than the one before.
    scores = {"tokens": 4 * (16 * 64 - 16 * 15 // 2), "heads": 64 * 65 // 2}[along]
    assert whole >= 2 * 8 * 64 * 65 // 2 * 4 > whole / 1.3
    assert tiled >= 2 * 8 * scores > tiled / 1.3
    assert (4 * tiled == whole) == (along == "heads")


def test_parts_of_a_mask_are_told_by_the_axes_that_it_has() -> None:
    scores, heads = (4, 2, 3, 8, 16), (True, True, False, False, False)
    of = {
        shape: Mask.of(shape, int(np.prod(shape)), scores, heads)[1:]
        for shape in [(8, 16), (4, 1, 1, 1, 16), (2, 1, 8, 16), (1,), (4, 2, 3, 8, 16)]
    }
    assert of == {
        (8, 16): (1, 1, 8, 16),
        (4, 1, 1, 1, 16): (4, 4, 1, 16),
        (2, 1, 8, 16): (2, 8, 8, 16),
        (1,): (1, 1, 1, 1),
        (4, 2, 3, 8, 16): (8, 8, 24, 16),
    }


@pytest.mark.parametrize("pages", [1, 3, 8, 20, 60, 400])
def test_the_first_way_fits_half_and_none_is_offered_twice(pages: int) -> None:
    machine = plain_machine(64 * pages, page_bytes=64)
    half = max(pages // 2, 1) * 64
    found = attention_blocks(ATTENTION, machine, half)
    assert found[0].scratch_bytes <= (half if pages > 8 else 64 * pages)
    assert len(set(found)) == len(found)
    assert all(each.scratch_bytes <= 64 * pages for each in found)


def test_a_larger_scratchpad_takes_no_longer_and_moves_no_more() -> None:
    array = SystolicArray(rows=12, columns=12, dataflow="os")
    least = [10**18, 10**18]
    for pages in range(16, 400, 16):
        machine = plain_machine(64 * pages, page_bytes=64, array=array)
        found = attention_blocks(ATTENTION, machine, 32 * pages)
        now = [min(each.cycles for each in found), min(each.fetches for each in found)]
        # Ways that save next to nothing are not offered.
        assert all(33 * before >= 32 * after for before, after in zip(least, now, strict=True))
        least = [min(pair) for pair in zip(least, now, strict=True)]


def test_a_room_for_everything_fetches_once() -> None:
    machine = plain_machine(2**20, page_bytes=64)
    found = attention_blocks(ATTENTION, machine, 2**19)
    assert found[0][2:4] == (1, ())


def mappings(bandwidth: str) -> tuple[OpMapping, ...]:
    graph = zoo.network("gpt2", batch=1, layers=1, sequence=64, hidden=32, heads=2, vocabulary=48)
    problem = lower(graph, spmopt.machine("small-npu", spm="16KiB", bandwidth=bandwidth))
    return next(each for each in problem.operations if each.kind == OPERATOR).mappings


def test_mappings_do_not_depend_on_bandwidth() -> None:
    found = mappings("1GB/s")
    assert len(found) > 1
    assert found == mappings("100GB/s")
