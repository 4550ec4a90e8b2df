"""ResNet-18 and ResNet-50 (He et al., 2015), as in torchvision.

ResNet-50 puts the stride of a stage on its 3x3 convolution ("v1.5"), which all published
4.1 GMACs refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph

WIDTHS = (64, 128, 256, 512)
"""Of the blocks of each stage."""
DEPTHS = (3, 4, 6, 3)
"""Blocks of each stage of ResNet-50."""

Block = Callable[[Layers, str, int, int, int], int]


def _conv_norm(
    net: Layers, name: str, x: int, channels: int, kernel: int, *, stride: int = 1
) -> int:
    y = net.conv(f"{name}.conv", x, channels, kernel, stride=stride, pad=kernel // 2)
    return net.batch_norm(f"{name}.norm", y)


def _shortcut(net: Layers, name: str, x: int, channels: int, stride: int) -> int:
    """Identity, or a projection where the shape changes."""
    if stride == 1 and net.builder.shape(x)[1] == channels:
        return x
    return _conv_norm(net, f"{name}.shortcut", x, channels, 1, stride=stride)


def _basic(net: Layers, name: str, x: int, width: int, stride: int) -> int:
    y = net.relu(f"{name}.relu1", _conv_norm(net, f"{name}.1", x, width, 3, stride=stride))
    y = _conv_norm(net, f"{name}.2", y, width, 3)
    y = net.pointwise("Add", f"{name}.add", y, _shortcut(net, name, x, width, stride))
    return net.relu(f"{name}.relu2", y)


def bottleneck(net: Layers, name: str, x: int, width: int, stride: int) -> int:
    """Block of ResNet-50; its result has 4 ``width`` channels."""
    y = net.relu(f"{name}.relu1", _conv_norm(net, f"{name}.1", x, width, 1))
    y = net.relu(f"{name}.relu2", _conv_norm(net, f"{name}.2", y, width, 3, stride=stride))
    y = _conv_norm(net, f"{name}.3", y, 4 * width, 1)
    y = net.pointwise("Add", f"{name}.add", y, _shortcut(net, name, x, 4 * width, stride))
    return net.relu(f"{name}.relu3", y)


def resnet(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build ResNet-18 or ResNet-50."""
    block, depths = (_basic, (2, 2, 2, 2)) if name == "resnet18" else (bottleneck, DEPTHS)
    net = Layers(name)
    x = stages(net, net.image(batch, parameters["image"]), block, depths)
    x = net.linear("classifier", net.global_pool("pool", x), parameters["classes"])
    return net.finish(x)


def stages(net: Layers, image: int, block: Block, depths: tuple[int, ...]) -> int:
    """The stem and ``len(depths)`` stages."""
    x = net.conv("stem.conv", image, 64, 7, stride=2, pad=3)
    x = net.relu("stem.relu", net.batch_norm("stem.norm", x))
    x = net.max_pool("stem.pool", x, 3, 2, pad=1)
    for stage, (width, depth) in enumerate(zip(WIDTHS, depths, strict=False)):
        for index in range(depth):
            stride = 2 if stage and not index else 1
            x = block(net, f"stage{stage + 1}.{index}", x, width, stride)
    return x
