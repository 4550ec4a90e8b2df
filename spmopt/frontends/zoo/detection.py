"""Faster R-CNN, in two published sizes.

``faster-rcnn`` is torchvision's ``fasterrcnn_mobilenet_v3_large_fpn`` of 19.4 M parameters:
MobileNetV3-Large, a feature pyramid, region proposals, and a head for each region. Its batch
normalization is trained here; torchvision freezes it.

``faster-rcnn-resnet50`` is the network of SCALE-Sim's topology ``FasterRCNN.csv``: the first three
stages of ResNet-50 and the region proposal network of the paper (512 channels, 9 anchors). With
``regions`` the second stage follows: the last stage of ResNet-50 on each region, at stride 2 from
14 x 14, then classes and boxes.

``regions`` is how many regions an image has in a training step. Choosing them (sorting, removing
overlaps) is not a matter of the SPM: they are an input of the graph. In the pyramid, half of them
lie in each of the two maps that regions are taken from. Outputs are the scores and boxes of the
proposals and of the regions.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.frontends.zoo import mobilenetv3, residual
from spmopt.frontends.zoo.layers import NetworkBuilder

_PYRAMID = 256
_PYRAMID_ANCHORS = 15
_ANCHORS = 9
_INNER = 1024


class _Proposals:
    """The region proposal network: one set of weights for all maps.

    Class scores have ``scores`` channels an anchor: object or not (2), or one logit.
    """

    def __init__(
        self, net: NetworkBuilder, inputs: int, channels: int, *, anchors: int, scores: int
    ) -> None:
        self._net = net
        self._weights = {
            part: (net.weight(f"{name}.weight", shape), net.weight(f"{name}.bias", shape[:1]))
            for part, shape in (
                ("inner", (channels, inputs, 3, 3)),
                ("scores", (scores * anchors, channels, 1, 1)),
                ("boxes", (4 * anchors, channels, 1, 1)),
            )
            for name in (f"proposals.{part}",)
        }

    def of(self, x: int, name: str = "proposals") -> tuple[int, int]:
        """Return the scores and boxes of one map."""
        x = self._net.relu(f"{name}.relu", self._conv(name, "inner", x))
        return self._conv(name, "scores", x), self._conv(name, "boxes", x)

    def _conv(self, name: str, part: str, x: int) -> int:
        weight, bias = self._weights[part]
        pads = (self._net.shape(weight)[2] // 2,) * 4
        return self._net.layer("Conv", f"{name}.{part}", x, weight, bias, pads=pads)


def _pool(net: NetworkBuilder, name: str, x: int, regions: int, size: int) -> int:
    """Return the regions of ``x`` as maps of ``size`` x ``size``."""
    boxes = net.input(f"{name}.boxes", (regions, 4))
    images = net.input(f"{name}.images", (regions,))
    window = {"output_height": size, "output_width": size, "sampling_ratio": 2}
    return net.layer("RoiAlign", name, x, boxes, images, **window)


def _pyramid(net: NetworkBuilder, *maps: int) -> list[int]:
    """Return two maps of equal size, the second added to the first on its way down."""
    low, high = (
        net.conv(f"pyramid{k}.inner", x, _PYRAMID, 1, bias=True) for k, x in enumerate(maps)
    )
    inner = (net.layer("Add", "pyramid.add", low, high), high)
    return [net.conv(f"pyramid{k}", x, _PYRAMID, 3, pad=1, bias=True) for k, x in enumerate(inner)]


def _find(net: NetworkBuilder, x: int, classes: int) -> tuple[int, int]:
    """Return the classes (one more for the background) and boxes of each region."""
    return net.linear("classes", x, classes), net.linear("boxes", x, 4 * classes)


def faster_rcnn(
    net: NetworkBuilder, batch: int, *, image: int, regions: int, classes: int
) -> list[int]:
    """Build Faster R-CNN on MobileNetV3."""
    if regions % 2:
        raise InputError(f"network {net.name}: regions must be even, is {regions}")
    maps = _pyramid(net, *mobilenetv3.maps(net, net.image(batch, image)))
    proposals = _Proposals(net, _PYRAMID, _PYRAMID, anchors=_PYRAMID_ANCHORS, scores=1)
    # Kernel 1, stride 2: torchvision subsamples the top map for one more level.
    coarse = net.max_pool("pyramid.pool", maps[1], 1, 2)
    found = [y for k, x in enumerate((*maps, coarse)) for y in proposals.of(x, f"proposals{k}")]
    half = batch * regions // 2
    parts = [_pool(net, f"regions{k}", x, half, 7) for k, x in enumerate(maps)]
    x = net.flatten(net.layer("Concat", "regions", *parts, axis=0))
    for layer in ("head1", "head2"):
        x = net.relu(f"{layer}.relu", net.linear(layer, x, _INNER))
    return [*found, *_find(net, x, classes)]


def faster_rcnn_resnet50(
    net: NetworkBuilder, batch: int, *, image: int, regions: int, classes: int
) -> list[int]:
    """Build Faster R-CNN on ResNet-50."""
    x = residual.stages(net, net.image(batch, image), residual.bottleneck, residual.DEPTHS[:3])
    found = [*_Proposals(net, 1024, 512, anchors=_ANCHORS, scores=2).of(x)]
    if not regions:
        return found
    y = _pool(net, "regions", x, batch * regions, 14)
    for index in range(residual.DEPTHS[3]):
        stride = 1 if index else 2
        y = residual.bottleneck(net, f"stage4.{index}", y, residual.WIDTHS[3], stride)
    return [*found, *_find(net, net.global_pool("pool", y), classes)]
