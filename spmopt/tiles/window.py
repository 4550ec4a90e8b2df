"""Feature maps: which elements of its input a tile of a convolution's im2col matrix is made of.

Im2col has a row for each output pixel (by images, then rows, then columns of the output) and a
column for each place of the kernel in each channel (by channels, then rows, then columns of the
kernel, as PyTorch lays out its weights). An element of the feature map stands in it once for each
window that covers it; a tile holds it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from spmopt.core.table import Ints

_KEPT = 64  # tables of places; one of a large map has some megabytes
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How the kernel of a convolution slides over an image, by height and width.

    Attributes
    ----------
    image, kernel, output
        Sizes of the feature map without padding, of the kernel, and of the result.
    strides, dilations
        Of the kernel.
    padding
        Rows above the image and columns left of it; what is below and right follows. Padding is
        no element of the feature map: it is not moved.
    """

    image: Pair
    kernel: Pair
    output: Pair
    strides: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilations: Pair = (1, 1)

    @property
    def is_plain(self) -> bool:
        """Whether no element stands in the im2col matrix twice, and none of it is padding."""
        pixels, places = prod(self.output), prod(self.kernel)
        (found,) = self._of_a_channel((0, places), np.array([0]), np.array([pixels])).tolist()
        return bool(found == pixels * places)

    def __str__(self) -> str:
        size = "x".join
        parts = (self.image, self.kernel, self.strides)
        image, kernel, stride = (size(map(str, part)) for part in parts)
        return f"{image}, kernel {kernel}, stride {stride}"

    def touched(self, rows: Ints, columns: Ints) -> Ints:
        """(I, K) Count the elements of tiles, each once.

        Parameters
        ----------
        rows : (I,)
            Sizes of the tiles along M: output pixels of all images, from the first on.
        columns : (K,)
            Sizes along K: places of the kernel in all channels, from the first on.
        """
        places = prod(self.kernel)
        high = np.cumsum(columns)
        # Whole channels, and up to two parts of channels at the ends of a tile.
        shares: dict[Pair, Ints] = {}
        ends = zip((high - columns).tolist(), high.tolist(), strict=True)
        for tile, (low, stop) in enumerate(ends):
            for part, channels in _parts(low, stop, places):
                shares.setdefault(part, np.zeros(columns.size, np.int64))[tile] += channels
        last = np.cumsum(rows)
        counts = [self._of_a_channel(part, last - rows, last) for part in shares]
        found: Ints = np.stack(counts, axis=1) @ np.stack(list(shares.values()))
        # Of a tile of padding alone one zero is kept: there is no empty tensor.
        return np.maximum(found, 1)

    def _of_a_channel(self, part: Pair, first: Ints, last: Ints) -> Ints:
        """(I,) Count elements of one channel under places ``part`` of windows first to last.

        An element counts where a window of the tile covers it for the first time: the window that
        covers it before, ``gap`` windows earlier, is in no window of the tile.
        """
        gaps, before = _first_covers(self, part)
        pixels = prod(self.output)

        def until(window: Ints, gap: int) -> Ints:
            images, pixel = np.divmod(window, pixels)
            found: Ints = images * before[gap, -1] + before[gap, pixel]
            return found

        counts = np.zeros(first.size, np.int64)
        for number, gap in enumerate(gaps.tolist()):
            counts += until(np.minimum(last, first + gap), number) - until(first, number)
        return counts


def _parts(low: int, stop: int, places: int) -> list[tuple[Pair, int]]:
    """Cut columns low to stop into ranges of places, each with how many channels have it."""
    (first, begin), (last, end) = divmod(low, places), divmod(stop, places)
    if first == last:
        return [((begin, end), 1)]
    whole = last - first - (begin > 0)
    parts = [((begin, places), int(begin > 0)), ((0, places), whole), ((0, end), int(end > 0))]
    return [(part, channels) for part, channels in parts if channels]


@lru_cache(maxsize=_KEPT)
def _first_covers(window: Window, part: Pair) -> tuple[Ints, Ints]:
    """Count covers of elements by how many windows earlier the element is covered before.

    Returns
    -------
    tuple
        (g,) The gaps, the last of them longer than all windows for a first cover in the image;
        (g, pixels + 1) covers with that gap by windows before each one.
    """
    pixels = prod(window.output)
    never = np.iinfo(np.int64).max // 2
    at = [np.arange(count) for count in window.output]
    place = np.unravel_index(np.arange(*part), window.kernel)
    axes = zip(at, place, window.strides, window.dilations, window.padding, strict=True)
    y, x = (own[:, None] * s + taps * d - pad for own, taps, s, d, pad in axes)
    inside = ((y >= 0) & (y < window.image[0]))[:, None] & ((x >= 0) & (x < window.image[1]))
    element = (y[:, None] * window.image[1] + x)[inside]
    covering = np.broadcast_to(np.arange(pixels).reshape(*window.output, 1), inside.shape)[inside]
    order = np.argsort(element, kind="stable")
    element, covering = element[order], covering[order]
    gap = np.full(element.size, never)
    again = np.flatnonzero(element[1:] == element[:-1]) + 1
    gap[again] = covering[again] - covering[again - 1]
    gaps, number = np.unique(gap, return_inverse=True)
    counts = np.bincount(number * pixels + covering, minlength=gaps.size * pixels)
    before = np.zeros((gaps.size, pixels + 1), np.int64)
    np.cumsum(counts.reshape(gaps.size, pixels), axis=1, out=before[:, 1:])
    return gaps, before
