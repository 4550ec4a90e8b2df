"""The least that an operation alone moves: operands that cannot all be on chip at once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Moves(NamedTuple):
    """Bytes of an operand, how often each is moved if not resident, and whether it must be.

    A byte of a compressed tensor moves as a part of one.
    """

    size_bytes: int
    often: int | Fraction
    required: bool


def least_moved(operands: Iterable[Moves], room_bytes: int) -> int | Fraction:
    """Return the least bytes that operands move while so many bytes of them are resident.

    The room goes to operands that are required resident, then to the most often moved bytes.
    """
    moved: int | Fraction = 0
    for each in sorted(operands, key=lambda each: (not each.required, -each.often)):
        resident = max(min(room_bytes, each.size_bytes), 0)
        room_bytes -= each.size_bytes if each.required else resident
        moved += 0 if each.required else each.often * (each.size_bytes - resident)
    return moved


def times_moved(fetches: int, *, reads: bool, writes: bool, live: bool, shared_sum: bool) -> int:
    """Return how often a byte of an operand that is not resident is moved, at least.

    ``shared_sum``: which fusion tiles read and store it depends on its ends.
    """
    if shared_sum:
        return int(reads or live)
    return (fetches if reads else (fetches - 1) * live) + fetches * (writes and live)
