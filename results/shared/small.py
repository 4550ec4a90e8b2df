"""Networks of 6 to 40 operations, and a machine of their size."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph


def small_problem(network: str, spm_bytes: int, *, training: bool) -> Problem:
    """Build a small network, on pages of 64 bytes, one byte and four operations a cycle.

    At these rates computation and transfers take about as long as each other.
    """
    machine = Machine(
        name="tiny",
        spm_bytes=spm_bytes,
        page_bytes=64,
        dram_bytes_per_s=10**9,
        clock_hz=10**9,
        operations_per_s=4 * 10**9,
    )
    graph = NETWORKS[network]()
    return lower(training_graph(graph) if training else graph, machine, mapper="panel")


def _mlp() -> Graph:
    b = GraphBuilder("mlp")
    x, labels = b.input("x", (8, 16)), b.input("labels", (8,), element_type="int64")
    for layer, (inputs, outputs) in enumerate(((16, 32), (32, 10))):
        x = b.add("Gemm", [x, b.weight(f"w{layer}", (inputs, outputs))])
        x = b.add("Relu", [x]) if layer == 0 else x
    return b.finish([b.add("CrossEntropy", [x, labels])])


def _lenet() -> Graph:
    """Build LeNet's layers on images of 12 x 12 pixels (LeCun et al., 1998)."""
    b = GraphBuilder("lenet")
    x = b.input("images", (2, 1, 12, 12))
    for layer, (inputs, outputs) in enumerate(((1, 4), (4, 8))):
        x = b.add("Conv", [x, b.weight(f"k{layer}", (outputs, inputs, 3, 3))], pads=(1, 1, 1, 1))
        x = b.add("MaxPool", [b.add("Relu", [x])], kernel_shape=(2, 2), strides=(2, 2))
    x = b.add("Flatten", [x])
    x = b.add("Relu", [b.add("Gemm", [x, b.weight("f0", (72, 16))])])
    return b.finish([b.add("Gemm", [x, b.weight("f1", (16, 10))])])


def _residual() -> Graph:
    b = GraphBuilder("residual")
    x = b.input("x", (1, 4, 8, 8))
    x = b.add("Conv", [x, b.weight("k0", (4, 4, 1, 1))])
    y = b.add("Conv", [x, b.weight("k1", (4, 4, 3, 3))], pads=(1, 1, 1, 1))
    y = b.add("Conv", [b.add("Relu", [y]), b.weight("k2", (4, 4, 3, 3))], pads=(1, 1, 1, 1))
    return b.finish([b.add("Relu", [b.add("Add", [y, x])])])


def _attention() -> Graph:
    """Build one head of 8 tokens."""
    b = GraphBuilder("attention")
    x = b.input("x", (1, 8, 16))
    q, k, v = (b.add("MatMul", [x, b.weight(f"w{c}", (16, 16))]) for c in "qkv")
    scores = b.add("MatMul", [q, b.add("Transpose", [k], perm=(0, 2, 1))])
    y = b.add("MatMul", [b.add("Softmax", [scores]), v])
    y = b.add("MatMul", [y, b.weight("wo", (16, 16))])
    return b.finish([b.add("Add", [y, x])])


def _lstm(steps: int) -> Graph:
    """Unroll cells; the four gates' weights are the same in all steps."""
    b = GraphBuilder("lstm")
    weights = {gate: b.weight(f"w{gate}", (16, 8)) for gate in "ifog"}
    h, c = b.input("h", (2, 8)), b.input("c", (2, 8))
    for step in range(steps):
        x = b.input(f"x{step}", (2, 8))
        gates = []
        for gate, w in weights.items():
            y = b.add("LSTMGate", [x, h, w])
            gates.append(b.add("Tanh" if gate == "g" else "Sigmoid", [y]))
        c, h = b.add_many("LSTMCell", [*gates, c])
    return b.finish([h])


def _depthwise() -> Graph:
    """Build an inverted residual of MobileNetV2: widen, filter each channel, narrow, add."""
    b = GraphBuilder("depthwise")
    x = b.input("x", (1, 4, 6, 6))
    y = b.add("Relu", [b.add("Conv", [x, b.weight("wide", (16, 4, 1, 1))])])
    y = b.add("Conv", [y, b.weight("each", (16, 1, 3, 3))], group=16, pads=(1, 1, 1, 1))
    y = b.add("Conv", [b.add("Relu", [y]), b.weight("narrow", (4, 16, 1, 1))])
    return b.finish([b.add("Add", [y, x])])


NETWORKS: Mapping[str, Callable[[], Graph]] = {
    "mlp": _mlp,
    "lenet": _lenet,
    "residual": _residual,
    "attention": _attention,
    "lstm-1": lambda: _lstm(1),
    "lstm-2": lambda: _lstm(2),
    "lstm-3": lambda: _lstm(3),
    "depthwise": _depthwise,
}
"""By name; LSTMs with their number of cells."""
