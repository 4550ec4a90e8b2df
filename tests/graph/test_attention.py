"""Attention as one operation: where it is found, what it computes, and what it moves and needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spmopt
from spmopt.core.graph import Graph, Node
from spmopt.core.operation import OpMapping
from spmopt.frontends import zoo
from spmopt.graph import statistics
from spmopt.graph.attention import OPERATOR, fuse_attention
from spmopt.graph.attention_tiles import Attention, Blocks, attention_blocks
from spmopt.graph.build import GraphBuilder
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.lower import lower
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


def twice(b: GraphBuilder, value: int) -> int:
    b.add("Relu", [value], name="net.other")
    return value


@pytest.mark.parametrize(
    "graph",
    [
        network(axis=2),
        network(keep=True),
        network(twice),
        network(after=twice),
        network(lambda b, value: b.add("Relu", [value], name="net.cut")),
        network(lambda b, value: b.add("Add", [value, value], name="net.doubled")),
        training_graph(zoo.network("bert-tiny", batch=1, sequence=8, layers=1)),
    ],
)
def test_attention_stays_apart_where_something_else_needs_its_scores(graph: Graph) -> None:
    assert fuse_attention(graph) is graph


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
    planes=(),
    held=0,
    sum_bytes=4,
    element_type=None,
)


def moved(queries: int, keys: int, room: int) -> int:
    """Go through the blocks of ATTENTION one by one; return the bytes of keys and values fetched.

    At each moment the scratchpad has two blocks of what streams.
    """
    attention, fetched = ATTENTION, 0
    for _ in range(attention.first.batch):
        held = set[int]()
        for _ in range(0, attention.first.m, queries):
            blocks = range(0, attention.first.n, keys)
            for block in blocks:
                if block not in held:
                    fetched += min(keys, attention.first.n - block) * (8 + 16) * 2
                held = held | {block} if len(blocks) == 1 else {block}
    two = 2 * 2 * (min(queries, 40) * (8 + 16) + min(keys, 48) * (8 + 16))
    inner = queries * (keys + 2 + (16 if keys < 48 else 0)) * 4
    assert two + inner >= room  # what is smaller than two blocks takes less
    return fetched


def test_blocks_move_and_need_what_going_through_them_does() -> None:
    machine = plain_machine(8192, page_bytes=64)
    for key_blocks in (1, 2, 3, 6, 48):
        for queries in (1, 5, 8, 20, 40):
            found = ATTENTION.blocks(machine, queries, key_blocks)
            keys = -(-48 // key_blocks)
            bytes_of = ATTENTION.sizes[1] + ATTENTION.sizes[2]
            assert found.fetches * bytes_of == moved(queries, keys, found.scratch_bytes)
            several = Gemm(m=queries, k=8, n=keys, batch=3 * -(-40 // queries) * key_blocks)
            assert found.cycles >= compute_cycles(machine, 0, several)


@pytest.mark.parametrize("pages", [1, 3, 8, 20, 60, 400])
def test_none_of_the_ways_is_worse_than_another_and_the_first_fits(pages: int) -> None:
    machine = plain_machine(64 * pages, page_bytes=64)
    half = max(pages // 2, 1) * 64
    found = attention_blocks(ATTENTION, machine, half)
    assert found[0].scratch_bytes <= half
    for one in found:
        for other in found:
            worse = all(a >= b for a, b in zip(one, other, strict=True))
            assert one == other or not worse
    # A larger scratchpad never moves more.
    larger = attention_blocks(ATTENTION, plain_machine(128 * pages, page_bytes=64), 2 * half)
    assert larger[0].fetches <= found[0].fetches


def test_a_room_for_everything_fetches_once() -> None:
    machine = plain_machine(2**20, page_bytes=64)
    found = attention_blocks(ATTENTION, machine, 2**19)
    assert found[0][1:] == Blocks(0, 1, found[0].cycles, 0)[1:]


def mappings(bandwidth: str) -> tuple[OpMapping, ...]:
    graph = zoo.network("gpt2", batch=1, layers=1, sequence=64, hidden=32, heads=2, vocabulary=48)
    problem = lower(graph, spmopt.machine("small-npu", spm="16KiB", bandwidth=bandwidth))
    return next(each for each in problem.operations if each.kind == OPERATOR).mappings


def test_mappings_do_not_depend_on_bandwidth() -> None:
    found = mappings("1GB/s")
    assert len(found) > 1
    assert found == mappings("100GB/s")
