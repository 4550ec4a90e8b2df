"""Operators of integers, with scales and packed, beside ONNX's reference and hand-made numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import spmopt
from spmopt.core.graph import Value
from spmopt.execution.kernels.call import Array
from spmopt.execution.kernels.onnx_reference import reference
from spmopt.execution.values import array_of, bytes_of, convert
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import Attributes
from tests.execution.called import computed
from tests.frontends.models import model, saved
from tests.solving.fakes import bounds_only, install

make_node = helper.make_node
CHOSEN = np.random.default_rng(0)


def ints(*shape: int, dtype: Any = np.int8) -> Array:
    low = 0 if np.dtype(dtype).kind == "u" else -9
    return CHOSEN.integers(low, 10, shape).astype(dtype)


def scale(*shape: int) -> Array:
    return CHOSEN.uniform(0.2, 0.9, shape).astype(np.float32)


def integer(operator: str, inputs: list[Array], shape: tuple[int, ...], **of: Any) -> Array:
    """The result in 8 bits of an operator of ONNX Runtime."""
    (found,) = computed(f"com.microsoft.{operator}", inputs, [(shape, "int8")], of)
    return found


# Operands in the order of ONNX, and how many of them are no scales, at which places.
CASES: dict[str, tuple[list[Array], tuple[int, ...], Attributes]] = {
    "QuantizeLinear": ([9 * scale(3, 4) - 4, scale(4), ints(4)], (0,), {"axis": 1}),
    "DequantizeLinear": ([ints(3, 4), scale(3), ints(3)], (0,), {"axis": 0}),
    "QLinearMatMul": (
        [ints(3, 4), scale(), ints(), ints(4, 5), scale(5), ints(5), scale(), ints()],
        (0, 3),
        {},
    ),
    "MatMulInteger": ([ints(3, 4), ints(4, 5), ints(), ints(5)], (0, 1), {}),
    "QLinearConv": (
        [
            *(ints(2, 3, 5, 6, dtype=np.uint8), scale(), ints(dtype=np.uint8)),
            *(ints(4, 3, 2, 2), scale(4), ints(4), scale(), ints(dtype=np.uint8)),
            ints(4, dtype=np.int32),
        ],
        (0, 3, 8),
        {"pads": (1, 0, 1, 0), "strides": (2, 1)},
    ),
    "ConvInteger": (
        [
            *(ints(2, 3, 5, 6, dtype=np.uint8), ints(4, 3, 2, 2, dtype=np.uint8)),
            *(ints(dtype=np.uint8), ints(dtype=np.uint8)),
        ],
        (0, 1),
        {"pads": (1, 0, 1, 0)},
    ),
}


@pytest.mark.parametrize("operator", CASES)
def test_quantized_operators_are_those_of_onnx(operator: str) -> None:
    inputs, own, attributes = CASES[operator]
    (expected,) = reference(operator, attributes, inputs)
    behind = [each for place, each in enumerate(inputs) if place not in own]
    ours = [inputs[place] for place in own] + behind
    (found,) = computed(operator, ours, [(expected.shape, expected.dtype)], attributes)
    assert found.dtype == expected.dtype
    distance = np.abs(found.astype(float) - expected.astype(float))
    # Its own arithmetic is of 32 bits, so that it may round a half the other way.
    assert distance.max() <= (1 if expected.dtype.kind in "iu" else 1e-5)
    assert np.mean(distance > 1e-4) <= 0.02


def test_operators_of_onnx_runtime_by_hand() -> None:
    a, b = np.array([10, -20, 30], np.int8), np.array([1, 2, 3], np.int8)
    half, zero = np.array(0.5, np.float32), np.array(2, np.int8)
    scales: list[Array] = [half, zero, half, zero, half, zero]
    # (10 - 2) / 2 + (1 - 2) / 2 = 3.5 is 7 halves, and 2: 9
    assert integer("QLinearAdd", [a, b, *scales], (3,)).tolist() == [9, -20, 31]
    # 4 times -0.5 = -2 is -4 halves, and 2: -2
    assert integer("QLinearMul", [a, b, *scales], (3,)).tolist() == [-2, 2, 16]
    leaky = integer("QLinearLeakyRelu", [a, *scales[:4]], (3,), alpha=0.5)
    assert leaky.tolist() == [10, -9, 30]
    image = np.arange(16, dtype=np.int8).reshape(1, 1, 4, 4)
    pooled = {"kernel_shape": (2, 2), "strides": (2, 2)}
    means = integer("QLinearAveragePool", [image], (1, 1, 2, 2), **pooled)
    assert means.ravel().tolist() == [2, 4, 10, 12]  # 2.5, 4.5, 10.5 and 12.5, rounded to even
    one = integer("QLinearGlobalAveragePool", [image], (1, 1, 1, 1))
    assert one.ravel().tolist() == [8]


@pytest.mark.parametrize("kind", ["int4", "uint4", "int2", "uint2", "fp4_e2m1"])
def test_packed_numbers_come_back(kind: str) -> None:
    value = Value(name="x", shape=(3, 3), element_type=kind)
    numbers = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3]], np.float32)
    numbers = np.minimum(numbers, 1) if kind == "int2" else numbers
    packed = bytes_of(numbers, value)
    assert packed.size == value.size_bytes < 9
    assert array_of(packed, value, 9).reshape(3, 3).astype(float).tolist() == numbers.tolist()
    if kind in ("int4", "int2"):
        assert array_of(bytes_of(-numbers, value), value, 9).tolist() == (-numbers).ravel().tolist()


def test_numbers_beyond_an_integer_are_its_nearest() -> None:
    value = Value(name="x", shape=(4,), element_type="int8")
    assert convert(np.array([300.0, -300.0, 2.5, np.nan]), value).tolist() == [127, -128, 2, 0]
    value = Value(name="x", shape=(2,), element_type="uint4")
    assert convert(np.array([20, 3]), value).tolist() == [15, 3]


def test_an_integer_network_is_computed_from_a_scratchpad(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    b = GraphBuilder("quantized", element_type="int8")
    x, w = b.input("x", (2, 4, 8, 8)), b.weight("w", (4, 4, 3, 3))
    scales = b.weight("scales", (4,), element_type="fp32")
    y = b.add("QLinearConv", [x, w, scales], name="conv", pads=(1, 1, 1, 1))
    total = b.add("com.microsoft.QLinearAdd", [y, x], name="add")
    z = b.add("Relu", [total], name="relu")
    table = b.weight("table", (64, 3), element_type="int4")
    flat = b.add("Reshape", [z], shape=(8, 64))
    y = b.add("MatMul", [flat, table], name="last")
    b.set_type(y, "int8")
    problem = spmopt.lower(spmopt.load(b.finish([y])), spmopt.machine(spm="2KiB", page="64B"))
    found = spmopt.run(spmopt.solve(problem, "belady"), data="integer")
    assert found.same
    assert found.kernels.startswith("reference")


def test_pairs_of_conversions_are_computed_as_what_they_stand_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        make_node("DequantizeLinear", ["w", "ws"], ["wd"], axis=0),
        make_node("Conv", ["xd", "wd"], ["c"]),
        make_node("QuantizeLinear", ["c", "s", "z"], ["cq"]),
        make_node("DequantizeLinear", ["cq", "s", "z"], ["cd"]),
        make_node("Sigmoid", ["cd"], ["g"]),
        make_node("Mul", ["cd", "g"], ["y"]),
    ]
    constants: dict[str, Array] = {"s": np.array(0.5, np.float32), "z": np.array(0, np.int8)}
    constants |= {"w": ints(2, 4, 3, 3), "ws": scale(2)}
    file = saved(tmp_path, model(nodes, {"x": [2, 4, 8, 8]}, constants))
    problem = spmopt.lower(spmopt.load(file), spmopt.machine(spm="1KiB", page="64B"))
    assert [each.kind for each in problem.operations] == [
        *("QuantizeLinear", "Conv", "Sigmoid", "Mul")
    ]
    for data in ("integer", "normal"):
        found = spmopt.run(spmopt.solve(problem, "belady"), data=data)
        assert found.same
        assert found.kernels.startswith("reference")


def test_what_cannot_be_cut_is_computed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    b = GraphBuilder("row")
    x = b.weight("x", (64,))
    y = b.add("CumSum", [b.add("Abs", [x])], name="sum", axis=0)
    problem = spmopt.lower(spmopt.load(b.finish([y])), spmopt.machine(spm="1KiB", page="64B"))
    found = spmopt.run(spmopt.solve(problem, "belady"))
    assert found.same
    assert found.kernels.startswith("reference")
