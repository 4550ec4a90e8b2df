"""Feature maps, by loops over every window and every place of the kernel."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.window import Window

Matrix = NDArray[np.int32]
Element = tuple[int, int, int, int]
"""Image, channel, row, column."""


def element(window: Window, row: int, column: int) -> Element | None:
    """What stands in the im2col matrix; None: padding."""
    image, pixel = divmod(row, window.output[0] * window.output[1])
    channel, place = divmod(column, window.kernel[0] * window.kernel[1])
    pixels, places = divmod(pixel, window.output[1]), divmod(place, window.kernel[1])
    y, x = (
        pixels[a] * window.strides[a] + places[a] * window.dilations[a] - window.padding[a]
        for a in (0, 1)
    )
    inside = 0 <= y < window.image[0] and 0 <= x < window.image[1]
    return (image, channel, y, x) if inside else None


def touched(window: Window, rows: range, columns: range) -> list[Element]:
    """Elements that a tile holds, each once, in the order of the feature map."""
    every = {element(window, row, column) for row in rows for column in columns}
    return sorted(each for each in every if each is not None)


def sizes(layer: Layer) -> tuple[int, int, int, int]:
    """Images, channels, height and width of the feature map."""
    window = layer.window
    assert window is not None
    images = layer.m // (window.output[0] * window.output[1])
    channels = layer.k // (window.kernel[0] * window.kernel[1])
    return images, channels, *window.image


def convolved(layer: Layer, feature_map: Matrix) -> Matrix:
    """The im2col matrix, place by place of the kernel in a padded map, not element by element."""
    window = layer.window
    assert window is not None
    images, channels, height, width = sizes(layer)
    room = 64
    padded: Matrix = np.zeros((images, channels, height + 2 * room, width + 2 * room), np.int32)
    padded[:, :, room : room + height, room : room + width] = feature_map
    columns = []
    for channel in range(channels):
        for r, s in np.ndindex(*window.kernel):
            place = (r, s)
            cut = []
            for a in (0, 1):
                first = room + place[a] * window.dilations[a] - window.padding[a]
                steps = window.output[a]
                cut.append(slice(first, first + steps * window.strides[a], window.strides[a]))
            columns.append(padded[:, channel, cut[0], cut[1]].reshape(-1))
    return np.stack(columns, axis=1)


_SMALL = st.tuples(st.integers(1, 3), st.integers(1, 3))
WINDOWS = st.builds(
    Window,
    image=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    kernel=_SMALL,
    output=st.tuples(st.integers(1, 5), st.integers(1, 4)),
    strides=_SMALL,
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)


def convolution(
    window: Window, images: int, channels: int, filters: int, tile: tuple[int, int, int]
) -> TileGrid:
    """A convolution in tiles."""
    layer = Layer(
        name="conv",
        m=images * window.output[0] * window.output[1],
        k=channels * window.kernel[0] * window.kernel[1],
        n=filters,
        kernel=window.kernel[0] * window.kernel[1],
        window=window,
    )
    return TileGrid(layer=layer, tile=Tile.of(tile))


CONVOLUTIONS = st.builds(
    convolution,
    WINDOWS,
    images=st.integers(1, 2),
    channels=st.integers(1, 2),
    filters=st.integers(1, 5),
    tile=st.tuples(st.integers(2, 12), st.integers(2, 12), st.integers(1, 3)),
)
