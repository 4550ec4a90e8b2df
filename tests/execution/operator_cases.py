"""Small graphs of every operator, for tests that go over the whole registry.

An operand is a string: a letter for its kind and its axes, ``x4,2,6``. ``x`` is a batch of data
with a trained tensor added, so that the gradient has a batch; ``p`` the same, but positive; ``w`` a
weight, ``f`` data of an input, ``s`` a state; ``i`` indices, ``b`` truth values, ``c`` integers of
8 bits, ``u`` without sign, ``n`` integers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from spmopt.core.elements import ElementKind
from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph
from spmopt.graph.build import GraphBuilder
from spmopt.graph.interleaving import interleave_gradients
from spmopt.graph.operators import SPECS, lookup
from spmopt.graph.operators.spec import Shape
from spmopt.graph.training import training_graph

Build = Callable[[GraphBuilder], Sequence[int]]
_TYPES = {"i": "int64", "b": "bool", "c": "int8", "u": "uint8", "n": "int32", "f": "fp32"}


def shape_of(text: str) -> Shape:
    """Read axes: ``4,2,6``."""
    return tuple(int(each) for each in text.split(",") if each)


def operand(b: GraphBuilder, text: str) -> int:
    """Add an operand and what it is made of."""
    kind, shape, name = text[0], shape_of(text[1:]), f"v{len(b.values)}"
    if kind in _TYPES:
        return b.input(name, shape, element_type=_TYPES[kind])
    if kind == "s":
        return b.state(name, shape)
    if kind == "w" or len(shape) < 1:
        return b.weight(name, shape)
    own = b.weight(f"{name}.w", shape[1:])
    found = b.add("Add", [b.input(name, shape), own])
    return b.add("Sigmoid", [found]) if kind == "p" else found


def of(operator: str, *operands: str, **attributes: Attribute) -> Build:
    """Return the graph of an operator whose rule knows its results."""
    return lambda b: b.add_many(
        operator, [operand(b, each) for each in operands], name="it", **attributes
    )


def stated(operator: str, *operands: str, to: Sequence[str], **attributes: Attribute) -> Build:
    """Return the graph of an operator whose results are stated, each as an operand is."""
    results = [(shape_of(each[1:]), _TYPES.get(each[0], "fp32")) for each in to]
    return lambda b: b.add_stated(
        operator, [operand(b, each) for each in operands], results, name="it", **attributes
    )


def update(operator: str, *states: str) -> Build:
    """Return the graph of an optimizer: a weight, its gradient, and states, in place."""

    def build(b: GraphBuilder) -> Sequence[int]:
        weight, gradient = b.weight("w", (4, 6)), b.input("g", (4, 6))
        own = [weight, *(b.state(name, (4, 6)) for name in states)]
        b.add_node("it", operator, [weight, gradient, *own[1:]], own, {})
        return own

    return build


def assumed(b: GraphBuilder) -> Sequence[int]:
    """Return an operator without a rule, and its gradient."""
    return b.assume_pointwise([operand(b, "x4,2"), operand(b, "x4,2")], [(4, 2), (4, 2)])


def flat(build: Build) -> Build:
    """Return a graph with a flat result: a loss needs several numbers along its last axis."""
    return lambda b: [b.add("Flatten", [build(b)[0]])]


def by_default(operator: str) -> Build:
    """Return the graph of one, two or three equal operands, of the first type that it takes."""
    for kind in "xcb":
        for count in (1, 2, 3):
            found = of(operator, *[f"{kind}4,2,6"] * count)
            try:
                found(GraphBuilder("one"))
            except InputError:
                continue
            return found
    raise AssertionError(f"{operator}: give it a case in tests/execution/operator_cases.py")


_POOL: Mapping[str, Attribute] = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1)}
_SLID: Mapping[str, Attribute] = {"strides": (2, 1), "pads": (1, 0, 1, 1), "dilations": (1, 2)}
_MAP, _GROUPS = "x4,4,8,6", {"num_groups": 2}
_WHOLE, _SUMS, _OF_ROWS = ("x4,6,2,2", "w6", "s6", "s6"), ("s6", "s6"), {"axis": -1}
_REDUCTIONS: Mapping[str, Build] = {
    f"{name} {axes}": of(name, f"{kind}4,2,6", axes=axes, keepdims=int(axes == (0,)))
    for name, kind in {
        **dict.fromkeys(
            ("ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceSum"), "x"
        ),
        **dict.fromkeys(("ReduceProd", "ReduceMean", "ReduceL2", "ReduceLogSumExp"), "x"),
        **{"ReduceLogSum": "p", "IntegerMean": "c"},
    }.items()
    for axes in ((0,), (1, 2), (2,))
}
CASES: Mapping[str, Build] = {
    **_REDUCTIONS,
    "ArgMax": of("ArgMax", "x4,6", axis=1),
    "ArgMin": of("ArgMin", "x4,6", axis=0, keepdims=0),
    "AssumedPointwise": assumed,
    "AveragePool": of("AveragePool", _MAP, **_POOL),
    "AveragePool counted": of("AveragePool", _MAP, count_include_pad=1, **_POOL),
    "BatchNormalization": of("BatchNormalization", _MAP, *["w4"] * 2, *["s4"] * 2),
    "BatchNormalizationStatistics": stated("BatchNormalizationStatistics", "f4,6,2", to=_SUMS),
    "BlackmanWindow": stated("BlackmanWindow", to=["f8"], size=8),
    "Cast": of("Cast", "x4,6", to="fp32"),
    "Cast to integers": of("Cast", "f4,6", to="int32"),
    "CastLike": of("CastLike", "x4,6", "w6"),
    "CenterCropPad": stated("CenterCropPad", "x4,6,4", to=["x4,4,8"], shape=(4, 4, 8)),
    "Clip": of("Clip", "x4,6", min=-1.0, max=1.0),
    "Col2Im": stated(
        "Col2Im",
        "x4,12,9",
        to=["x4,3,4,5"],
        **{"image_shape": (4, 5), "block_shape": (2, 2), "strides": (1, 2), "pads": (0, 1, 0, 0)},
        dilations=(1, 1),
    ),
    **{name: of(name, "b4,6", "b6") for name in ("And", "Or", "Xor")},
    **{name: of(name, "f4,6", "f4,1") for name in ("Greater", "GreaterOrEqual")},
    **{name: of(name, "f4,6", "f6") for name in ("Less", "LessOrEqual", "Mod")},
    **{name: of(name, "u4,6", "u6") for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "Add": of("Add", "x4,6", "x4,6"),
    "Div": of("Div", "x4,6", "p4,6"),
    **{name: of(name, "p4,6") for name in ("Acos", "Asin", "Atanh", "Log", "Reciprocal", "Sqrt")},
    "Acosh": lambda b: b.add_many("Acosh", [b.add("Exp", [operand(b, "p4,6")])], name="it"),
    **{name: of(name, "x4,6", "w6", "x4,6") for name in ("Max", "Min", "Sum")},
    "BitShift": of("BitShift", "u4,6", "u6", direction="LEFT"),
    "BitwiseNot": of("BitwiseNot", "u4,6"),
    "Not": of("Not", "b4,6"),
    "Concat": of("Concat", "x4,2", "f4,4", "x4,6", axis=1),
    "Concat of the batch": of("Concat", "x4,2", "x8,2", axis=0),
    "ConstantOfShape": stated("ConstantOfShape", to=["f4,6"], value=1.0),
    "Conv": of("Conv", _MAP, "w6,4,3,2", "w6", **_SLID),
    "Conv in groups": of("Conv", _MAP, "w8,2,3,3", "w8", group=2, auto_pad="SAME_UPPER"),
    "ConvInteger": of("ConvInteger", "u4,4,8,6", "u6,4,3,2", **_SLID),
    "ConvTranspose": of("ConvTranspose", _MAP, "w4,6,3,2", "w6", **_SLID),
    "ConvTranspose in groups": of("ConvTranspose", _MAP, "w4,3,3,2", "w6", group=2),
    "CrossEntropy": of("CrossEntropy", "x4,6", "i4"),
    "CrossEntropy of rows": of("CrossEntropy", "x4,6,2", "i4,2", axis=1),
    "CumProd": of("CumProd", "f4,6", axis=1),
    "CumSum": of("CumSum", "x4,6,2", axis=1),
    "CumSum back": of("CumSum", "x4,6", axis=0, reverse=1, exclusive=1),
    "DFT": stated("DFT", "f4,8,1", to=["f4,8,2"], axis=1),
    "DeformConv": of("DeformConv", "f2,2,4,4", "w2,2,3,3", "f2,18,2,2"),
    "DepthToSpace": of("DepthToSpace", "x4,8,4,2", blocksize=2, mode="CRD"),
    "DepthToSpace by columns": of("DepthToSpace", "x4,8,4,2", blocksize=2),
    "DequantizeLinear": of("DequantizeLinear", "c4,6", "s6", "c6", axis=1),
    "Det": stated("Det", "f4,3,3", to=["f4"]),
    "DropoutTraining": of("Dropout", "x4,6"),
    "FusedAttention": of(
        "FusedAttention",
        *("x4,2,6,4", "x4,2,4,8", "x4,2,8,3", "x6,8", "x4,1,1,8"),
        first="abmk,abkn->abmn",
        second="abmn,abnv->abmv",
        between="Mul:s,3 Add:4,s",
    ),
    "FusedAttention, causal": of(
        "FusedAttention",
        *("x4,2,6,4", "x4,2,4,8", "x4,2,8,3"),
        first="abmk,abkn->abmn",
        second="abmn,abnv->abmv",
        causal=2,
        hidden=1,
    ),
    "Einsum": of("Einsum", "x4,2,6", "x4,6,8", equation="bij,bjk->bik"),
    "Equal": of("Equal", "f4,6", "f6"),
    "Expand": of("Expand", "x4,1,6", shape=(4, 2, 6)),
    "EyeLike": stated("EyeLike", "f4,6", to=["f4,6"]),
    "Gather": of("Gather", "x4,6,2", "i8", axis=1),
    "Gather of rows": of("Gather", "x6,4", "i4,2"),
    "GatherElements": of("GatherElements", "x4,6", "i4,2", axis=1),
    "GatherElements of rows": of("GatherElements", "x4,6", "i2,6"),
    "GatherND": of("GatherND", "x4,6,2", "i4,2"),
    "Gemm": of("Gemm", "x4,6", "w6,8", "w8"),
    "Gemm turned": of("Gemm", "x6,4", "w8,6", "w4,1", transA=1, transB=1),
    "GlobalAveragePool": flat(of("GlobalAveragePool", _MAP)),
    "GlobalLpPool": of("GlobalLpPool", _MAP, p=3),
    "GlobalMaxPool": flat(of("GlobalMaxPool", _MAP)),
    "GridSample": stated("GridSample", "x2,1,3,3", "x2,1,2,2", to=["f2,1,1,2"]),
    "GroupNormalization": of("GroupNormalization", _MAP, "w4", "w4", **_GROUPS),
    "GroupNormalization of groups": of("GroupNormalization", _MAP, "w2", "w2", **_GROUPS),
    "GRUUpdate": of("GRUUpdate", "x4,6", "x4,6", "x4,2"),
    "HammingWindow": stated("HammingWindow", to=["f8"], size=8),
    "HannWindow": stated("HannWindow", to=["f8"], size=8),
    "LayerNormalization": of("LayerNormalization", "x4,6,2", "w2", "w2"),
    "LayerNormalization of two axes": of("LayerNormalization", "x4,6,2", "w6,2", axis=1),
    "LeakyRelu": of("LeakyRelu", "x4,6", alpha=-0.1),
    "LossGradient": of("Identity", "x4,2,6"),
    "LpNormalization": of("LpNormalization", "x4,6,2", axis=1),
    "LpNormalization of magnitudes": of("LpNormalization", "x4,6", axis=0, p=1),
    "LpPool": of("LpPool", _MAP, p=2, **_POOL),
    "LRN": of("LRN", _MAP, size=3),
    "LSTMCell": of("LSTMCell", *["x4,6"] * 5),
    "LSTMGate": of("LSTMGate", "x4,6", "x4,2", "w8,2"),
    "LSTMUpdate": of("LSTMUpdate", "x4,16", "x4,16", "x4,4"),
    "Lookup": of("Lookup", "x4,6", table=100),
    "MatMul": of("MatMul", "x4,2,6", "w6,8"),
    "MatMul of a batch": of("MatMul", "x4,2,6", "x4,6,8"),
    "MatMul of vectors": of("MatMul", "x4,6", "w6"),
    "MatMulInteger": of("MatMulInteger", "u4,6", "u6,8"),
    "MaxPool": of("MaxPool", _MAP, **_POOL),
    "MaxRoiPool": stated("MaxRoiPool", "f4,4,8,6", "f3,5", to=["f3,4,2,2"], pooled_shape=(2, 2)),
    "Mean": of("Mean", "x4,6", "w6", "f4,1"),
    "MeanVarianceNormalization": of("MeanVarianceNormalization", "f4,4,2,6"),
    "MelWeightMatrix": stated("MelWeightMatrix", to=["f8,4"]),
    "Mul": of("Mul", "x4,2,6", "w2,1"),
    "Multinomial": stated("Multinomial", "f4,6", to=["n4,8"], sample_size=8),
    "NegativeLogLikelihoodLoss": of("NegativeLogLikelihoodLoss", "x4,6,2", "i4,2"),
    "NegativeLogLikelihoodLoss of sums": of(
        "NegativeLogLikelihoodLoss", "x4,6", "i4", "s6", reduction="sum"
    ),
    "NormalizationGradientSums": stated(
        "NormalizationGradientSums", *_WHOLE[:1] * 2, *_SUMS, to=_SUMS
    ),
    "NormalizationGradientApply": stated(
        "NormalizationGradientApply", *_WHOLE[:1], *_WHOLE, *_SUMS, to=_WHOLE[:1]
    ),
    "OneHot": of("OneHot", "i4,2", "f2", depth=6),
    "Pad": of("Pad", "x4,6", pads=(1, 1, 0, 2)),
    "Pad reflected": of("Pad", "x4,6", pads=(0, 1, 0, 2), mode="reflect"),
    "PRelu": of("PRelu", "x4,6,2", "w6,1"),
    "Pow": of("Pow", "p4,6", "w6"),
    "QLinearConv": of("QLinearConv", "c4,4,8,6", "c6,4,3,2", "n6", **_SLID),
    "QLinearMatMul": of("QLinearMatMul", "c4,6", "c6,8"),
    "QuantizeLinear": of("QuantizeLinear", "f4,6", "s6", "c6", axis=1),
    "RandomNormal": stated("RandomNormal", to=["f4,6"]),
    "RandomUniform": stated("RandomUniform", to=["f4,6"]),
    "Range": stated("Range", to=["f8"]),
    "RecurrentGemm": of("RecurrentGemm", "x4,6", "w1,8,6", "w1,16"),
    "RecurrentGemm backward": of("RecurrentGemm", "x4,6", "w2,8,6", direction=1),
    "RequantShift": of("RequantShift", "n4,6,2", "n6,1", "n6,1"),
    "Reshape": of("Reshape", "x4,2,6", shape=(8, 6)),
    "Resize": of("Resize", _MAP, shape=(4, 4, 16, 12), mode="nearest"),
    "Resize to fewer": of("Resize", _MAP, shape=(4, 4, 6, 4), mode="linear"),
    "Resize, cubic": of("Resize", _MAP, shape=(4, 4, 12, 9), mode="cubic"),
    "ReverseSequence": of("ReverseSequence", "x6,4,2", "i4"),
    "ReverseSequence of batches": of("ReverseSequence", "x4,6,2", "i4", batch_axis=0, time_axis=1),
    "RMSNorm": of("RMSNorm", "x4,2,6", "w6"),
    "RMSNormalization": of("RMSNormalization", "x4,2,6", "w6"),
    "RoiAlign": of("RoiAlign", _MAP, "f6,4", "i6", output_height=2, output_width=2),
    "RotaryEmbedding": of("RotaryEmbedding", "x4,2,6,8", "s6,4", "s6,4"),
    "Scatter": of("Scatter", "x4,6", "i4,2", "x4,2", axis=1),
    "ScatterElements": of("ScatterElements", "x4,6", "i4,2", "x4,2", axis=1, reduction="add"),
    "ScatterND": of("ScatterND", "x4,6", "i2,1", "x2,6"),
    "ScatterND of sums": of("ScatterND", "x4,6", "i2,1", "x2,6", reduction="add"),
    "Slice": of("Slice", "x4,8", starts=(1,), ends=(7,), axes=(1,), steps=(2,)),
    "Slice back": of("Slice", "x4,8", starts=(-1,), ends=(-9,), axes=(1,), steps=(-1,)),
    "SoftmaxCrossEntropyLoss": of("SoftmaxCrossEntropyLoss", "x4,6,2", "i4,2"),
    "SoftmaxCrossEntropyLoss of sums": of("SoftmaxCrossEntropyLoss", "x4,6", "i4", reduction="sum"),
    "SpaceToDepth": of("SpaceToDepth", "x4,2,4,6", blocksize=2),
    "Split": of("Split", "x4,8", axis=1, split=(2, 6)),
    "STFT": stated("STFT", "f4,16,1", "f8", to=["f4,3,5,2"], frame_step=4, frame_length=8),
    "StridedView": of("StridedView", "x4,2,6", split=(4, 2, 2, 3), perm=(0, 2, 1, 3), shape=(8, 6)),
    "Sub": of("Sub", "x4,6", "w6"),
    "SwiGLU": of("SwiGLU", "x4,6", "x4,6", alpha=1.5),
    "TensorScatter": of("TensorScatter", "x4,2,6,8", "x4,2,3,8", "i4"),
    "TfIdfVectorizer": stated("TfIdfVectorizer", "i4,6", to=["f4,8"]),
    "Tile": of("Tile", "x4,6", repeats=(1, 2)),
    "TopK": of("TopK", "x4,6", k=(2,), axis=1),
    "Transpose": of("Transpose", "x4,2,6", perm=(2, 0, 1)),
    "Trilu": of("Trilu", "x4,2,6", k=(1,)),
    "Unsqueeze": of("Unsqueeze", "x4,6", axes=(1,)),
    "Upsample": of("Upsample", _MAP, shape=(4, 4, 16, 12), mode="nearest"),
    "Where": of("Where", "b4,6", "x4,6", "x4,6"),
    "ai.onnx.contrib.RequantShift": of("ai.onnx.contrib.RequantShift", "n4,6,2", "n6,1", "n6,1"),
    "com.microsoft.MatMulIntegerToFloat": of("com.microsoft.MatMulIntegerToFloat", "u4,6", "c6,8"),
    "com.microsoft.QGemm": of("com.microsoft.QGemm", "c4,6", "c6,8", "n8"),
    "com.microsoft.QLinearAveragePool": of("com.microsoft.QLinearAveragePool", "c4,4,8,6", **_POOL),
    "com.microsoft.QLinearGlobalAveragePool": of(
        "com.microsoft.QLinearGlobalAveragePool", "c4,4,8,6"
    ),
    **{
        name: of(name, "c4,6", "c6")
        for name in (f"com.microsoft.QLinear{k}" for k in ("Add", "Mul"))
    },
    **{name: update(name, *"mv"[:count]) for name, count in (("SGD", 0), ("Momentum", 1))},
    "Adam": update("Adam", "m", "v"),
}
"""Graphs by the operator that they are of, and more of the same behind a blank."""

WITHOUT = {
    "BitCast": "is the same bytes under another type: its operand is computed, and it is not",
    "com.microsoft.MatMulNBits": "no kernel unpacks its weights; run refuses it in a line",
    **dict.fromkeys(
        ("Compress", "NonMaxSuppression", "NonZero", "Unique"), "shapes follow from data"
    ),
}
"""Operators that no case has, and why."""


def known() -> list[str]:
    """Names of all operators that are not refused."""
    return [name for name in sorted(SPECS.own) if not SPECS.own[name].refused]


def names() -> list[str]:
    """Cases by name: those of the table, and of each forward operator that has none there."""
    own = {node.operator for name in CASES for graph in graphs(name) for node in graph.nodes}
    lacking = [name for name in known() if name not in {*own, *WITHOUT}]
    return [*CASES, *(name for name in lacking if lookup(name).shapes is not None)]


@cache
def graphs(name: str) -> tuple[Graph, ...]:
    """The graph of a case, and its training step, where anything is trained.

    Of a product another one, with both gradients as one operation.
    """
    builder = GraphBuilder("one")
    build = CASES[name] if name in CASES else by_default(name)
    made = build(builder)
    numbers = [v for v in made if builder.values[v].type.kind is ElementKind.FLOAT]
    graph = builder.finish(numbers or made)
    try:
        step = training_graph(graph)
    except InputError:  # nothing to train, or no way back
        return (graph,)
    both = interleave_gradients(step)
    return (graph, step) if both is step else (graph, step, both)
