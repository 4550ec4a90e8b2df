"""Neural collaborative filtering and DLRM: small networks behind huge embedding tables.

Only the rows that a step looks up are tensors of the graph (operator ``Lookup``): a table itself
is far larger than any SPM, stays in DRAM, and is counted among the parameters. Each sample looks
up one row of each table.

NCF is NeuMF as in MLPerf training (64 factors; layers of 256, 256, 128, 64), its tables those of
release 0.6: MovieLens 20M expanded 16 x 32, 2,197,225 users and 855,776 items.

DLRM is that of MLPerf training 0.7 on Criteo Terabyte: 26 tables, indices below 40 million, rows
of 128. The interaction takes the scalar product of each pair of the 27 vectors; its lower
triangle is picked out of the square of products, which are all computed, as in the reference
code.
"""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.errors import InputError
from spmopt.frontends.zoo.layers import NetworkBuilder

_ROWS = (
    *(39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10),
    *(2208, 11938, 155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36),
)
_TOP = (1024, 1024, 512, 256)


def _perceptron(net: NetworkBuilder, name: str, x: int, widths: Sequence[int]) -> int:
    """Add fully connected layers with rectifiers."""
    for index, width in enumerate(widths):
        layer = f"{name}{index}"
        x = net.relu(f"{layer}.relu", net.linear(layer, x, width))
    return x


def ncf(
    net: NetworkBuilder, batch: int, *, users: int, items: int, factors: int, width: int
) -> list[int]:
    """Build NCF."""
    factor, embedding = (
        [
            net.look_up(f"{part}.{side}", batch, columns, table)
            for side, table in (("users", users), ("items", items))
        ]
        for part, columns in (("factors", factors), ("perceptron", width))
    )
    product = net.layer("Mul", "product", *factor)
    hidden = (2 * width, width, max(1, width // 2))
    x = _perceptron(net, "perceptron", net.join("perceptron.join", *embedding), hidden)
    return [_predict(net, net.join("join", product, x))]


def dlrm(net: NetworkBuilder, batch: int, *, dense: int, width: int, tables: int) -> list[int]:
    """Build DLRM."""
    if tables > len(_ROWS):
        raise InputError(f"network {net.name}: tables must be at most {len(_ROWS)}, is {tables}")
    x = _perceptron(net, "bottom", net.input("dense", (batch, dense)), (512, 256, width))
    vectors = [x] + [
        net.look_up(f"table{index}", batch, width, rows)
        for index, rows in enumerate(_ROWS[:tables])
    ]
    pairs = _interaction(net, vectors)
    return [_predict(net, _perceptron(net, "top", net.join("top.join", x, pairs), _TOP))]


def _predict(net: NetworkBuilder, x: int) -> int:
    return net.layer("Sigmoid", "prediction.sigmoid", net.linear("prediction", x, 1))


def _interaction(net: NetworkBuilder, vectors: Sequence[int]) -> int:
    """Return the scalar products of all pairs, (batch, pairs)."""
    batch, width = net.shape(vectors[0])
    count = len(vectors)
    rows = net.reshape(net.join("vectors", *vectors), batch, count, width)
    columns = net.stride("vectors.columns", rows, (batch, count, width), (0, 2, 1))
    # The reference code computes all products too, then gathers the triangle.
    square = net.layer("MatMul", "interaction", rows, columns)
    which = net.state("pairs", (count * (count - 1) // 2,))
    flat = net.reshape(square, batch, count * count)
    return net.layer("Gather", "interaction.pairs", flat, which, axis=1)
