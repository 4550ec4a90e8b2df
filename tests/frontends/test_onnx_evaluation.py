"""A training step of a file that was exported for evaluation is warned of, and of no other."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.networks import load_network

from .models import floats, model, saved

make_node = helper.make_node
STATISTICS = ["scale", "shift", "mean", "variance"]


def _warnings(folder: Path, nodes: list[onnx.NodeProto], weight: str, opset: int = 17) -> list[str]:
    constants = {weight: floats(4, 3, 3, 3), weight.replace("1", "2"): floats(4)}
    constants |= {name: floats(4) for name in STATISTICS}
    path = saved(folder, model(nodes, {"x": [1, 3, 8, 8]}, constants, opset=opset))
    found: list[str] = []
    load_network(path, training=True, warn=found.append)
    quiet: list[str] = []
    load_network(path, warn=quiet.append)
    assert not quiet
    return found


def _convolution(weight: str) -> list[onnx.NodeProto]:
    names = ["x", weight, weight.replace("1", "2")]
    return [make_node("Conv", names, ["c"]), make_node("Relu", ["c"], ["y"])]


def test_folded_normalization(tmp_path: Path) -> None:
    (warning,) = _warnings(tmp_path, _convolution("onnx::Conv_1"), "onnx::Conv_1")
    assert "the normalizations after 1 convolutions are folded" in warning
    assert "TrainingMode.TRAINING" in warning


def test_normalization_that_a_rewriter_notes(tmp_path: Path) -> None:
    nodes = _convolution("w1")
    rules = "RemoveOptionalBiasFromConv, FuseBatchNormIntoConv"
    nodes[0].metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value=rules)
    (warning,) = _warnings(tmp_path, nodes, "w1")
    assert "the normalizations after 1 convolutions are folded" in warning


def test_networks_without_normalization_are_not_warned_of(tmp_path: Path) -> None:
    for name in ("features.1.weight", "conv1", "onnx::MatMul_1"):
        assert not _warnings(tmp_path, _convolution(name), name)


@pytest.mark.parametrize(("opset", "mode", "expected"), [(17, 0, 1), (17, 1, 0), (11, None, 1)])
def test_frozen_normalization(tmp_path: Path, opset: int, mode: int | None, expected: int) -> None:
    options = {} if mode is None else {"training_mode": mode}
    nodes = _convolution("w1")
    nodes[1] = make_node("BatchNormalization", ["c", *STATISTICS], ["y"])
    nodes[1].attribute.extend(helper.make_attribute(*each) for each in options.items())
    if mode:
        nodes[1].output.extend(["new_mean", "new_variance"])
    found = _warnings(tmp_path, nodes, "w1", opset=opset)
    assert len(found) == expected
    assert all("1 BatchNormalization nodes run on stored statistics" in each for each in found)


def _beside_a_product(folder: Path, node: onnx.NodeProto) -> Path:
    constants = {"w": floats(4, 4), "one": floats(1)[0]}
    nodes = [node, make_node("MatMul", ["x", "w"], ["y"])]
    return saved(folder, model(nodes, {"x": [4, 4]}, constants, outputs=("y", "g")))


def test_no_step_is_derived_of_integers(tmp_path: Path) -> None:
    path = _beside_a_product(tmp_path, make_node("QuantizeLinear", ["x", "one"], ["g"]))
    with pytest.raises(InputError, match="rounding has no gradient"):
        load_network(path, training=True)
    load_network(path)


def test_a_backward_pass_in_a_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    node = make_node("ReluGrad", ["x", "x"], ["g"], domain="com.microsoft")
    with pytest.raises(InputError, match=r"ReluGrad.*from which --training derives"):
        load_network(_beside_a_product(tmp_path, node))
