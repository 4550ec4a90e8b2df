"""Fusion spaces: which fusion tiles and stripes a fused group may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from spmopt.core.errors import InputError

FUSION_SPACES = ("none", "single-product", "batch", "all")
"""Names of fusion spaces, see :meth:`TileableGraph.fusion_space`."""
_MOST = 2**32
"""Fusion tiles, of which costs are sums in 64 bits."""
STRIPES = (1, 2, 4, 8)
"""Stripes that all fusion plans may have: up to 14 rows each of the images of most networks."""
MOST_STRIPES = 2048
"""The same, of rows over which no windows slide, as uneven tiles of a batch."""


class Way(NamedTuple):
    """A way in which a fused group may be tiled: along an axis, in so many tiles in all."""

    axis: int
    tiles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionSpace:
    """The covers that a search chooses from and that a bound is for.

    The layer-by-layer plan is one.

    A fused group may begin and end anywhere.

    Attributes
    ----------
    name
        For reports.
    micro_batches
        In how many fusion tiles along the first axis a fused group may be, in ascending order, 1
        the first.
    stripes
        In how many stripes each fusion tile may be, of a fused group in as many fusion tiles as the
        batch has; likewise.
    others
        In how many along each further axis, in ascending order, from 2.
    most_products
        Matrix products in a fused group of several fusion tiles, at most; None for any number.
    """

    name: str
    micro_batches: tuple[int, ...]
    stripes: tuple[int, ...] = (1,)
    others: tuple[tuple[int, ...], ...] = field(default=(), metadata={"group": "others"})
    most_products: int | None = None

    def __post_init__(self) -> None:
        for what, numbers in (("micro_batches", self.micro_batches), ("stripes", self.stripes)):
            # 1 must be there: the layer-by-layer plan belongs to every space.
            if numbers[:1] != (1,) or list(numbers) != sorted(set(numbers)):
                raise InputError(f"family {self.name}: numbers of {what} must ascend from 1")
        for numbers in self.others:
            if list(numbers) != sorted(set(numbers)) or (numbers and numbers[0] < 2):
                raise InputError(f"family {self.name}: numbers along an axis must ascend from 2")
        every = (*self.micro_batches, *self.stripes, *(k for each in self.others for k in each))
        if max(every) > _MOST:
            raise InputError(f"family {self.name}: {max(every)} fusion tiles; give {_MOST} at most")
        if self.most_products is not None and self.most_products < 0:
            raise InputError(f"family {self.name}: {self.most_products} products; give 0 or more")

    def counts(self, batch: int) -> list[int]:
        """Return in how many tiles of the first axis a group may be, stripes among them."""
        # Stripes cut single images, so there are ``batch`` times as many tiles.
        return [*self.micro_batches, *(batch * each for each in self.stripes[1:])]

    def ways(self, batch: int) -> list[Way]:
        """Return all ways to tile a group: those of the first axis first, by :meth:`counts`."""
        further = (
            Way(axis, each) for axis, numbers in enumerate(self.others, 1) for each in numbers
        )
        return [*(Way(0, each) for each in self.counts(batch)), *further]

    def has(self, axis: int, tiles: int) -> bool:
        """Return whether a group may be in so many fusion tiles along an axis."""
        if axis == 0:
            return tiles in self.micro_batches
        return axis <= len(self.others) and tiles in self.others[axis - 1]

    def takes(self, products: int) -> bool:
        """Return whether a fused group of several fusion tiles may have so many matrix products."""
        return self.most_products is None or products <= self.most_products

    def includes(self, other: FusionSpace) -> bool:
        """Return whether all fusion plans of another family are of this one."""
        most, others = self.most_products, other.most_products
        fused = most is None or (others is not None and others <= most)
        return (
            fused
            and {*other.micro_batches} <= {*self.micro_batches}
            and {*other.stripes} <= {*self.stripes}
            and {*other._further()} <= {*self._further()}
        )

    def _further(self) -> list[Way]:
        return [Way(axis, each) for axis, found in enumerate(self.others, 1) for each in found]
