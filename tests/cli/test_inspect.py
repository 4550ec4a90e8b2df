"""``spmopt inspect``: inputs, open dimensions, operators, layers, peak of live activations."""

from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.analysis.liveness import live_activation_bytes
from spmopt.core.problem import TensorKind
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.strategies import random_problem

onnx = pytest.importorskip("onnx")
MLP = Path(__file__).parents[2] / "instances" / "mlp.json"


def saved(path: Path, operator: str, shape: list[int | str | None], domain: str = "") -> Path:
    """A file with one operator on one input, and a product before it."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    weight = helper.make_tensor("w", float32, [8, 4], np.zeros(32, np.float32))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
        helper.make_node(operator, ["y"], ["z"], name="last", domain=domain),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", float32, shape)],
        [helper.make_tensor_value_info("z", float32, None)],
        [weight],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets), path)
    return path


def test_sizes_of_layers_and_the_peak(run: Run, tmp_path: Path) -> None:
    record = run(f"inspect {saved(tmp_path / 'm.onnx', 'Relu', [2, 8])} --json").record
    assert record["inputs"] == [{"name": "x", "element_type": "fp32", "dimensions": [2, 8]}]
    assert [(each["macs"], each["weight_bytes"]) for each in record["layers"]] == [
        (2 * 8 * 4, 8 * 4 * 4),
        (0, 0),
    ]
    assert record["totals"] == {"macs": 64, "weight_bytes": 128}
    assert record["peak"] == {"live_bytes": 4 * (2 * 8 + 2 * 4), "step": 0, "operation": "product"}
    assert (record["open_options"], record["problem"]) == ([], "")


def test_an_open_batch_is_one_and_said(run: Run, tmp_path: Path) -> None:
    ran = run(f"inspect {saved(tmp_path / 'm.onnx', 'Relu', ['n', 8])}")
    assert (ran.code, ran.err) == (0, "")
    assert "The open batch size is taken as 1" in ran.out
    assert ran.out.count("--batch 32") == 1
    assert "--batch 32" not in run(f"inspect {tmp_path / 'm.onnx'} --batch 2").out


def test_open_dimensions_come_with_their_options(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", "Relu", ["n", "steps", 8])
    ran = run(f"inspect {path}")
    assert ran.code == 0
    assert "n x steps x 8" in ran.out
    assert "add --batch 32 --param steps=128" in ran.out
    record = run(f"inspect {path} --batch 4 --param steps=3 --json").record
    assert record["layers"][0]["macs"] == 4 * 3 * 8 * 4


def test_a_dimension_without_a_name_gets_one(run: Run, tmp_path: Path) -> None:
    ran = run(f"inspect {saved(tmp_path / 'm.onnx', 'Relu', ['n', None, 8])}")
    assert ran.code == 0
    assert "add --batch 32 --param x.1=128 (sizes are examples)" in ran.out
    assert run(f"inspect {tmp_path / 'm.onnx'} --batch 32 --param x.1=128").code == 0


def test_unknown_operators_are_named_with_what_to_paste(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", "Swirl", [2, 8], "com.acme")
    ran = run(f"inspect {path}")
    assert (ran.code, ran.err) == (0, "")
    assert '"com.acme.Swirl".class = "pointwise"' in ran.out
    record = run(f"inspect {path} --json").record
    rules = {each["name"]: each["has_rule"] for each in record["operators"]}
    assert rules == {"MatMul": True, "com.acme.Swirl": False}
    assert record["layers"] == []
    (tmp_path / "rules.toml").write_text(record["paste"])
    known = run(f"inspect {path} --operators {tmp_path / 'rules.toml'} --json").record
    assert len(known["layers"]) == 2


def test_assumed_operators_need_no_class(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", "Swirl", [2, 8], "com.acme")
    ran = run(f"inspect {path} --assume-pointwise")
    assert (ran.code, "give each a class" in ran.out) == (0, False)


def test_layers_are_those_that_solve_schedules(run: Run, tmp_path: Path) -> None:
    """Models in 8 bits have a node for each conversion; most are folded."""
    helper, kinds = onnx.helper, onnx.TensorProto
    scale = helper.make_tensor("s", kinds.FLOAT, [], [0.1])
    weight = helper.make_tensor("w", kinds.INT8, [8, 4], [1] * 32)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "zero"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "zero"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["y"]),
    ]
    zero = helper.make_tensor("zero", kinds.INT8, [], [0])
    x, y = (
        helper.make_tensor_value_info(name, kinds.FLOAT, shape)
        for name, shape in (("x", [2, 8]), ("y", [2, 4]))
    )
    graph = helper.make_graph(nodes, "g", [x], [y], [scale, zero, weight])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    record = run(f"inspect {path} --json").record
    count = len(spmopt.lower(spmopt.load(path)).operations)
    assert 1 < len(record["layers"]) == count < len(nodes)
    assert record["totals"]["weight_bytes"] == 8 * 4
    assert f"The 4 nodes are scheduled as these {count} operations." in run(f"inspect {path}").out


def test_no_rule_is_claimed_where_sizes_are_unknown(run: Run, tmp_path: Path) -> None:
    ran = run(f"inspect {saved(tmp_path / 'm.onnx', 'NonZero', [2, 8])}")
    assert "Layer sizes are unknown" in ran.out
    assert "Operators: MatMul 1, NonZero 1." in ran.out


@pytest.mark.parametrize("name", ["bert-tiny", str(MLP)])
def test_networks_and_problems(run: Run, name: str) -> None:
    ran = run(f"inspect {name}")
    assert (ran.code, ran.err) == (0, "")
    assert "peak" in ran.out


def test_figures_of_a_network(run: Run) -> None:
    assert "3 of " in run("inspect resnet18 --top 3").out
    assert "--top 0: must be at least 1" in refused(run("inspect resnet18 --top 0"))
    found = spmopt.inspect("resnet18", batch=1, top=None)
    assert found.macs == 1_814_073_344
    assert found.weight_bytes == 46_738_848  # without those of normalizations, which are folded
    assert len(found.rows()) == len(found.layers) > 20


@pytest.mark.parametrize("seed", range(6))
def test_live_bytes_are_those_of_each_step_counted_alone(seed: int) -> None:
    problem = random_problem(seed)
    steps = range(len(problem.operations))
    uses = [
        [step for step in steps if index in problem.operations[step].tensors]
        for index in range(len(problem.tensors))
    ]
    expected = [0] * len(steps)
    for tensor, used in zip(problem.tensors, uses, strict=True):
        if not used or tensor.kind in (TensorKind.WEIGHT, TensorKind.STATE):
            continue
        for step in steps:
            begins = tensor.in_dram or used[0] <= step
            expected[step] += tensor.size_bytes * (begins and (tensor.keep or step <= used[-1]))
    assert live_activation_bytes(problem).tolist() == expected
