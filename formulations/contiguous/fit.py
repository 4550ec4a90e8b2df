"""Bases for stays as they are, none of them cut: the search of :mod:`formulations.placement`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from formulations.contiguous.stays import Stay
from formulations.placement.place import place
from spmopt.core.placement import Buffer, Gap
from spmopt.core.table import Ints

_MOST = 400  # stays; of more it is seldom that all fit
_LIMIT_S = 2.0


def fit(
    stays: list[Stay], pages: int, scratch_pages: Ints, stop: Callable[[], bool], limit_s: float
) -> bool:
    """Give each stay a base, the scratch at the top; false if no bases were found soon."""
    if len(stays) > _MOST:
        return False
    busy = np.flatnonzero(scratch_pages).tolist()
    buffers = [
        *(_buffer(number, stay) for number, stay in enumerate(stays)),
        *(_scratch(step, int(scratch_pages[step]), pages) for step in busy),
    ]
    found = place(buffers, pages, min(_LIMIT_S, limit_s), stop).placement
    if found is None:
        return False
    for stay, base in zip(stays, found.offsets_bytes, strict=False):
        stay.base = base
    return True


def _buffer(number: int, stay: Stay) -> Buffer:
    """Its peak all the time, but for windows in which it is less."""
    return Buffer(
        name=str(number),
        lower=stay.begin,
        upper=stay.end,
        size_bytes=stay.peak,
        gaps=tuple(_gaps(stay)),
    )


def _gaps(stay: Stay) -> Iterator[Gap]:
    first = np.flatnonzero(np.diff(stay.heights, prepend=-1))
    last = np.append(first[1:], stay.heights.size)
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        height = int(stay.heights[begin])
        if height < stay.peak:
            yield Gap(
                lower=stay.begin + begin,
                upper=stay.begin + end,
                window_bytes=(0, height) if height else None,
            )


def _scratch(step: int, pages: int, top: int) -> Buffer:
    return Buffer(
        name=f"scratch of step {step}",
        lower=step,
        upper=step + 1,
        size_bytes=pages,
        fixed_bytes=top - pages,
    )
