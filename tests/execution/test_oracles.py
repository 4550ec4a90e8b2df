"""Kernels beside ONNX Runtime and torch, where these are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from spmopt.execution.kernels.call import Array
from tests.execution.called import computed

CHOSEN = np.random.default_rng(0)


def u8(*shape: int) -> Array:
    return CHOSEN.integers(0, 255, shape).astype(np.uint8)


def s(value: float) -> Array:
    return np.array(value, np.float32)


def z(value: int) -> Array:
    return np.array(value, np.uint8)


BOTH = [u8(3, 4), s(0.3), z(5), u8(3, 4), s(0.2), z(9), s(0.4), z(7)]
POOL = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1)}
QUANTIZED: dict[str, tuple[list[Array], tuple[int, ...], dict[str, Any]]] = {
    "QLinearAdd": (BOTH, (0, 3), {}),
    "QLinearMul": (BOTH, (0, 3), {}),
    "QLinearSigmoid": ([u8(3, 4), s(0.05), z(120), s(1 / 256), z(0)], (0,), {}),
    "QLinearLeakyRelu": ([u8(3, 4), s(0.05), z(120), s(0.07), z(30)], (0,), {"alpha": 0.1}),
    "QLinearAveragePool": ([u8(1, 3, 6, 6), s(0.05), z(10), s(0.06), z(3)], (0,), POOL),
    "QLinearGlobalAveragePool": ([u8(2, 3, 5, 5), s(0.05), z(10), s(0.06), z(3)], (0,), {}),
    "QLinearSoftmax": (
        [u8(3, 5), s(0.05), z(10), s(1 / 256), z(0)],
        (0,),
        {"axis": -1, "opset": 13},
    ),
    "QGemm": (
        [
            *(u8(3, 4), s(0.02), z(5), u8(4, 5), s(0.03), z(9)),
            *(CHOSEN.integers(-99, 99, (5,)).astype(np.int32), s(0.1), z(7)),
        ],
        (0, 3, 6),
        {},
    ),
    "MatMulIntegerToFloat": ([u8(3, 4), u8(4, 5), s(0.1), s(0.2), z(3), z(4)], (0, 1), {}),
}


@pytest.mark.parametrize("operator", QUANTIZED)
def test_quantized_operators_are_those_of_onnx_runtime(operator: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    inputs, own, attributes = QUANTIZED[operator]
    names = [f"x{place}" for place in range(len(inputs))]
    first = names[own[0]]
    kind = helper.np_dtype_to_tensor_dtype(inputs[own[0]].dtype)
    made = "ToFloat" in operator
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], domain="com.microsoft", **attributes)],
        "one",
        [helper.make_tensor_value_info(first, kind, inputs[own[0]].shape)],
        [helper.make_tensor_value_info("y", 1 if made else 2, None)],
        [numpy_helper.from_array(x, n) for x, n in zip(inputs, names, strict=True) if n != first],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {first: inputs[own[0]]})
    ours = [inputs[k] for k in own] + [x for k, x in enumerate(inputs) if k not in own]
    like = [(expected.shape, expected.dtype)]
    (found,) = computed(f"com.microsoft.{operator}", ours, like, attributes)
    distance = np.abs(found.astype(float) - expected.astype(float))
    # Halves may be rounded the other way.
    assert distance.max() <= (1e-3 if made else 1)
    assert np.mean(distance > 1e-3) < 0.1


def test_a_step_of_an_lstm_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    cell = torch.nn.LSTMCell(5, 4, dtype=torch.float64)
    x, h, c = (torch.randn(3, n, dtype=torch.float64) for n in (5, 4, 4))
    new_h, new_c = cell(x, (h, c))
    order = [0, 3, 1, 2]  # gates of torch are i, f, g, o; of ONNX i, o, f, g

    def turned(gates: Any) -> Array:
        return np.concatenate([np.split(gates.detach().numpy(), 4, axis=1)[k] for k in order], 1)

    of_x, of_h = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    like = [(c.numpy().shape, c.numpy().dtype)] * 2
    found = computed("LSTMUpdate", [turned(of_x), turned(of_h), c.numpy()], like, {})
    assert np.allclose(found[0], new_c.detach().numpy())
    assert np.allclose(found[1], new_h.detach().numpy())
