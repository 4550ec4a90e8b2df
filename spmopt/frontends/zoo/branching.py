"""GoogLeNet and SqueezeNet 1.0: modules of parallel convolutions, concatenated.

GoogLeNet is torchvision's: batch normalization after every convolution, no auxiliary
classifiers, and a 3x3 kernel in the branch that the paper gives a 5x5 one.
"""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

# Filters: 1x1; 3x3 reduced, 3x3; "5x5" reduced, "5x5"; projection after pooling.
_INCEPTION = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
_FIRE = (  # squeezed, expanded (each of two branches), pooled afterwards
    (16, 64, False),
    (16, 64, False),
    (32, 128, True),
    (32, 128, False),
    (48, 192, False),
    (48, 192, False),
    (64, 256, True),
    (64, 256, False),
)


def _conv(
    net: NetworkBuilder, name: str, x: int, channels: int, kernel: int, *, stride: int = 1
) -> int:
    return net.conv_norm_act(name, x, channels, kernel, "Relu", stride=stride)


def _inception(net: NetworkBuilder, name: str, x: int, filters: tuple[int, ...]) -> int:
    one, reduce3, three, reduce5, five, projection = filters
    pooled = net.max_pool(f"{name}.pool", x, 3, 1, pad=1, ceil=True)
    branches = (
        _conv(net, f"{name}.1x1", x, one, 1),
        _conv(net, f"{name}.3x3", _conv(net, f"{name}.3x3_reduce", x, reduce3, 1), three, 3),
        _conv(net, f"{name}.5x5", _conv(net, f"{name}.5x5_reduce", x, reduce5, 1), five, 3),
        _conv(net, f"{name}.projection", pooled, projection, 1),
    )
    return net.join(f"{name}.concat", *branches)


def googlenet(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build GoogLeNet."""
    x = _conv(net, "1", net.image(batch, image), 64, 7, stride=2)
    x = net.max_pool("1.pool", x, 3, 2, ceil=True)
    x = _conv(net, "2.3x3", _conv(net, "2.reduce", x, 64, 1), 192, 3)
    x = net.max_pool("2.pool", x, 3, 2, ceil=True)
    for module, filters in _INCEPTION.items():
        x = _inception(net, module, x, filters)
        if module == "3b":
            x = net.max_pool("3.pool", x, 3, 2, ceil=True)
        elif module == "4e":
            x = net.max_pool("4.pool", x, 2, 2, ceil=True)
    return [net.linear("classifier", net.dropout("drop", net.global_pool("pool", x)), classes)]


def _conv_relu(net: NetworkBuilder, name: str, x: int, channels: int, kernel: int) -> int:
    y = net.conv(name, x, channels, kernel, pad=kernel // 2, bias=True)
    return net.relu(f"{name}.relu", y)


def squeezenet(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build SqueezeNet."""
    x = net.conv("conv1", net.image(batch, image), 96, 7, stride=2, bias=True)
    x = net.max_pool("pool1", net.relu("conv1.relu", x), 3, 2, ceil=True)
    for index, (squeezed, expanded, pooled) in enumerate(_FIRE, 2):
        fire = f"fire{index}"
        x = _conv_relu(net, f"{fire}.squeeze", x, squeezed, 1)
        branches = [_conv_relu(net, f"{fire}.expand{k}x{k}", x, expanded, k) for k in (1, 3)]
        x = net.join(f"{fire}.concat", *branches)
        if pooled:
            x = net.max_pool(f"pool{index}", x, 3, 2, ceil=True)
    x = _conv_relu(net, "conv10", net.dropout("drop", x), classes, 1)
    return [net.global_pool("pool", x)]
