"""Accesses to the same DRAM bytes on two channels keep program order."""

from __future__ import annotations

from typing import NamedTuple


class _Past(NamedTuple):
    begin: int
    end: int
    finish: int
    step: int


class DramOrder:
    """Per tensor and direction, the accesses that a later one may have to wait for.

    One channel keeps the order by itself. In one step the accesses to a tensor are to
    different bytes, or are inputs and results of one operation, pipelined by rows; so only
    those of earlier steps are waited for.
    """

    def __init__(self, tensors: int, duplex: bool) -> None:
        self._duplex = duplex
        self._past: tuple[list[list[_Past]], ...] = tuple(
            [[] for _ in range(tensors)] for _ in range(2 * duplex)
        )

    def eligible(self, outward: bool, tensor: int, begin: int, end: int, step: int) -> int:
        """When the other direction's accesses to bytes [begin, end) are over."""
        if not self._duplex:
            return 0
        past = self._past[not outward][tensor]
        return max(
            (p.finish for p in past if p.step < step and p.begin < end and begin < p.end), default=0
        )

    def note(self, outward: bool, tensor: int, access: tuple[int, int, int, int], now: int) -> None:
        """Remember (begin, end, finish, step); forget what was over at ``now``.

        ``now`` is when the other channel is free: what it starts later need not wait for that.
        """
        if self._duplex:
            past = self._past[outward]
            past[tensor] = [p for p in past[tensor] if p.finish > now]
            past[tensor].append(_Past(*access))
