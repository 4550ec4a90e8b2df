"""MobileNet and MobileNetV2: networks of depth-wise convolutions."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph

_SEPARABLE = (  # channels, stride (paper of the first, table 1)
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)),
)
_STAGES = (  # expansion, channels, blocks, stride of the first block (paper of V2, table 2)
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _conv(
    net: Layers, name: str, x: int, channels: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> int:
    y = net.conv(f"{name}.conv", x, channels, kernel, stride=stride, pad=kernel // 2, groups=groups)
    y = net.batch_norm(f"{name}.norm", y)
    return net.builder.add("Clip", [y], name=f"{name}.relu6", min=0.0, max=6.0)


def mobilenet(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build MobileNet."""
    net = Layers(name)
    x = _conv(net, "stem", net.image(batch, parameters["image"]), 32, 3, stride=2)
    for index, (channels, stride) in enumerate(_SEPARABLE, 1):
        inputs = net.builder.shape(x)[1]
        x = _conv(net, f"block{index}.depthwise", x, inputs, 3, stride=stride, groups=inputs)
        x = _conv(net, f"block{index}.pointwise", x, channels, 1)
    x = net.global_pool("pool", x)
    return net.finish(net.linear("classifier", x, parameters["classes"]))


def _block(net: Layers, name: str, x: int, *, expansion: int, channels: int, stride: int) -> int:
    inputs = net.builder.shape(x)[1]
    width = inputs * expansion
    y = x if expansion == 1 else _conv(net, f"{name}.expand", x, width, 1)
    y = _conv(net, f"{name}.depthwise", y, width, 3, stride=stride, groups=width)
    y = net.conv(f"{name}.project.conv", y, channels, 1)
    y = net.batch_norm(f"{name}.project.norm", y)
    if stride == 1 and inputs == channels:
        y = net.pointwise("Add", f"{name}.add", x, y)
    return y


def mobilenetv2(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build MobileNetV2."""
    net = Layers(name)
    x = _conv(net, "stem", net.image(batch, parameters["image"]), 32, 3, stride=2)
    for stage, (expansion, channels, blocks, stride) in enumerate(_STAGES, 1):
        for index in range(blocks):
            block = f"stage{stage}.{index}"
            x = _block(
                net,
                block,
                x,
                expansion=expansion,
                channels=channels,
                stride=1 if index else stride,
            )
    x = net.global_pool("pool", _conv(net, "head", x, 1280, 1))
    x = net.pointwise("Dropout", "drop", x)
    return net.finish(net.linear("classifier", x, parameters["classes"]))
