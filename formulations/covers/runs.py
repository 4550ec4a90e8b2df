"""Runs of operations inside of segments: few programs that raise the values of many segments.

The steps of a run, of all pieces, cost at least what a program says that knows nothing of what
comes before and after them in each piece. That holds in any segment of as many pieces that has the
run, so that a segment costs at least the sum over disjoint runs in it, and what is known of each
other operation: the best such sum is found for all segments at once. Of ResNet-50 on small-npu with
1 MB segments of dozens of operations cost 0.85 to 0.93 of their own program by what each operation
costs alone, and 0.95 to 0.99 by runs of 8 and 16, at 2 ms each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from formulations.covers.listed import Listed
from formulations.covers.segment import SegmentProgram, SegmentValue, renamed
from formulations.solver.program import Floats
from spmopt.core.pieces.segments import Segment

_LENGTHS = (2, 4, 8, 16, 32)
"""Operations of a run; it begins at a multiple of half of them."""


class Runs:
    """What runs cost at least.

    Attributes
    ----------
    solved
        Values of runs, and prices that prove them.
    """

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        self.solved: dict[Segment, SegmentValue] = {}
        self._known: dict[object, tuple[SegmentValue, list[int]]] = {}

    def inside(self, segments: Iterable[Segment], *, whole: bool = False) -> list[Segment]:
        """Return the runs in segments; that of all of one only if asked.

        Bands of rows have none: where those of an operation begin depends on where the segment
        does.
        """
        found = (run for each in segments for run in _inside(each, whole=whole))
        return list(dict.fromkeys(found))

    def solve(self, runs: Iterable[Segment], stop: Callable[[], bool] = bool) -> None:
        """Solve the programs of runs that are not yet, until ``stop``."""
        for run in runs:
            if run not in self.solved and not stop():
                self.solved[run] = self._solve(run)

    def _solve(self, run: Segment) -> SegmentValue:
        alike, tensors = self.listed.alike(run)
        known = self._known.get(alike)
        if known is None:
            program = SegmentProgram(self.listed, run, self.listed.capacity, inner=True)
            found = program.solve()
            self._known[alike] = found, tensors
            return found
        found, others = known
        return renamed(found, dict(zip(others, tensors, strict=True)))

    def tiled(
        self, pieces: int, alone: Floats, solved: Mapping[Segment, SegmentValue] | None = None
    ) -> Floats:
        """Return (n + 1, n + 1) the most that runs prove of segments, by their end and begin.

        Parameters
        ----------
        alone : (n,)
            What each operation costs at least, of which some are in no run.
        solved
            Some runs; all by default.
        """
        count = alone.size
        ending: dict[int, list[tuple[int, float]]] = {}
        # Another thread may add some meanwhile.
        for run, found in list((self.solved if solved is None else solved).items()):
            if run.pieces == pieces and np.isfinite(found.value):
                ending.setdefault(run.end, []).append((run.begin, found.value))
        best = np.zeros((count + 1, count + 1))
        for end in range(1, count + 1):
            best[end, :end] = best[end - 1, :end] + alone[end - 1]
            for begin, value in ending.get(end, ()):
                here = best[end, : begin + 1]
                np.maximum(here, best[begin, : begin + 1] + value, out=here)
        return best


def _inside(segment: Segment, *, whole: bool) -> Iterator[Segment]:
    for length in _LENGTHS if segment.bands == 1 else ():
        if length < segment.end - segment.begin + whole:
            apart = length // 2
            first = -(-segment.begin // apart) * apart
            for begin in range(first, segment.end - length + 1, apart):
                yield Segment(begin=begin, end=begin + length, pieces=segment.pieces)
