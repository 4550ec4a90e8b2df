"""Buffers with given lifetimes, and where they go in one memory.

The rules are those of MiniMalloc (Moffitt, ASPLOS 2023; github.com/google/minimalloc): whoever
writes or checks its files finds the same problem here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.core.errors import Conflict, InputError, ScheduleError
from spmopt.core.result import Status
from spmopt.core.units import LARGEST, require_small


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Times in ``[lower, upper)`` at which a buffer needs less than all its bytes.

    ``window_bytes`` are the first byte that it needs then and the one past the last, counted from
    its offset; None: it needs none of them.
    """

    lower: int
    upper: int
    window_bytes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Bytes that live in ``[lower, upper)``.

    Attributes
    ----------
    alignment_bytes
        The offset is to be a multiple of this.
    gaps
        In order of time, apart from each other, within the lifetime.
    hint_bytes
        An offset worth a try. Hints are used where all buffers have one and together they are a
        placement.
    fixed_bytes
        The offset that it must have, if any.
    """

    name: str
    lower: int
    upper: int
    size_bytes: int
    alignment_bytes: int = 1
    gaps: tuple[Gap, ...] = ()
    hint_bytes: int | None = None
    fixed_bytes: int | None = None

    def __post_init__(self) -> None:
        where = f"buffer {self.name}"
        if self.upper < self.lower:
            raise InputError(f"{where}: ends at {self.upper}, before it begins at {self.lower}")
        if self.size_bytes < 0:
            raise InputError(f"{where}: size is {self.size_bytes}; it cannot be negative")
        if self.alignment_bytes < 1:
            raise InputError(f"{where}: alignment is {self.alignment_bytes}; use 1 for none")
        if self.fixed_bytes is not None and self.fixed_bytes < 0:
            raise InputError(
                f"{where}: offset is {self.fixed_bytes}; it cannot be negative; "
                "leave it empty for none"
            )
        for value in (-self.lower, self.upper, self.size_bytes, self.alignment_bytes):
            require_small(where, "a figure", value)
        self._check_gaps(where)

    def _check_gaps(self, where: str) -> None:
        last = self.lower
        for gap in self.gaps:
            if not last <= gap.lower <= gap.upper <= self.upper:
                raise InputError(
                    f"{where}: gap {gap.lower}-{gap.upper} is not within {last}-{self.upper}; "
                    "gaps lie in the lifetime, in order, apart from each other"
                )
            last = gap.upper
            low, high = gap.window_bytes or (0, 0)
            if not 0 <= low <= high <= self.size_bytes:
                raise InputError(
                    f"{where}: window {low}:{high} of a gap is not within its "
                    f"{self.size_bytes} bytes"
                )

    @property
    def pieces(self) -> tuple[tuple[int, int, int, int], ...]:
        """Its size over time: times ``[lower, upper)``, bytes ``[low, high)`` from its offset."""
        found, last = [], self.lower
        for gap in self.gaps:
            found.append((last, gap.lower, 0, self.size_bytes))
            if gap.window_bytes is not None:
                found.append((gap.lower, gap.upper, *gap.window_bytes))
            last = gap.upper
        found.append((last, self.upper, 0, self.size_bytes))
        return tuple(piece for piece in found if piece[0] < piece[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """An offset for each buffer, and the height: the end of the topmost.

    As in MiniMalloc's ``src/validator.cc``, a buffer that lives at no time counts for it too.
    """

    offsets_bytes: tuple[int, ...]
    height_bytes: int

    @classmethod
    def of(cls, buffers: Sequence[Buffer], offsets_bytes: Sequence[int]) -> Placement:
        """Work out the height."""
        ends = (o + b.size_bytes for b, o in zip(buffers, offsets_bytes, strict=True))
        return cls(offsets_bytes=tuple(offsets_bytes), height_bytes=max(ends, default=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Result of a search for offsets.

    ``bound_bytes`` is proved: no placement is lower. ``status`` is about the height when that was
    to be least, else about the capacity: ``unknown`` when time ran out with no placement in it,
    ``infeasible`` only with a proof, which ``conflict`` sums up. ``method`` found the placement.
    """

    status: Status
    placement: Placement | None
    bound_bytes: int
    method: str = ""
    conflict: Conflict | None = None

    @property
    def gap(self) -> float | None:
        """``height / bound - 1``; None without a placement."""
        if self.placement is None:
            return None
        height = self.placement.height_bytes
        return height / self.bound_bytes - 1 if self.bound_bytes else 0.0


def require_addressable(buffers: Sequence[Buffer]) -> None:
    """Raise :class:`InputError` when buffers stacked at the worst may end beyond 2**60 bytes.

    Offsets are 64-bit integers in every search. A stack of all buffers, each padded up to its
    alignment, on top of the highest fixed buffer is an upper bound on any useful height.
    """
    # Alignment moves an offset by at most its size less one byte.
    padded = sum(b.size_bytes + b.alignment_bytes - 1 for b in buffers)
    fixed = max(
        (b.fixed_bytes + b.size_bytes for b in buffers if b.fixed_bytes is not None), default=0
    )
    if padded + fixed > LARGEST:
        raise InputError(
            f"buffers take up to {padded + fixed} bytes together, alignment included, "
            "but at most 2**60 can be placed; make sizes, alignments or fixed offsets smaller"
        )


def separation(below: Buffer, above: Buffer) -> int | None:
    """Bytes from the offset of ``below`` to the least offset of ``above`` on top of it.

    None: they never live at the same time. Less than a size where windows leave room.
    """
    if below.upper <= above.lower or above.upper <= below.lower:
        return None
    return max(
        (
            high - low
            # The tightest pair of pieces that live at the same time decides.
            for start, end, _, high in below.pieces
            for other_start, other_end, low, _ in above.pieces
            if start < other_end and other_start < end
        ),
        default=None,
    )


def require_placement(
    buffers: Sequence[Buffer], placement: Placement, capacity_bytes: int | None = None
) -> None:
    """Check ``placement`` by the rules, every buffer against every other.

    Of two buffers that live at the same time, one is on top of the other, all the time: a buffer
    may reach into a window of another, not through it.

    Raises
    ------
    ScheduleError
        The first rule that is broken, and by which buffers.
    """
    offsets = placement.offsets_bytes
    if len(offsets) != len(buffers):
        raise ScheduleError(f"placement has {len(offsets)} offsets for {len(buffers)} buffers")
    for buffer, offset in zip(buffers, offsets, strict=True):
        _require_offset(buffer, offset, capacity_bytes)
    height = Placement.of(buffers, offsets).height_bytes
    if placement.height_bytes != height:
        raise ScheduleError(f"height is {height}, not {placement.height_bytes} as claimed")
    pair = overlap(buffers, offsets)
    if pair is not None:
        one, other = (buffers[k].name for k in pair)
        raise ScheduleError(
            f"buffers {one} and {other} live at the same time and overlap, "
            f"at offsets {offsets[pair[0]]} and {offsets[pair[1]]}"
        )


def _require_offset(buffer: Buffer, offset: int, capacity_bytes: int | None) -> None:
    where, end = f"buffer {buffer.name}: offset {offset}", offset + buffer.size_bytes
    if buffer.fixed_bytes is not None and offset != buffer.fixed_bytes:
        raise ScheduleError(f"{where} is not the {buffer.fixed_bytes} it is fixed at")
    if offset < 0 or end > LARGEST:
        raise ScheduleError(f"{where} is out of range")
    if capacity_bytes is not None and end > capacity_bytes:
        raise ScheduleError(f"{where}: ends at {end}, past the capacity of {capacity_bytes}")
    if offset % buffer.alignment_bytes:
        raise ScheduleError(f"{where} is no multiple of its alignment {buffer.alignment_bytes}")


def overlap(buffers: Sequence[Buffer], offsets: Sequence[int]) -> tuple[int, int] | None:
    """Find the first two buffers of which neither is on top of the other; None: there are none."""
    lower = np.array([b.lower for b in buffers], dtype=np.int64)
    upper = np.array([b.upper for b in buffers], dtype=np.int64)
    start = np.array(offsets, dtype=np.int64)
    end = start + np.array([b.size_bytes for b in buffers], dtype=np.int64)
    for one, buffer in enumerate(buffers):
        rest = slice(one + 1, None)
        # Windows only bring buffers closer: those apart at their full sizes are apart.
        close = (lower[rest] < buffer.upper) & (upper[rest] > buffer.lower)
        close &= (start[rest] < end[one]) & (end[rest] > start[one])
        for other in (np.flatnonzero(close) + one + 1).tolist():
            up, down = separation(buffer, buffers[other]), separation(buffers[other], buffer)
            # Either order will do: one on top of the other all the time.
            if up is None or offsets[one] + up <= offsets[other]:
                continue
            if down is None or offsets[other] + down <= offsets[one]:
                continue
            return one, other
    return None
