"""Tiny YOLOv2 and YOLOv5l: one convolutional network that finds objects in one pass.

Tiny YOLOv2 is darknet's ``yolov2-tiny.cfg`` (COCO); YOLOv5l is release 6 of Ultralytics' YOLOv5.
The outputs are the maps of the last convolutions; decoding and selecting boxes is left out.
``Resize`` doubles a map by its nearest pixels.
"""

from __future__ import annotations

from spmopt.frontends.zoo.layers import NetworkBuilder

_BOX = 5  # four coordinates and a confidence
_TINY_ANCHORS = 5
_TINY = (16, 32, 64, 128, 256, 512)  # each followed by pooling, the last with stride 1
_ANCHORS = 3  # of each of the three maps of YOLOv5


def _leaky(net: NetworkBuilder, name: str, x: int, channels: int) -> int:
    y = net.batch_norm(f"{name}.norm", net.conv(name, x, channels, 3, pad=1))
    return net.layer("LeakyRelu", f"{name}.leaky", y, alpha=0.1)


def yolov2_tiny(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build Tiny YOLOv2."""
    x = net.image(batch, image)
    for index, channels in enumerate(_TINY, 1):
        x = _leaky(net, f"conv{index}", x, channels)
        if channels == _TINY[-1]:
            # Windows of 2x2 at every pixel; the padding at the end keeps the size.
            window = {"kernel_shape": (2, 2), "strides": (1, 1), "pads": (0, 0, 1, 1)}
            x = net.layer("MaxPool", f"pool{index}", x, **window)
        else:
            x = net.max_pool(f"pool{index}", x, 2, 2)
    x = _leaky(net, "conv8", _leaky(net, "conv7", x, 1024), 512)
    return [net.conv("conv9", x, _TINY_ANCHORS * (_BOX + classes), 1, bias=True)]


def _conv(
    net: NetworkBuilder, name: str, x: int, channels: int, kernel: int = 1, *, stride: int = 1
) -> int:
    return net.conv_norm_act(name, x, channels, kernel, "Swish", stride=stride)


def _c3(
    net: NetworkBuilder, name: str, x: int, channels: int, depth: int, *, add: bool = True
) -> int:
    """Two halves side by side, one through ``depth`` bottlenecks, joined by a convolution."""
    y = _conv(net, f"{name}.1", x, channels // 2)
    for index in range(depth):
        z = _conv(net, f"{name}.{index}.a", y, channels // 2)
        z = _conv(net, f"{name}.{index}.b", z, channels // 2, 3)
        y = net.layer("Add", f"{name}.{index}.add", y, z) if add else z
    both = (y, _conv(net, f"{name}.2", x, channels // 2))
    return _conv(net, f"{name}.3", net.join(f"{name}.join", *both), channels)


def _pyramid(net: NetworkBuilder, x: int) -> int:
    """Pool by three sizes as three poolings in a row ("SPPF")."""
    x = _conv(net, "pyramid.1", x, 512)
    maps = [x]
    for index in range(3):
        maps.append(net.max_pool(f"pyramid.pool{index}", maps[-1], 5, 1, pad=2))
    return _conv(net, "pyramid.2", net.join("pyramid.join", *maps), 1024)


def _backbone(net: NetworkBuilder, image: int) -> tuple[int, int, int]:
    """Return the maps of stride 8, 16 and 32."""
    # Kernel 6 replaces the "focus" layer since release 6.
    x = _conv(net, "stem", image, 64, 6, stride=2)
    maps = []
    for index, (channels, depth) in enumerate(((128, 3), (256, 6), (512, 9), (1024, 3)), 1):
        x = _conv(net, f"down{index}", x, channels, 3, stride=2)
        x = _c3(net, f"stage{index}", x, channels, depth)
        maps.append(x)
    return maps[1], maps[2], _pyramid(net, x)


def yolov5l(net: NetworkBuilder, batch: int, *, image: int, classes: int) -> list[int]:
    """Build YOLOv5l."""
    eighth, sixteenth, top = _backbone(net, net.image(batch, image))
    top = _conv(net, "up1", top, 512)
    x = net.join("up1.join", net.double("up1.double", top), sixteenth)
    middle = _conv(net, "up2", _c3(net, "up1.stage", x, 512, 3, add=False), 256)
    x = net.join("up2.join", net.double("up2.double", middle), eighth)
    maps = [_c3(net, "up2.stage", x, 256, 3, add=False)]
    for name, channels, beside in (("down5", 256, middle), ("down6", 512, top)):
        x = net.join(f"{name}.join", _conv(net, name, maps[-1], channels, 3, stride=2), beside)
        maps.append(_c3(net, f"{name}.stage", x, 2 * channels, 3, add=False))
    filters = _ANCHORS * (_BOX + classes)
    return [net.conv(f"detect{k}", x, filters, 1, bias=True) for k, x in enumerate(maps)]
