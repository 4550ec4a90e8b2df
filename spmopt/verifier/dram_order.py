"""Accesses to the same DRAM bytes on two channels keep program order."""

from __future__ import annotations

Past = tuple[int, int, int, int]
"""Bytes [begin, end) of an access, when it was over, and its step."""


class DramOrder:
    """Per tensor and direction, the accesses that a later one may have to wait for.

    For duplex: one channel keeps the order by itself. In one step the accesses to a tensor are
    to different bytes, or are inputs and results of one operation, pipelined by rows; so only
    those of earlier steps are waited for.
    """

    def __init__(self, tensors: int) -> None:
        self._past: tuple[list[list[Past]], ...] = tuple(
            [[] for _ in range(tensors)] for _ in range(2)
        )

    def eligible(self, outward: bool, tensor: int, begin: int, end: int, step: int) -> int:
        """Return when the other direction's accesses to bytes [begin, end) are over."""
        past = self._past[not outward][tensor]
        return max(
            (over for low, high, over, at in past if at < step and low < end and begin < high),
            default=0,
        )

    def note(self, outward: bool, tensor: int, access: Past, now: int) -> None:
        """Remember ``access``; forget commands that ended by ``now``.

        ``now`` is when the other channel is free: commands started later need not wait for them.
        """
        past = self._past[outward]
        past[tensor] = [*(each for each in past[tensor] if each[2] > now), access]
