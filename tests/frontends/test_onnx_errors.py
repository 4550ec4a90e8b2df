"""Files that cannot be used: one clear line each."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from spmopt import lower, machine
from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.training import training_graph

from .figures import moving, output_shapes
from .models import fails, floats, ints, model, saved

make_node = helper.make_node
RELU = make_node("Relu", ["x"], ["y"])


def test_missing_file_and_folder(tmp_path: Path) -> None:
    fails(tmp_path / "none.onnx", "no such file; give an ONNX file or the name of a network")
    fails(tmp_path, "no such file")


def test_not_onnx(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    fails(path, "not an ONNX file, or cut short")
    path.write_bytes(b"")
    fails(path, "has no nodes or no outputs")


def test_truncated_at_any_byte(tmp_path: Path) -> None:
    made = model([make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 3]}, {"w": floats(3, 4)})
    whole = made.SerializeToString()
    path = tmp_path / "model.onnx"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            graph = load_onnx(path)
        except InputError:
            continue
        # Only the import of the custom operators is lost, of which there are none.
        assert output_shapes(graph) == [(2, 4)]


def test_cycle(tmp_path: Path) -> None:
    nodes = [
        make_node("Add", ["x", "b"], ["a"], name="first"),
        make_node("Relu", ["a"], ["b"], name="second"),
        make_node("Exp", ["b"], ["y"]),
    ]
    fails(saved(tmp_path, model(nodes, {"x": [2]})), r"has a cycle through node \w+ \(\w+\), ")


def test_name_that_nothing_produces(tmp_path: Path) -> None:
    path = saved(tmp_path, model([make_node("Add", ["x", "ghost"], ["y"])], {"x": [2]}))
    fails(path, r"node y \(Add\): needs ghost, which nothing produces")
    path = saved(tmp_path, model([RELU], {"x": [2]}, outputs=("y", "z")))
    fails(path, "the model: needs z, which nothing produces")
    # A result that is left out has no name either, and is not this one.
    nodes = [make_node("Dropout", ["x"], ["", "mask"]), RELU]
    path = saved(tmp_path, model(nodes, {"x": [2]}, outputs=("y", "")))
    fails(path, "the model: needs , which nothing produces")


def test_name_that_two_nodes_produce(tmp_path: Path) -> None:
    path = saved(tmp_path, model([RELU, make_node("Exp", ["x"], ["y"])], {"x": [2]}))
    fails(path, r"node y \(Exp\): writes y, which another node writes too")


def test_missing_shapes(tmp_path: Path) -> None:
    made = model([RELU], {"x": [1, 2]})
    made.graph.input[0].type.tensor_type.ClearField("shape")
    fails(saved(tmp_path, made), "input x: has no shape; export the model with input shapes")


def test_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    made = model([RELU], {"x": [2]})
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2]))
    made.graph.input[0].type.CopyFrom(kind)
    fails(saved(tmp_path, made), "input x: is not a dense tensor")
    made = model([make_node("SequenceConstruct", ["x"], ["y"])], {"x": [2]})
    fails(saved(tmp_path, made), "output y is a sequence of tensors; export its tensors")


def test_control_flow_that_depends_on_data(tmp_path: Path) -> None:
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    branch = helper.make_graph([make_node("Relu", ["x"], ["r"])], "branch", [], [result])
    nodes = [
        make_node("Cast", ["x"], ["c"], to=TensorProto.BOOL),
        make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch),
    ]
    fails(
        saved(tmp_path, model(nodes, {"x": [1]})),
        r"node choice \(If\): the condition \(c\) depends on data",
    )


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        model([make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 3]}, {"w": floats(4, 5)}),
    )
    fails(path, r"node y \(MatMul\): Incompatible dimensions .*; operands: \[2, 3\], \[4, 5\]")


def test_shape_that_depends_on_data(tmp_path: Path) -> None:
    path = saved(tmp_path, model([make_node("NonZero", ["x"], ["y"])], {"x": [2, 3]}))
    fails(path, r"node y \(NonZero\): the shape of y depends on data")
    nodes = [make_node("Cast", ["x"], ["n"], to=7), make_node("Tile", ["x", "n"], ["y"])]
    fails(saved(tmp_path, model(nodes, {"x": [2]})), "the shape of y depends on data")


def test_arguments_that_must_be_constant(tmp_path: Path) -> None:
    nodes = [make_node("Cast", ["x"], ["a"], to=7), make_node("ReduceSum", ["x", "a"], ["y"])]
    made = model(nodes, {"x": [1]})
    made.graph.value_info.append(helper.make_tensor_value_info("y", 1, [1]))
    fails(saved(tmp_path, made), r"node y \(ReduceSum\): a is not a constant known beforehand")


def test_nothing_depends_on_an_input(tmp_path: Path) -> None:
    path = saved(tmp_path, model([make_node("Relu", ["w"], ["y"])], {}, {"w": floats(3)}))
    fails(path, "no output depends on an input")


def test_damaged_constants(tmp_path: Path) -> None:
    made = model([make_node("Reshape", ["x", "s"], ["y"])], {"x": [4]}, {"s": ints(2, 2)})
    made.graph.initializer[0].raw_data = b"\0" * 7
    fails(saved(tmp_path, made), r"initializer s: contents do not fill its shape \(2,\)")


def test_second_result_that_no_rule_gives(tmp_path: Path) -> None:
    operands = ["x", "x", "w"]
    nodes = [
        make_node("SkipLayerNormalization", operands, ["y", "mean"], domain="com.microsoft"),
        make_node("Neg", ["mean"], ["z"]),
    ]
    made = model(nodes, {"x": [2, 4]}, {"w": floats(4)}, outputs=("y", "z"))
    fails(saved(tmp_path, made), "the shape of mean depends on data, or is not known")


def _unknown(domain: str) -> onnx.ModelProto:
    nodes = [
        make_node("MatMul", ["x", "w"], ["h"]),
        make_node("Mystery", ["h", "b"], ["m"], name="odd", domain=domain),
        make_node("Mystery", ["m", "b"], ["y"], domain=domain),
    ]
    return model(nodes, {"x": [2, 3]}, {"w": floats(3, 4), "b": floats(4)})


@pytest.mark.parametrize("domain", ["", "custom"])
def test_operator_without_a_rule(tmp_path: Path, domain: str) -> None:
    path = saved(tmp_path, _unknown(domain))
    name = f"{domain}.Mystery" if domain else "Mystery"
    fails(path, rf"1 operator has no rule: {name} \(2 nodes, 61 % of bytes\); give each a class")
    warnings: list[str] = []
    graph = load_onnx(path, assume_pointwise=True, warn=warnings.append)
    assert moving(graph) == {"MatMul": 1, "AssumedPointwise": 2}
    assert len(warnings) == 1
    assert f"--assume-pointwise: {name} (2 nodes" in warnings[0]
    assert "first node odd (Mystery)" in warnings[0]
    assert "--operators rules.toml" in warnings[0]
    gradient = next(
        node for node in training_graph(graph).nodes if node.operator == "AssumedPointwiseGradient"
    )
    assert len(gradient.inputs) == 3  # dY, and both inputs
    kinds = [each.kind for each in lower(graph, machine(spm="1MB")).operations]
    assert kinds == ["MatMul", f"{name} (assumed)", f"{name} (assumed)"]


def test_declared_shape_of_an_unknown_operator(tmp_path: Path) -> None:
    made = _unknown("custom")
    made.graph.value_info.append(helper.make_tensor_value_info("m", 1, ["N", 9]))
    made.graph.node[2].input[1] = "m"
    graph = load_onnx(saved(tmp_path, made), batch=6, assume_pointwise=True, warn=lambda _: None)
    assert {v.name: v.shape for v in graph.values}["odd"] == (6, 9)


def test_warnings_go_to_python_by_default(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="assumed to be point-wise"):
        load_onnx(saved(tmp_path, _unknown("")), assume_pointwise=True)
