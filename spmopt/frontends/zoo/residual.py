"""ResNet-18 and ResNet-50 (He et al., 2015), as in torchvision.

ResNet-50 puts the stride of a stage on its 3x3 convolution ("v1.5"), which all published
4.1 GMACs refer to.
"""

from __future__ import annotations

from collections.abc import Callable

from spmopt.frontends.zoo.layers import NetworkBuilder

WIDTHS = (64, 128, 256, 512)
"""Of the blocks of each stage."""
DEPTHS = (3, 4, 6, 3)
"""Blocks of each stage of ResNet-50."""

Block = Callable[[NetworkBuilder, str, int, int, int], int]


def _shortcut(net: NetworkBuilder, name: str, x: int, channels: int, stride: int) -> int:
    """Return ``x``, or a projection of it where the shape changes."""
    if stride == 1 and net.shape(x)[1] == channels:
        return x
    return net.conv_norm(f"{name}.shortcut", x, channels, 1, stride=stride)


def _basic(net: NetworkBuilder, name: str, x: int, width: int, stride: int) -> int:
    y = net.relu(f"{name}.relu1", net.conv_norm(f"{name}.1", x, width, 3, stride=stride))
    y = net.conv_norm(f"{name}.2", y, width, 3)
    y = net.layer("Add", f"{name}.add", y, _shortcut(net, name, x, width, stride))
    return net.relu(f"{name}.relu2", y)


def bottleneck(net: NetworkBuilder, name: str, x: int, width: int, stride: int) -> int:
    """Add a block of ResNet-50; its result has 4 ``width`` channels."""
    y = net.relu(f"{name}.relu1", net.conv_norm(f"{name}.1", x, width, 1))
    y = net.relu(f"{name}.relu2", net.conv_norm(f"{name}.2", y, width, 3, stride=stride))
    y = net.conv_norm(f"{name}.3", y, 4 * width, 1)
    y = net.layer("Add", f"{name}.add", y, _shortcut(net, name, x, 4 * width, stride))
    return net.relu(f"{name}.relu3", y)


def resnet(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build ResNet-18 or ResNet-50."""
    block, depths = (_basic, (2, 2, 2, 2)) if net.name == "resnet18" else (bottleneck, DEPTHS)
    x = stages(net, net.image(batch, image), block, depths)
    return [net.linear("classifier", net.global_pool("pool", x), classes)]


def stages(net: NetworkBuilder, image: int, block: Block, depths: tuple[int, ...]) -> int:
    """Add the stem and ``len(depths)`` stages."""
    x = net.relu("stem.relu", net.conv_norm("stem", image, 64, 7, stride=2))
    x = net.max_pool("stem.pool", x, 3, 2, pad=1)
    for stage, (width, depth) in enumerate(zip(WIDTHS, depths, strict=False)):
        for index in range(depth):
            stride = 2 if stage and not index else 1
            x = block(net, f"stage{stage + 1}.{index}", x, width, stride)
    return x
