"""An encoder layer as exporters write it: shapes computed, norms and GELU in fusion tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from spmopt.frontends import zoo
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph

from .figures import MACHINE, macs, moving, output_shapes, parameters
from .models import Array, floats, ints, model, saved

HIDDEN, HEADS, INNER = 64, 4, 256


class _Export:
    """Nodes in the manner of an exporter; constants as initializers."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.add("MatMul", x, self.constant(floats(inputs, outputs)))
        return self.add("Add", self.constant(floats(outputs)), product)

    def size(self, x: str, axis: int) -> str:
        one = self.add("Gather", self.add("Shape", x), self.constant(np.array(axis)), axis=0)
        return self.add("Unsqueeze", one, axes=[0])

    def heads(self, x: str, perm: list[int]) -> str:
        width = self.constant(ints(HEADS, HIDDEN // HEADS))
        shape = self.add("Concat", self.size(x, 0), self.size(x, 1), width, axis=0)
        return self.add("Transpose", self.add("Reshape", x, shape), perm=perm)

    def norm(self, x: str) -> str:
        centerd = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        square = self.add("Pow", centerd, self.number(2))
        variance = self.add("Add", self.add("ReduceMean", square, axes=[-1]), self.number(1e-12))
        scaled = self.add("Div", centerd, self.add("Sqrt", variance))
        gain, shift = self.constant(floats(HIDDEN)), self.constant(floats(HIDDEN))
        return self.add("Add", self.add("Mul", scaled, gain), shift)

    def gelu(self, x: str) -> str:
        erf = self.add("Erf", self.add("Div", x, self.number(1.4142)))
        half = self.add("Mul", x, self.add("Add", erf, self.number(1)))
        return self.add("Mul", half, self.number(0.5))

    def layer(self, x: str) -> str:
        query, key, value = (self.linear(x, HIDDEN, HIDDEN) for _ in range(3))
        scores = self.add("MatMul", self.heads(query, [0, 2, 1, 3]), self.heads(key, [0, 2, 3, 1]))
        weights = self.add("Softmax", self.add("Div", scores, self.number(4)), axis=3)
        context = self.add("MatMul", weights, self.heads(value, [0, 2, 1, 3]))
        joined = self.add("Transpose", context, perm=[0, 2, 1, 3])
        width = self.constant(ints(HIDDEN))
        shape = self.add("Concat", self.size(joined, 0), self.size(joined, 1), width, axis=0)
        out = self.linear(self.add("Reshape", joined, shape), HIDDEN, HIDDEN)
        x = self.norm(self.add("Add", out, x))
        inner = self.gelu(self.linear(x, HIDDEN, INNER))
        return self.norm(self.add("Add", self.linear(inner, INNER, HIDDEN), x))


@pytest.mark.parametrize("dimensions", [("batch", "sequence", HIDDEN), (1, 10, HIDDEN)])
def test_encoder_layers(tmp_path: Path, dimensions: tuple[int | str, ...]) -> None:
    export = _Export()
    y = export.layer(export.layer("x"))
    made = model(export.nodes, {"x": dimensions}, export.constants, outputs=(y,), opset=11)
    sizes = {"sequence": 10} if "sequence" in dimensions else {}
    graph = load_onnx(saved(tmp_path, made), batch=6, sizes=sizes)
    assert output_shapes(graph) == [(6, 10, HIDDEN)]

    bert = zoo.network("bert-tiny", batch=6, sequence=10, hidden=HIDDEN, heads=HEADS, layers=2)
    pooler = HIDDEN * HIDDEN
    assert macs(graph) == macs(bert) - 6 * pooler
    tables = (30522 + 2 + 512 + 2) * HIDDEN
    assert parameters(graph) == parameters(bert) - tables - pooler - HIDDEN
    counts = moving(graph)
    assert counts["MatMul"] == 2 * 8
    assert counts["Transpose"] == 2 * 4
    assert counts.keys().isdisjoint({"Shape", "Gather", "Unsqueeze", "Concat", "Reshape"})

    step = training_graph(graph)
    # dW and dX of all; no dX of the three first projections.
    assert macs(step) == 3 * macs(graph) - 3 * 6 * 10 * HIDDEN * HIDDEN
    assert len(lower(step, MACHINE).operations) == moving(step).total()
