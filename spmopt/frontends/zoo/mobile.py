"""MobileNet and MobileNetV2: networks of depth-wise convolutions."""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

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


def _conv(net: NetworkBuilder, name: str, x: int, channels: int, kernel: int, **window: int) -> int:
    y = net.conv_norm(name, x, channels, kernel, **window)
    return net.layer("Clip", f"{name}.relu6", y, min=0.0, max=6.0)


def _depthwise(net: NetworkBuilder, name: str, x: int, stride: int) -> int:
    width = net.shape(x)[1]
    return _conv(net, f"{name}.depthwise", x, width, 3, stride=stride, groups=width)


def mobilenet(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build MobileNet."""
    x = _conv(net, "stem", net.image(batch, image), 32, 3, stride=2)
    for index, (channels, stride) in enumerate(_SEPARABLE, 1):
        x = _depthwise(net, f"block{index}", x, stride)
        x = _conv(net, f"block{index}.pointwise", x, channels, 1)
    return [net.linear("classifier", net.global_pool("pool", x), classes)]


def mobilenetv2(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build MobileNetV2."""
    x = _conv(net, "stem", net.image(batch, image), 32, 3, stride=2)
    for stage, (expansion, channels, blocks, first_stride) in enumerate(_STAGES, 1):
        for index in range(blocks):
            name, inputs, before = f"stage{stage}.{index}", net.shape(x)[1], x
            stride = 1 if index else first_stride
            if expansion > 1:
                x = _conv(net, f"{name}.expand", x, inputs * expansion, 1)
            x = net.conv_norm(f"{name}.project", _depthwise(net, name, x, stride), channels, 1)
            if stride == 1 and inputs == channels:
                x = net.layer("Add", f"{name}.add", before, x)
    x = net.global_pool("pool", _conv(net, "head", x, 1280, 1))
    return [net.linear("classifier", net.dropout("drop", x), classes)]
