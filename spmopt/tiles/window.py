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

from spmopt.core.errors import InputError
from spmopt.core.table import Bools, Ints

MOST_PLACES = 2**27
"""Output pixels times kernel positions of the largest window.

Tables of them take up to about 16 bytes for each; this allows a 3 x 3 kernel on 3840 x 2160 pixels
in some 2 GB."""
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

    def __post_init__(self) -> None:
        pixels, positions = prod(self.output), prod(self.kernel)
        if pixels * positions > MOST_PLACES:
            raise InputError(
                f"a kernel of {positions} positions on {pixels} output pixels: their product is "
                f"above {MOST_PLACES}, too large to count feature-map elements by tile; "
                "make the feature map smaller"
            )

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
        # In floating point, for its speed: exact up to 2^53 elements.
        several = np.stack(counts, axis=1).astype(np.float64)
        found: Ints = (several @ np.stack(list(shares.values()))).astype(np.int64)
        # Of a tile of padding alone one zero is kept: there is no empty tensor.
        return np.maximum(found, 1)

    def _of_a_channel(self, part: Pair, first: Ints, last: Ints) -> Ints:
        """(I,) Count elements of one channel under places ``part`` of windows first to last.

        An element counts where a window of the tile contains it for the first time: the window that
        contains it before, ``gap`` windows earlier, is in no window of the tile.
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
    """Count elements by how many windows earlier each was covered before.

    Returns
    -------
    tuple
        (g,) The gaps, the last of them longer than all windows, for elements that no window of the
        image covered before; (g, pixels + 1) elements with that gap in windows before each one.
    """
    # No window before: halved, so that sums do not overflow.
    never = np.iinfo(np.int64).max // 2
    places = np.argwhere(
        np.isin(np.arange(prod(window.kernel)), np.arange(*part)).reshape(window.kernel)
    )
    counts: dict[int, Ints] = {}
    for place in places:
        left = _inside(window, place)
        earlier = ((_gap(window, shift), shift) for shift in _shifts(window, place - places))
        # Nearest first: the last window that had the element counts.
        for gap, (down, right) in sorted(earlier):
            if gap <= 0 or not left.any():
                continue
            covered = _cut(window.output[0], down), _cut(window.output[1], right)
            counts.setdefault(gap, np.zeros(window.output, np.int64))[covered] += left[covered]
            left[covered] = False
        counts.setdefault(never, np.zeros(window.output, np.int64))[...] += left
    some = sorted(gap for gap, elements in counts.items() if elements.any()) or [never]
    gaps = np.array(some, np.int64)
    before = np.zeros((gaps.size, prod(window.output) + 1), np.int64)
    elements = np.stack([counts[gap].reshape(-1) for gap in some])
    np.cumsum(elements, axis=1, out=before[:, 1:])
    return gaps, before


def _inside(window: Window, place: Ints) -> Bools:
    """(output) Say of which windows a place of the kernel is no padding."""
    inside = []
    for axis, tap in enumerate(place.tolist()):
        at = np.arange(window.output[axis]) * window.strides[axis] - window.padding[axis]
        at += tap * window.dilations[axis]
        inside.append((at >= 0) & (at < window.image[axis]))
    found: Bools = np.logical_and.outer(*inside)
    return found


def _shifts(window: Window, apart: Ints) -> list[Pair]:
    """List how far, down and right, windows are that have the same element at another place."""
    steps = apart * window.dilations
    whole = (steps % window.strides == 0).all(axis=1)
    return [(down, right) for down, right in (steps[whole] // window.strides).tolist()]


def _gap(window: Window, shift: Pair) -> int:
    """Return how many windows earlier the one is that is so far down and right."""
    return -(shift[0] * window.output[1] + shift[1])


def _cut(length: int, shift: int) -> slice:
    """Return the windows that have one at ``shift`` from them."""
    return slice(max(0, -shift), max(0, min(length, length - shift)))
