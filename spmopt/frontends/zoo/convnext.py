"""ConvNeXt-T: depthwise 7x7 convolutions, layer norms over channels, a wide layer, layer scale.

Normalization and the fully connected layers take channels last and convolutions channels first, as
in torchvision: maps are transposed in between, and data moves. Stochastic depth, which leaves
out blocks in training, is itself left out: a step without it has the same tensors.
"""

from __future__ import annotations

from spmopt.frontends.zoo.attention import project
from spmopt.frontends.zoo.layers import NetworkBuilder

_STAGES = ((96, 3), (192, 3), (384, 9), (768, 3))
"""Channels and blocks of each."""
_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def convnext_tiny(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build ConvNeXt-T."""
    x = net.image(batch, image)
    for stage, (channels, depth) in enumerate(_STAGES):
        if stage:
            x = _channel_norm(net, f"down{stage}.norm", x)
            x = net.conv(f"down{stage}.conv", x, channels, 2, stride=2, bias=True)
        else:
            x = net.conv("stem.conv", x, channels, 4, stride=4, bias=True)
            x = _channel_norm(net, "stem.norm", x)
        for block in range(depth):
            x = _block(net, f"stage{stage}.{block}", x)
    x = net.layer_norm("norm", net.global_pool("pool", x))
    return [net.linear("classifier", x, classes)]


def _channel_norm(net: NetworkBuilder, name: str, x: int) -> int:
    """Normalize each pixel over its channels."""
    x = net.layer("Transpose", f"{name}.last", x, perm=_LAST)
    return net.layer("Transpose", f"{name}.first", net.layer_norm(name, x), perm=_FIRST)


def _block(net: NetworkBuilder, name: str, x: int) -> int:
    channels = net.shape(x)[1]
    y = net.conv(f"{name}.depthwise", x, channels, 7, pad=3, groups=channels, bias=True)
    y = net.layer_norm(f"{name}.norm", net.layer("Transpose", f"{name}.last", y, perm=_LAST))
    y = _pointwise(net, f"{name}.1", y, 4 * channels)
    y = _pointwise(net, f"{name}.2", net.layer("Gelu", f"{name}.gelu", y), channels)
    y = net.layer("Transpose", f"{name}.first", y, perm=_FIRST)
    scale = net.weight(f"{name}.scale.weight", (channels, 1, 1))
    return net.layer("Add", f"{name}.add", x, net.layer("Mul", f"{name}.scale", y, scale))


def _pointwise(net: NetworkBuilder, name: str, x: int, features: int) -> int:
    """Add a fully connected layer on the channels of each pixel."""
    batch, height, width, channels = net.shape(x)
    y = project(net, name, net.reshape(x, batch, height * width, channels), features, bias=True)
    return net.reshape(y, batch, height, width, features)
