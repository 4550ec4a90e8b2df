"""The one entry for names and files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends import zoo
from spmopt.frontends.networks import load_network
from spmopt.graph.training import training_graph

from .figures import output_shapes
from .models import model, saved
from .test_onnx_light import FOLDER


def test_name_of_the_zoo() -> None:
    assert load_network("gnmt", batch=2, steps=2) == zoo.network("gnmt", batch=2, steps=2)
    assert output_shapes(load_network("resnet18")) == [(32, 1000)]


def test_path_of_a_file(tmp_path: Path) -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["N", "width"]})
    path = saved(tmp_path, made)
    assert output_shapes(load_network(str(path), batch=4, width=7)) == [(4, 7)]


def test_training_with_an_optimizer() -> None:
    forward = load_network("bert-tiny", batch=1)
    assert load_network("bert-tiny", batch=1, training=True) == training_graph(forward)
    adam = load_network("bert-tiny", batch=1, training=True, optimizer="adam")
    assert adam == training_graph(forward, optimizer="adam")
    path = FOLDER / "light_squeezenet.onnx"
    momentum = load_network(path, training=True, optimizer="momentum")
    assert sum(node.operator == "Momentum" for node in momentum.nodes) == 52


def test_mistakes() -> None:
    with pytest.raises(InputError, match=r"did you mean resnet50\? \(a file must end in .onnx or "):
        load_network("resnet_50")
    with pytest.raises(InputError, match=r"no such file"):
        load_network("resnet50.onnx")
    with pytest.raises(InputError, match="optimizer adam is for training; add training=True"):
        load_network("resnet50", optimizer="adam")
    with pytest.raises(InputError, match="optimizer 'lion' is unknown"):
        load_network("bert-tiny", training=True, optimizer="lion")
    with pytest.raises(InputError, match="no parameter of resnet50 called 'depth'"):
        load_network("resnet50", depth=3)


def test_names_of_the_zoo_do_not_load_onnx() -> None:
    code = (
        "import sys\n"
        "from spmopt.frontends.networks import load_network\n"
        "load_network('resnet50')\n"
        "sys.exit('onnx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
