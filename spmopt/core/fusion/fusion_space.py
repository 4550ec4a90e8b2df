"""Fusion spaces: which fusion tiles and stripes a fused group may have."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError

FUSION_SPACES = ("none", "single-product", "batch", "all")
"""Names of fusion spaces, see :meth:`TileableGraph.fusion_space`."""
STRIPES = (1, 2, 4, 8)
"""Stripes that all fusion plans may have: up to 14 rows each of the images of most networks."""


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
        In how many fusion tiles a fused group may be, in ascending order, 1 the first.
    stripes
        In how many stripes each fusion tile may be, of a fused group in as many fusion tiles as the
        batch has; likewise.
    most_products
        Matrix products in a fused group of several fusion tiles, at most; None for any number.
    """

    name: str
    micro_batches: tuple[int, ...]
    stripes: tuple[int, ...] = (1,)
    most_products: int | None = None

    def __post_init__(self) -> None:
        for what, numbers in (("micro_batches", self.micro_batches), ("stripes", self.stripes)):
            # 1 must be there: the layer-by-layer plan belongs to every space.
            if numbers[:1] != (1,) or list(numbers) != sorted(set(numbers)):
                raise InputError(f"family {self.name}: numbers of {what} must ascend from 1")
        if self.most_products is not None and self.most_products < 0:
            raise InputError(f"family {self.name}: {self.most_products} products; give 0 or more")

    def counts(self, batch: int) -> list[int]:
        """Return in how many tiles in all a group may be: stripes are of one of the batch each."""
        # Stripes cut single images, so there are ``batch`` times as many tiles.
        return [*self.micro_batches, *(batch * each for each in self.stripes[1:])]

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
        )
