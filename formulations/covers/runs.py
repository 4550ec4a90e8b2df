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

from formulations.covers.lengths import Lengths
from formulations.covers.listed import Listed
from formulations.covers.segment import SegmentProgram, SegmentValue, renamed
from formulations.solver.program import Floats
from spmopt.core.pieces.certificate import block_length
from spmopt.core.pieces.segments import Segment
from spmopt.core.scheduler import Work

_LENGTHS = (2, 4, 8, 16, 32)
"""Operations of a run; it begins at a multiple of half of them."""


class Runs:
    """What runs cost at least.

    Attributes
    ----------
    work
        What was counted of programs.
    solved
        Values of runs, and prices that prove them.
    block
        Operations of runs in segments that are too long to have a place.
    """

    def __init__(self, listed: Listed, work: Work) -> None:
        self.work = work
        self.listed, self.lengths = listed, Lengths(listed.count, len(listed.pieces))
        self.block = block_length(self.lengths.longest)
        self.solved: dict[Segment, SegmentValue] = {}
        self._known: dict[object, tuple[SegmentValue, list[int]]] = {}

    def inside(self, segments: Iterable[Segment], *, whole: bool = False) -> list[Segment]:
        """Return the runs in segments; that of all of one only if asked, of long ones blocks.

        Bands of rows have none: where those of an operation begin depends on where the segment
        does.
        """
        found = dict[Segment, None]()
        for each in segments:
            if self.lengths.has(each):
                found.update(dict.fromkeys(_inside(each, whole=whole)))
            else:
                found.update(dict.fromkeys(_apart(each, self.block, self.block)))
        return list(found)

    def solve(self, runs: Iterable[Segment], stop: Callable[[], bool] = bool) -> None:
        """Solve the programs of runs that are not yet, until ``stop``."""
        for run in runs:
            if run not in self.solved and not stop():
                self.solved[run] = found = self._solve(run)
                self.work.seconds += found.work_s

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
        """Return (n + 1, width) the most that runs prove of segments, by their end and begin.

        Parameters
        ----------
        alone : (n,)
            What each operation costs at least, of which some are in no run.
        solved
            Some runs; all by default.
        """
        ending: dict[int, list[tuple[int, float]]] = {}
        for run, value in self._finite(pieces, solved):
            if self.lengths.has(run):
                ending.setdefault(run.end, []).append((run.begin, value))
        first = self.lengths.first.tolist()
        best = np.zeros((alone.size + 1, self.lengths.width))
        for end in range(1, alone.size + 1):
            here, start = best[end, : end - first[end]], first[end]
            here[:-1] = best[end - 1, start - first[end - 1] : end - 1 - first[end - 1]]
            here += alone[end - 1]
            for begin, value in ending.get(end, ()):
                before = best[begin, start - first[begin] : begin - first[begin]]
                some = here[: begin - start]
                np.maximum(some, before + value, out=some)
                here[begin - start] = max(here[begin - start], value)
        return best

    def blocks(
        self, pieces: int, solved: Mapping[Segment, SegmentValue] | None = None
    ) -> dict[int, float]:
        """Return what blocks of long segments prove, by their number."""
        return {
            run.begin // self.block: value
            for run, value in self._finite(pieces, solved)
            if run.end - run.begin == self.block and run.begin % self.block == 0
        }

    def _finite(
        self, pieces: int, solved: Mapping[Segment, SegmentValue] | None
    ) -> Iterator[tuple[Segment, float]]:
        for run, found in (self.solved if solved is None else solved).items():
            if run.pieces == pieces and np.isfinite(found.value):
                yield run, found.value


def _inside(segment: Segment, *, whole: bool) -> Iterator[Segment]:
    for length in _LENGTHS:
        if length < segment.end - segment.begin + whole:
            yield from _apart(segment, length, length // 2)


def _apart(segment: Segment, length: int, apart: int) -> Iterator[Segment]:
    """Yield the runs of a length in a segment, so far apart."""
    first = -(-segment.begin // apart) * apart
    for begin in range(first, segment.end - length + 1, apart) if segment.bands == 1 else ():
        yield Segment(begin=begin, end=begin + length, pieces=segment.pieces)
