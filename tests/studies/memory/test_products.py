"""Accesses of kernels in blocks, against blocks that are walked one by one."""

from itertools import product

import pytest

from spmopt.frontends.networks import load_network
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.studies.memory.products import accesses
from tests.graph.networks import convolution, mlp

WORD = 4


def walked(m: int, k: int, n: int, tile: int) -> int:
    """Bytes that all blocks of a product read."""
    read = 0
    for row, column in product(range(0, m, tile), range(0, n, tile)):
        rows, columns = min(tile, m - row), min(tile, n - column)
        read += WORD * (rows * k + k * columns)
    return read


@pytest.mark.parametrize("tile", [1, 2, 3, 5, 16, 100])
def test_blocks_of_layers(tile: int) -> None:
    read, written = accesses(mlp(), tile)
    labels, bias, hidden, scores = 8 * 8, WORD * (16 + 3), WORD * 8 * 16, WORD * 8 * 3
    once = bias + hidden + scores + labels  # ReLU reads the hidden layer, the loss the scores
    assert read == walked(8, 4, 16, tile) + walked(8, 16, 3, tile) + once
    assert written == hidden + hidden + scores + WORD  # the loss is one number


@pytest.mark.parametrize("tile", [1, 7, 64, 1000])
def test_a_convolution_reads_its_windows(tile: int) -> None:
    plain, wide = (accesses(convolution(), size) for size in (tile, 10**6))
    assert plain[1] == wide[1]
    conv, layer = (2 * 8 * 8, 3 * 9, 4), (2, 64, 5)
    more = sum(walked(*size, tile) - walked(*size, 10**6) for size in (conv, layer))
    assert plain[0] - wide[0] == more


def test_views_move_nothing() -> None:
    b = GraphBuilder("view")
    x = b.input("x", (2, 3, 4))
    flat = b.add("Flatten", [x])
    assert accesses(b.finish([b.add("Relu", [flat])]), 8) == (96, 96)


def test_large_blocks_read_less_and_training_more() -> None:
    graph = load_network("alexnet", batch=1)
    found = [accesses(graph, tile)[0] for tile in (32, 64, 128, 256)]
    assert found == sorted(found, reverse=True)
    step = training_graph(mlp())
    assert all(a > b for a, b in zip(accesses(step, 8), accesses(mlp(), 8), strict=True))
