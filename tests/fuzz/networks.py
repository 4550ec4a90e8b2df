"""Hostile ONNX files: small models that are damaged, contradict themselves, or expand."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper

from tests.fuzz.odd import NAMES

_OWN = "own"


def _floats(name: str, dims: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def _model(nodes: list[NodeProto], functions: list[onnx.FunctionProto] | None = None) -> ModelProto:
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [1.0] * 16)
    graph = helper.make_graph(
        nodes, "g", [_floats("x", [2, 4])], [_floats("y", [2, 4])], initializer=[weight]
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(_OWN, 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions or [])


def plain() -> ModelProto:
    """Return a model of a few operators of different kinds."""
    make = helper.make_node
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [2, 4])
    return _model(
        [
            make("MatMul", ["x", "w"], ["a"], name="dense"),
            make("Relu", ["a"], ["b"], name="relu"),
            make("Constant", [], ["c"], value=shape),
            make("Reshape", ["b", "c"], ["d"]),
            make("Softmax", ["d"], ["e"], axis=-1),
            make("Gemm", ["e", "w"], ["f"], transB=1, alpha=0.5),
            make("Shape", ["f"], ["g"]),
            make("Expand", ["f", "g"], ["h"]),
            make("ReduceMean", ["h"], ["m"], axes=[1], keepdims=1),
            make("Sub", ["h", "m"], ["y"]),
        ]
    )


def _function(
    name: str, nodes: list[NodeProto], inputs: list[str], outputs: list[str]
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(_OWN, 1)]
    return helper.make_function(_OWN, name, inputs, outputs, nodes, imports)


def _call(name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(name, inputs, outputs, domain=_OWN, **attributes)


def doubling(rng: random.Random) -> ModelProto:
    """Functions that call the next one several times: few bytes, many nodes."""
    levels, times = rng.choice(((4, 2), (12, 2), (17, 2), (5, 12), (40, 2), (8, 4)))
    wide = "n" * rng.choice((1, 20, 400))
    functions = []
    for level in range(levels):
        last = level + 1 == levels
        names = ["a", *(f"{wide}{k}" for k in range(times))]
        make = helper.make_node if last else _call
        nodes = [make("Relu" if last else f"F{level + 1}", [a], [b]) for a, b in pairwise(names)]
        functions.append(_function(f"F{level}", nodes, ["a"], [names[-1]]))
    return _model([_call("F0", ["x"], ["y"])], functions)


def wide_calls(rng: random.Random) -> ModelProto:
    """Functions whose text, not whose nodes, grows: long strings, tensors and names in each."""
    size, calls = rng.choice(((1000, 1000), (50_000, 200), (200_000, 2000), (500, 40_000)))
    what = rng.randrange(3)
    if what == 0:
        node = helper.make_node("Relu", ["a"], ["b"], doc_string="d" * size)
    elif what == 1:
        node = helper.make_node("Relu", ["a"], ["b"], note="d" * size)
    else:
        node = helper.make_node("Relu", ["a"], ["b"], name="d" * size)
    function = _function("F", [node], ["a"], ["b"])
    names = ["x", *(f"v{k}" for k in range(calls - 1)), "y"]
    nodes = [_call("F", [a], [b]) for a, b in pairwise(names)]
    return _model(nodes, [function])


def passed_on(rng: random.Random) -> ModelProto:
    """Nested functions that hand one attribute to each of many nodes."""
    count, size = rng.choice(((1000, 1000), (2000, 500_000), (30, 10)))
    nodes, names = [], ["a", *(f"v{k}" for k in range(count))]
    for one, other in pairwise(names):
        node = helper.make_node("Relu", [one], [other])
        node.attribute.append(
            AttributeProto(name="note", ref_attr_name="note", type=AttributeProto.STRING)
        )
        nodes.append(node)
    function = helper.make_function(
        _OWN, "F", ["a"], [names[-1]], nodes, [helper.make_opsetid("", 17)], ["note"]
    )
    return _model([_call("F", ["x"], ["y"], note="d" * size)], [function])


def broken_functions(rng: random.Random) -> ModelProto:
    """Functions that the inliner cannot write out."""
    made = _function("F", [helper.make_node("Relu", ["a"], ["b"])], ["a"], ["b"])
    calls, functions = [_call("F", ["x"], ["y"])], [made]
    match rng.randrange(7):
        case 0:  # more inputs than it takes
            calls[0].input.extend(["x", "x"])
        case 1:  # two of a name
            functions *= 2
        case 2:  # calls itself
            made.node[0].op_type, made.node[0].domain = "F", _OWN
        case 3:  # an output that nobody makes
            made.output[0] = "nobody"
        case 4:  # of another version
            made.opset_import[0].version = rng.choice((0, -1, 1, 2**40))
        case 5:  # a name that is none
            made.name = calls[0].op_type = rng.choice(NAMES)
        case _:  # in the place of a standard operator
            made.domain, made.name = "", "Relu"
            calls = [helper.make_node("Relu", ["x"], ["y"])]
    return _model(calls, functions)


def deep(rng: random.Random) -> ModelProto:
    """Branches in branches."""
    levels = rng.choice((10, 20, 28))
    relu = helper.make_node("Relu", ["x"], ["z"])
    body = helper.make_graph([relu], "b", [], [_floats("z", [2, 4])])
    for level in range(levels):
        node = helper.make_node("If", ["q"], [f"o{level}"], then_branch=body, else_branch=body)
        if level > 8:  # both branches double it
            del node.attribute[1]
        body = helper.make_graph([node], "b", [], [_floats(f"o{level}", [2, 4])])
    made = _model([helper.make_node("If", ["q"], ["y"], then_branch=body)])
    made.graph.input.append(helper.make_tensor_value_info("q", TensorProto.BOOL, []))
    return made


def chained(count: int) -> ModelProto:
    """Return a chain of so many operators."""
    names = ["x", *(f"v{k}" for k in range(count - 1)), "y"]
    return _model([helper.make_node("Relu", [a], [b]) for a, b in pairwise(names)])


def strange(rng: random.Random) -> ModelProto:
    """A plain model with one thing in it that is none: operands, versions, dimensions, types."""
    made = plain()
    node = rng.choice(made.graph.node)
    match rng.randrange(11):
        case 0:
            made.opset_import[0].version = rng.choice((2**40, 0, -1, 1, 2**63 - 1, 5))
        case 1:
            del node.input[:]
        case 2:
            del node.output[:]
        case 3:
            node.op_type = rng.choice(("Shape", "Loop", "Scan", "If", "Conv", "Split", ""))
        case 4:
            node.input[:] = [rng.choice(("", "x", "y", "nobody"))] * rng.choice((1, 3, 300))
        case 5:
            dim = made.graph.input[0].type.tensor_type.shape.dim[rng.randrange(2)]
            dim.dim_value = rng.choice((0, -1, 2**31, 2**62, 2**63 - 1, 3))
        case 6:
            made.graph.input[0].type.tensor_type.elem_type = rng.choice((0, 8, 99, 2**30))
        case 7:
            node.attribute.append(helper.make_attribute("axis", rng.choice((99, -(2**62), 2**62))))
        case 8:
            tensor = made.graph.initializer[0]
            tensor.dims[0] = rng.choice((0, -1, 2**40, 2**62, 5))
        case 9:
            node.name = rng.choice(NAMES)
            node.output[0] = rng.choice(NAMES)
        case _:
            node.attribute.append(helper.make_attribute("axes", [2**60] * rng.choice((1, 2000))))
    return made


def constants(rng: random.Random) -> ModelProto:
    """Constants that are computed: shapes that grow to memory's end."""
    size = rng.choice((10, 2**20, 2**33, 2**62))
    make = helper.make_node
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [size])
    last = rng.choice(("Shape", "Identity", "Size"))
    return _model(
        [
            make("Constant", [], ["n"], value=shape),
            make("ConstantOfShape", ["n"], ["a"]),
            make("Tile", ["a", "n"], ["t"]),
            make(last, ["t"], ["u"]),
            make("Expand", ["x", "u"], ["y"]),
        ]
    )


def written(model: ModelProto) -> bytes:
    """Return the bytes of a model."""
    return bytes(model.SerializeToString())
