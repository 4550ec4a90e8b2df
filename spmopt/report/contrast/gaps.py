"""What one schedule keeps on chip between two uses, and the other does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.table import Ints, Table
from spmopt.report.picture import Picture


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps(Table):
    """Gaps that both schedules have and keep otherwise, the largest difference first.

    A gap of ``tensor`` lies between two uses of the same contents by two operations that follow
    each other; ``from_step`` and ``to_step`` are their steps in the first schedule. ``kept_a``
    and ``kept_b`` bytes stay on chip all through it. ``bytes_saved`` is ``kept_b - kept_a``:
    what the second schedule need not bring in again but the first must; negative the other
    way round.
    """

    tensor: Ints
    from_step: Ints
    to_step: Ints
    kept_a: Ints
    kept_b: Ints
    bytes_saved: Ints


def gaps(first: Picture, second: Picture) -> Gaps:
    """Match gaps by tensor and operations: the orders of the schedules may differ."""
    (key_a, row_a), (key_b, row_b) = _keys(first), _keys(second)
    _, place_a, place_b = np.intersect1d(key_a, key_b, assume_unique=True, return_indices=True)
    row_a, row_b = row_a[place_a], row_b[place_b]
    kept_a = first.analysis.reuse.captured_bytes[row_a]
    kept_b = second.analysis.reuse.captured_bytes[row_b]
    saved = kept_b - kept_a
    chosen = np.flatnonzero(saved)
    chosen = chosen[np.lexsort((row_a[chosen], -abs(saved[chosen])))]
    line, row = first.view.timeline, row_a[chosen]
    return Gaps(
        tensor=line.tensor[row],
        from_step=line.step[row],
        to_step=line.step[line.next[row]],
        kept_a=kept_a[chosen],
        kept_b=kept_b[chosen],
        bytes_saved=saved[chosen],
    )


def _keys(picture: Picture) -> tuple[Ints, Ints]:
    """A number for (tensor, operation, next operation) of every gap, and the gap's access."""
    line = picture.view.timeline
    row = np.flatnonzero(picture.analysis.reuse.scope >= 0)
    operation = line.operation[line.step[row]]
    following = line.operation[line.step[line.next[row]]]
    return (line.tensor[row] * line.steps + operation) * line.steps + following, row
