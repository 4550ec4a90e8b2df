"""Families of covers: which pieces and bands a segment may have."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError

FAMILIES = ("none", "fuse", "batch", "all")
"""Names of families of covers, see :meth:`Listing.family`."""
BANDS = (1, 2, 4, 8)
"""Bands of rows that all covers may have: up to 14 rows each of the images of most networks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The covers that a search chooses from and that a bound is for; the list as given is one.

    A segment may begin and end anywhere.

    Attributes
    ----------
    name
        For reports.
    pieces
        In how many pieces a segment may be, in ascending order, 1 the first.
    bands
        In how many bands of rows each piece may be, of a segment in as many pieces as the batch
        has; likewise.
    most_products
        Matrix products in a segment of several pieces, at most; None for any number.
    """

    name: str
    pieces: tuple[int, ...]
    bands: tuple[int, ...] = (1,)
    most_products: int | None = None

    def __post_init__(self) -> None:
        for what, numbers in (("pieces", self.pieces), ("bands", self.bands)):
            if numbers[:1] != (1,) or list(numbers) != sorted(set(numbers)):
                raise InputError(f"family {self.name}: numbers of {what} must ascend from 1")
        if self.most_products is not None and self.most_products < 0:
            raise InputError(f"family {self.name}: {self.most_products} products; give 0 or more")

    def counts(self, batch: int) -> list[int]:
        """Return in how many pieces in all a segment may be: bands are of one of the batch each."""
        return [*self.pieces, *(batch * each for each in self.bands[1:])]

    def takes(self, products: int) -> bool:
        """Return whether a segment of several pieces may have so many matrix products."""
        return self.most_products is None or products <= self.most_products

    def includes(self, other: Family) -> bool:
        """Return whether all covers of another family are of this one."""
        most, others = self.most_products, other.most_products
        fused = most is None or (others is not None and others <= most)
        return fused and {*other.pieces} <= {*self.pieces} and {*other.bands} <= {*self.bands}
