"""Elements of a feature map in tiles, against sets of elements found by loops."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import pytest

from spmopt.frontends import zoo
from spmopt.tiles.networks import layers_of
from spmopt.tiles.window import Window
from tests.thorough import share


def test_equal_to_the_values_of_an_index_matrix() -> None:
    """Larger ones: each entry of im2col is the number of its element, -1 in padding."""
    generator = np.random.default_rng(1)
    for _ in range(share(200, 4)):
        image, kernel, output, strides, padding, dilations = (
            tuple(generator.integers(low, high, 2).tolist())
            for low, high in ((1, 13), (1, 8), (1, 9), (1, 5), (0, 5), (1, 4))
        )
        window = Window(
            image=image,
            kernel=kernel,
            output=output,
            strides=strides,
            padding=padding,
            dilations=dilations,
        )
        images, channels = generator.integers(1, 4, 2).tolist()
        places = [
            np.add.outer(np.arange(output[a]) * strides[a], np.arange(kernel[a]) * dilations[a])
            - padding[a]
            for a in (0, 1)
        ]
        y, x = places[0][:, None, :, None], places[1][None, :, None, :]
        inside = (y >= 0) & (y < image[0]) & (x >= 0) & (x < image[1])
        one = np.where(inside, y * image[1] + x, -1)
        one = one.reshape(prod(output), prod(kernel))
        maps = np.arange(images * channels).reshape(images, channels) * prod(image)
        entry = one[:, None, :]  # by images, pixels, channels, places
        every = np.where(entry < 0, -1, maps[:, None, :, None] + entry)
        matrix = every.reshape(images * one.shape[0], channels * one.shape[1])
        rows, columns = (
            np.unique(np.append(generator.integers(0, size, 4), (0, size))) for size in matrix.shape
        )
        wanted = [
            [max(1, np.setdiff1d(matrix[a:b, c:d], -1).size) for c, d in pairwise(columns)]
            for a, b in pairwise(rows)
        ]
        assert window.touched(np.diff(rows), np.diff(columns)).tolist() == wanted
        assert window.is_plain == (np.unique(one).size == one.size and bool((one >= 0).all()))


@pytest.mark.parametrize("network", ["resnet18", "mobilenet"])
def test_all_of_a_map_is_the_input_of_the_layer(network: str) -> None:
    layers = [layer for layer in layers_of(zoo.network(network, batch=2)) if layer.window]
    assert len(layers) > 9
    for layer in layers:
        assert layer.window is not None
        height, width = layer.window.image
        whole = layer.window.touched(np.array([layer.m]), np.array([layer.k]))
        channels = layer.k // layer.kernel
        assert whole.tolist() == [[2 * channels * height * width]]
        assert layer.kernel == layer.window.kernel[0] * layer.window.kernel[1]


def test_networks_say_how_windows_slide() -> None:
    layers = {layer.name: layer for layer in layers_of(zoo.network("resnet18", batch=1))}
    assert layers["stem.conv"].window == Window(
        image=(224, 224), kernel=(7, 7), output=(112, 112), strides=(2, 2), padding=(3, 3)
    )
    assert str(layers["stem.conv"].window) == "224x224, kernel 7x7, stride 2x2"
    assert layers["classifier"].window is None
    pointwise = [layer for layer in layers.values() if "shortcut" in layer.name]
    assert all(layer.window is None and layer.kernel == 1 for layer in pointwise)
