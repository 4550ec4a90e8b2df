"""The nine models that the onnx package ships."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from spmopt.core.problem import TensorKind
from spmopt.frontends.networks import load_network
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.lower import lower

from .figures import MACHINE, macs, moving, output_shapes, parameters

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# Parameters as published for the Caffe originals; MACs with 224 x 224 images and the pooling of
# these files, which rounds down where Caffe rounds up (AlexNet has 724 M at 227 x 227,
# GoogLeNet 1.58 G with larger maps).
FIGURES = {
    "bvlc_alexnet": (60_965_224, 654_560_384),  # Caffe model zoo: 60,965,224
    # DenseNet paper: 7.98 M and 2.83 G; 83,648 more as each normalization has two scales here.
    "densenet121": (7_978_856 + 83_648, 2_834_161_664),
    "inception_v1": (6_998_552, 1_431_556_352),  # Caffe bvlc_googlenet without auxiliaries
    "inception_v2": (11_214_888, 2_018_851_840),  # Inception-BN: 11.2 M and 2.0 G
    "resnet50": (25_557_032, 4_089_184_256),  # torchvision: 25,557,032 and 4.09 G
    "shufflenet": (1_393_320, 124_664_528),  # ShuffleNet 1x, g = 4: 140 M in the paper
    "squeezenet": (1_235_496, 349_151_936),  # SqueezeNet 1.1: 1,235,496 and 0.35 G
    "vgg19": (143_667_240, 19_632_062_464),  # torchvision: 143,667,240 and 19.63 G
    "zfnet512": (87_250_536, 1_481_727_008),
}
FEW = ("inception_v1", "resnet50", "shufflenet")


def _path(name: str) -> Path:
    return FOLDER / f"light_{name}.onnx"


def test_all_nine_are_listed() -> None:
    assert {path.stem.removeprefix("light_") for path in FOLDER.glob("*.onnx")} == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_parameters_and_macs(name: str) -> None:
    graph = load_onnx(_path(name))
    assert (parameters(graph), macs(graph)) == FIGURES[name]


@pytest.mark.parametrize("name", FEW)
def test_batch_override_scales_everything_but_weights(name: str) -> None:
    one, many = load_onnx(_path(name)), load_onnx(_path(name), batch=32)
    assert macs(many) == 32 * macs(one)
    assert parameters(many) == parameters(one)
    assert moving(many) == moving(one)
    ((batch, *rest),) = output_shapes(many)
    assert (batch, [1, *rest]) == (32, list(output_shapes(one)[0]))
    for before, after in zip(one.values, many.values, strict=True):
        grows = before.kind in (TensorKind.INPUT, TensorKind.ACTIVATION)
        assert after.elements == before.elements * (32 if grows else 1), after.name


@pytest.mark.parametrize("name", FEW)
def test_training_lowers(name: str) -> None:
    step = load_network(_path(name), batch=2, training=True)
    problem = lower(step, MACHINE, mapper="panel")  # which takes every node as it stands
    assert len(problem.operations) == moving(step).total()
    forward = load_onnx(_path(name), batch=2)
    assert 2 * macs(forward) < macs(step) <= 3 * macs(forward)
    gradients = [v for v in step.values if v.kind is TensorKind.WEIGHT_GRADIENT]
    assert sum(v.elements for v in gradients) == parameters(forward)
