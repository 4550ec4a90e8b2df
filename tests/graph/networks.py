"""Small networks whose training graphs can be written out by hand."""

from spmopt.core.graph import Graph
from spmopt.graph.build import GraphBuilder


def mlp() -> Graph:
    """Two layers, biases, a loss."""
    b = GraphBuilder("mlp")
    x, labels = b.input("x", (8, 4)), b.input("labels", (8,), element_type="int64")
    w1, b1 = b.weight("w1", (4, 16)), b.weight("b1", (16,))
    w2, b2 = b.weight("w2", (16, 3)), b.weight("b2", (3,))
    y1 = b.add("Gemm", [x, w1, b1], name="y1")
    r = b.add("Relu", [y1], name="r")
    y2 = b.add("Gemm", [r, w2, b2], name="y2")
    return b.finish([b.add("CrossEntropy", [y2, labels], name="loss")])


def convolution() -> Graph:
    """Convolution, normalization, ReLU, pooling, flattening, a layer; no loss."""
    b = GraphBuilder("convolution")
    x, w = b.input("x", (2, 3, 8, 8)), b.weight("w", (4, 3, 3, 3))
    scale, shift = b.weight("scale", (4,)), b.weight("shift", (4,))
    mean, variance = b.weight("mean", (4,)), b.weight("variance", (4,))
    c = b.add("Conv", [x, w], name="c", pads=(1, 1, 1, 1))
    n = b.add("BatchNormalization", [c, scale, shift, mean, variance], name="n")
    r = b.add("Relu", [n], name="r")
    p = b.add("MaxPool", [r], name="p", kernel_shape=(2, 2), strides=(2, 2))
    d = b.add("Dropout", [p], name="d")
    f = b.add("Flatten", [d], name="f")
    return b.finish([b.add("Gemm", [f, b.weight("v", (64, 5))], name="y")])


def residual() -> Graph:
    """``relu(x1 + conv(relu(conv(x1))))`` behind a first convolution."""
    b = GraphBuilder("residual")
    x = b.input("x", (1, 4, 6, 6))
    w = [b.weight(f"w{k}", (4, 4, 1, 1)) for k in range(3)]
    x1 = b.add("Conv", [x, w[0]], name="x1")
    c1 = b.add("Conv", [x1, w[1]], name="c1")
    r1 = b.add("Relu", [c1], name="r1")
    c2 = b.add("Conv", [r1, w[2]], name="c2")
    s = b.add("Add", [c2, x1], name="s")
    return b.finish([b.add("Relu", [s], name="y")])


def attention() -> Graph:
    """One head: softmax(q k^T) v with q, k, v products of one embedding."""
    b = GraphBuilder("attention")
    tokens, table = b.input("tokens", (2, 5), element_type="int64"), b.weight("table", (50, 8))
    x = b.add("Gather", [table, tokens], name="x")
    q, k, v = (b.add("MatMul", [x, b.weight(f"w{c}", (8, 8))], name=c) for c in "qkv")
    t = b.add("Transpose", [k], name="t", perm=(0, 2, 1))
    a = b.add("MatMul", [q, t], name="a")
    p = b.add("Softmax", [a], name="p")
    return b.finish([b.add("MatMul", [p, v], name="y")])


def lstm(steps: int = 2, layers: int = 1) -> Graph:
    """Unrolled LSTM cells with weights shared by all steps, and a loss on the last state."""
    b = GraphBuilder("lstm")
    batch, size = 2, 8
    rows = [b.input(f"x{t}", (batch, size)) for t in range(steps)]
    h = rows[-1]
    for layer in range(layers):
        tag = f"L{layer}" if layer else ""
        weights = {g: b.weight(f"w{g}{tag}", (2 * size, size)) for g in "ifog"}
        h, c = b.input(f"h{tag}", (batch, size)), b.input(f"c{tag}", (batch, size))
        for t, x in enumerate(rows):
            gates = []
            for g, w in weights.items():
                y = b.add("LSTMGate", [x, h, w], name=f"y{g}{t}{tag}")
                gates.append(b.add("Tanh" if g == "g" else "Sigmoid", [y], name=f"{g}{t}{tag}"))
            c, h = b.add_many("LSTMCell", [*gates, c], name=f"c{t}{tag}")
            rows[t] = h
    labels = b.input("labels", (batch,), element_type="int64")
    return b.finish([b.add("CrossEntropy", [h, labels], name="loss")])


def lines(graph: Graph, first: int = 0) -> list[str]:
    """The graph's nodes from ``first`` on, as ``operator: inputs -> outputs`` by name."""
    names = [value.name for value in graph.values]
    return [
        f"{node.operator}: {' '.join(names[v] for v in node.inputs)}"
        f" -> {' '.join(names[v] for v in node.outputs)}"
        for node in graph.nodes[first:]
    ]
