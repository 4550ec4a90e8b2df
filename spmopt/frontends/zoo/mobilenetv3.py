"""The convolutions of MobileNetV3-Large, as in torchvision: a backbone of detectors."""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

# kernel, channels inside and after, squeeze and excitation, activation, stride (paper, table 1)
_BLOCKS = (
    (3, 16, 16, False, "Relu", 1),
    (3, 64, 24, False, "Relu", 2),
    (3, 72, 24, False, "Relu", 1),
    (5, 72, 40, True, "Relu", 2),
    (5, 120, 40, True, "Relu", 1),
    (5, 120, 40, True, "Relu", 1),
    (3, 240, 80, False, "HardSwish", 2),
    (3, 200, 80, False, "HardSwish", 1),
    (3, 184, 80, False, "HardSwish", 1),
    (3, 184, 80, False, "HardSwish", 1),
    (3, 480, 112, True, "HardSwish", 1),
    (3, 672, 112, True, "HardSwish", 1),
    (5, 672, 160, True, "HardSwish", 2),
    (5, 960, 160, True, "HardSwish", 1),
    (5, 960, 160, True, "HardSwish", 1),
)
_LAST_STRIDE = 12  # the block that begins the last stage


def maps(net: NetworkBuilder, image: int) -> tuple[int, int]:
    """Return the maps of stride 32: that of the block which begins the stage, and the last one."""
    x = marked = _conv(net, "stem", image, 16, 3, stride=2)
    for index, (kernel, inside, channels, squeezed, activation, stride) in enumerate(_BLOCKS):
        name, before = f"block{index}", x
        if inside != net.shape(x)[1]:
            x = _conv(net, f"{name}.expand", x, inside, 1, activation=activation)
        like = {"stride": stride, "groups": inside}
        x = _conv(net, f"{name}.depthwise", x, inside, kernel, activation=activation, **like)
        if squeezed:
            x = _squeeze(net, f"{name}.squeeze", x)
        x = net.batch_norm(f"{name}.project.norm", net.conv(f"{name}.project", x, channels, 1))
        if net.shape(before) == net.shape(x):
            x = net.layer("Add", f"{name}.add", before, x)
        marked = x if index == _LAST_STRIDE else marked
    return marked, _conv(net, "last", x, 6 * net.shape(x)[1], 1)


def _conv(
    net: NetworkBuilder,
    name: str,
    x: int,
    channels: int,
    kernel: int,
    *,
    activation: str = "HardSwish",
    stride: int = 1,
    groups: int = 1,
) -> int:
    y = net.conv(name, x, channels, kernel, stride=stride, pad=kernel // 2, groups=groups)
    return net.layer(activation, f"{name}.activation", net.batch_norm(f"{name}.norm", y))


def _squeeze(net: NetworkBuilder, name: str, x: int) -> int:
    """Scale each channel by a gate made of the means of all channels."""
    channels = net.shape(x)[1]
    y = net.layer("GlobalAveragePool", f"{name}.pool", x)
    y = net.conv(f"{name}.1", y, _divisible(channels // 4), 1, bias=True)
    y = net.conv(f"{name}.2", net.relu(f"{name}.relu", y), channels, 1, bias=True)
    gate = net.layer("HardSigmoid", f"{name}.gate", y)
    return net.layer("Mul", f"{name}.scale", x, gate)


def _divisible(channels: int) -> int:
    """Return the nearest multiple of 8, but not more than 10 % below."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded if 10 * rounded >= 9 * channels else rounded + 8
