"""Prices of what is carried across borders between segments, and what can be.

A byte on chip when a segment begins costs its price there, and earns it for the segment before; if
it is newer than DRAM it has a second price, the other way round. Both neighbors have the same
bytes, so that what they pay cancels, whatever the prices are.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.errors import InputError
from spmopt.core.pieces.listing import Listing

READ, REST = -1, -2
"""Groups of tensors: all that are never written; all that have no price of their own."""


class Carried:
    """Prices at borders, by position and group: a tensor that is written, or ``READ``.

    Raises
    ------
    InputError
        A price is of a border or group that there is not, or of something that is summed up.
    """

    def __init__(self, listing: Listing, prices: Mapping[tuple[int, int], tuple[int, int]]) -> None:
        self.prices, count = prices, len(listing.operations)
        written = {t for operation in listing.operations for t in operation.writes}
        summed = {t for operation in listing.operations for t in operation.sums}
        priced = {group for _, group in prices}
        for border, group in prices:
            if not 0 < border < count or not (group == READ or group in written - summed):
                raise InputError(f"certificate: border {border} has no price of tensor {group}")
        self.group = {
            t: t if t in priced else READ if t not in written and READ in priced else REST
            for t in range(len(listing.tensors))
        }
        self.crossing = self._crossing(listing) if priced else [{} for _ in range(count + 1)]

    def _crossing(self, listing: Listing) -> list[dict[int, int]]:
        """Return, before each operation and at the end, the tensors that are needed, and sizes."""
        needed = {t for t, tensor in enumerate(listing.tensors) if tensor.keep}
        found = [set[int]()]  # Nothing is on chip at the end.
        for operation in reversed(listing.operations):
            needed = needed - set(operation.writes) | set(operation.reads)
            found.append(needed)
        found[-1] = set()  # Nor at the beginning.
        used = {t for operation in listing.operations for t in operation.uses(0)}
        return [
            {t: listing.tensors[t].size_bytes for t in each if self.group[t] != REST and t in used}
            for each in reversed(found)
        ]

    def of(self, border: int, group: int) -> tuple[int, int]:
        """Return the prices of a byte of a group, and of one that is newer than DRAM."""
        return self.prices.get((border, group), (0, 0))
