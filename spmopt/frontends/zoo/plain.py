"""AlexNet and VGG-16: plain stacks of convolutions and a large classifier.

AlexNet is the single-tower network of "One weird trick" (Krizhevsky, 2014), as in
torchvision; the classifier of both takes the last map as it is (no adaptive pooling), so
with another image size its first layer has another width.
"""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

_VGG16 = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
# filters, kernel, stride, pad, pooled afterwards
_ALEXNET = (
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
)


def _dense(net: NetworkBuilder, name: str, x: int) -> int:
    return net.relu(f"{name}.relu", net.linear(name, x, 4096))


def vgg16(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build VGG-16."""
    x = net.image(batch, image)
    for block, (depth, channels) in enumerate(_VGG16, 1):
        for index in range(1, depth + 1):
            layer = f"conv{block}_{index}"
            x = net.relu(f"{layer}.relu", net.conv(layer, x, channels, 3, pad=1, bias=True))
        x = net.max_pool(f"pool{block}", x, 2, 2)
    x = net.dropout("drop6", _dense(net, "fc6", net.flatten(x)))
    x = net.dropout("drop7", _dense(net, "fc7", x))
    return [net.linear("fc8", x, classes)]


def alexnet(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build AlexNet."""
    x = net.image(batch, image)
    for index, (channels, kernel, stride, pad, pooled) in enumerate(_ALEXNET, 1):
        layer = f"conv{index}"
        x = net.conv(layer, x, channels, kernel, stride=stride, pad=pad, bias=True)
        x = net.relu(f"{layer}.relu", x)
        if pooled:
            x = net.max_pool(f"pool{index}", x, 3, 2)
    x = _dense(net, "fc6", net.dropout("drop6", net.flatten(x)))
    x = _dense(net, "fc7", net.dropout("drop7", x))
    return [net.linear("fc8", x, classes)]
