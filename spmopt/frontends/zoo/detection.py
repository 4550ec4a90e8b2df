"""Faster R-CNN, in two published sizes.

``faster-rcnn`` is torchvision's ``fasterrcnn_mobilenet_v3_large_fpn`` of 19.4 M parameters:
MobileNetV3-Large, a feature pyramid, region proposals, and a head for each region. Its batch
normalization is trained here; torchvision freezes it.

``faster-rcnn-resnet50`` is what SCALE-Sim's topology ``FasterRCNN.csv`` describes: the first three
stages of ResNet-50 and the region proposal network of the paper (512 channels, 9 anchors). With
``regions`` the second stage follows: the last stage of ResNet-50 on each region, at stride 2 from
14 x 14, then classes and boxes.

``regions`` is how many regions an image has in a training step. Choosing them (sorting, removing
overlaps) is not a matter of the SPM: they are an input of the graph. In the pyramid, half of them
lie in each of the two maps that regions are taken from. Outputs are the scores and boxes of the
proposals and of the regions.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.errors import InputError
from spmopt.frontends.zoo import mobilenetv3, residual
from spmopt.frontends.zoo.layers import Layers
from spmopt.graph.ir import Graph

_PYRAMID = 256
_PYRAMID_ANCHORS = 15
_ANCHORS = 9
_INNER = 1024


class _Proposals:
    """The region proposal network: one set of weights for all maps.

    Class scores have ``scores`` channels an anchor: object or not (2), or one logit.
    """

    def __init__(
        self, net: Layers, inputs: int, channels: int, *, anchors: int, scores: int
    ) -> None:
        self._net = net
        self._weights: dict[str, tuple[int, int]] = {}
        self._declare("inner", inputs, channels, 3)
        self._declare("scores", channels, scores * anchors, 1)
        self._declare("boxes", channels, 4 * anchors, 1)

    def of(self, x: int, name: str = "proposals") -> tuple[int, int]:
        """Scores and boxes of one map."""
        x = self._net.relu(f"{name}.relu", self._conv(name, "inner", x))
        return self._conv(name, "scores", x), self._conv(name, "boxes", x)

    def _declare(self, part: str, inputs: int, channels: int, kernel: int) -> None:
        builder, name = self._net.builder, f"proposals.{part}"
        self._weights[part] = (
            builder.weight(f"{name}.weight", (channels, inputs, kernel, kernel)),
            builder.weight(f"{name}.bias", (channels,)),
        )

    def _conv(self, name: str, part: str, x: int) -> int:
        weight, bias = self._weights[part]
        kernel = self._net.builder.shape(weight)[2:]
        pads = (kernel[0] // 2,) * 4
        return self._net.builder.add("Conv", [x, weight, bias], name=f"{name}.{part}", pads=pads)


def _pooled(net: Layers, name: str, x: int, regions: int, size: int) -> int:
    """Regions of ``x`` as maps of ``size`` x ``size``."""
    boxes = net.builder.input(f"{name}.boxes", (regions, 4))
    images = net.builder.input(f"{name}.images", (regions,))
    return net.builder.add(
        "RoiAlign",
        [x, boxes, images],
        name=name,
        output_height=size,
        output_width=size,
        sampling_ratio=2,
    )


def _pyramid(net: Layers, low: int, high: int) -> tuple[int, int]:
    """Two maps of equal size, the second added to the first on its way down."""
    inner = [
        net.conv(f"pyramid{index}.inner", x, _PYRAMID, 1, bias=True)
        for index, x in enumerate((low, high))
    ]
    inner[0] = net.pointwise("Add", "pyramid.add", *inner)
    first, second = (
        net.conv(f"pyramid{index}", x, _PYRAMID, 3, pad=1, bias=True)
        for index, x in enumerate(inner)
    )
    return first, second


def _found(net: Layers, x: int, classes: int) -> tuple[int, int]:
    """Classes (one more for the background) and boxes of each region."""
    return net.linear("classes", x, classes), net.linear("boxes", x, 4 * classes)


def faster_rcnn(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build Faster R-CNN on MobileNetV3."""
    if parameters["regions"] % 2:
        raise InputError(f"network {name}: regions must be even, is {parameters['regions']}")
    net = Layers(name)
    image = net.image(batch, parameters["image"])
    maps = _pyramid(net, *mobilenetv3.maps(net, image))
    proposals = _Proposals(net, _PYRAMID, _PYRAMID, anchors=_PYRAMID_ANCHORS, scores=1)
    coarse = net.max_pool("pyramid.pool", maps[1], 1, 2)
    found = [
        value
        for index, x in enumerate((*maps, coarse))
        for value in proposals.of(x, f"proposals{index}")
    ]
    half = batch * parameters["regions"] // 2
    parts = [_pooled(net, f"regions{k}", x, half, 7) for k, x in enumerate(maps)]
    x = net.flatten(net.builder.add("Concat", parts, name="regions", axis=0))
    for layer in ("head1", "head2"):
        x = net.relu(f"{layer}.relu", net.linear(layer, x, _INNER))
    return net.finish(*found, *_found(net, x, parameters["classes"]))


def faster_rcnn_resnet50(name: str, batch: int, parameters: Mapping[str, int]) -> Graph:
    """Build Faster R-CNN on ResNet-50."""
    net = Layers(name)
    image = net.image(batch, parameters["image"])
    x = residual.stages(net, image, residual.bottleneck, residual.DEPTHS[:3])
    proposals = _Proposals(net, 1024, 512, anchors=_ANCHORS, scores=2)
    found: tuple[int, ...] = proposals.of(x)
    if parameters["regions"]:
        y = _pooled(net, "regions", x, batch * parameters["regions"], 14)
        for index in range(residual.DEPTHS[3]):
            stride = 1 if index else 2
            y = residual.bottleneck(net, f"stage4.{index}", y, residual.WIDTHS[3], stride)
        found = (*found, *_found(net, net.global_pool("pool", y), parameters["classes"]))
    return net.finish(*found)
