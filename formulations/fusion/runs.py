"""Runs of operations inside of groups: few programs that raise the values of many groups.

A lower bound on the steps of a run, of all fusion tiles, is the value of a program without the
steps before and after them in each fusion tile. That holds in any fused group of as many fusion
tiles that has the run, so that a fused group costs at least the sum over disjoint runs in it, and
over each other operation: the best such sum is found for all fused groups at once. Of ResNet-50 on
small-npu with 1 MB fused groups of dozens of operations cost 0.85 to 0.93 of their own program by
the costs of single operations, and 0.95 to 0.99 by runs of 8 and 16, at 2 ms each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from formulations.fusion.fused_group import FusedGroupProgram, FusedGroupValue, of_alike
from formulations.fusion.lengths import Lengths
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import block_length
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.scheduler import Work

_LENGTHS = (2, 4, 8, 16, 32)
"""Operations of a run; it begins at a multiple of half of them."""


class Runs:
    """Lower bounds on runs.

    Attributes
    ----------
    work
        Work counted of programs.
    solved
        Values of runs, and dual values that prove them.
    block
        Operations of runs in fused groups that are too long to have a place.
    """

    def __init__(self, listed: Listed, work: Work) -> None:
        self.work = work
        self.listed = listed
        self.lengths = Lengths(listed.count, len(listed.ways), listed.longest_tiled)
        self.block = block_length(self.lengths.longest)
        self.solved: dict[FusedGroup, FusedGroupValue] = {}
        self._known: dict[object, FusedGroupValue] = {}

    def inside(
        self, fused_groups: Iterable[FusedGroup], *, whole: bool = False
    ) -> list[FusedGroup]:
        """Return the runs in fused groups; that of all of one only if asked, of long ones blocks.

        Stripes have none: where those of an operation begin depends on where the fused group
        does.
        """
        found = dict[FusedGroup, None]()
        for each in fused_groups:
            # Long groups take the same blocks whatever their ends: their values are differences of
            # two sums.
            if self.lengths.has(each):
                found.update(dict.fromkeys(_inside(each, whole=whole)))
            else:
                found.update(dict.fromkeys(_apart(each, self.block, self.block)))
        return list(found)

    def solve(self, runs: Iterable[FusedGroup], stop: Callable[[], bool] = bool) -> None:
        """Solve the programs of runs that are not yet, until ``stop``."""
        for run in runs:
            if run not in self.solved and not stop():
                self.solved[run] = found = self._solve(run)
                self.work.seconds += found.work_s

    def _solve(self, run: FusedGroup) -> FusedGroupValue:
        listed = self.listed.of(run)
        alike = listed.alike(run)
        known = self._known.get(alike)
        if known is None:
            program = FusedGroupProgram(listed, run, listed.capacity, inner=True)
            found = program.solve()
            self._known[alike] = found
            return found
        return of_alike(known)

    def tile(
        self,
        way: Way,
        alone: Floats,
        solved: Mapping[FusedGroup, FusedGroupValue] | None = None,
    ) -> Floats:
        """Return (n + 1, width) the most that runs prove of fused groups, by their end and begin.

        Parameters
        ----------
        alone : (n,) Lower bound on each operation, of which some are in no run.
        solved
            Some runs; all by default.
        """
        ending: dict[int, list[tuple[int, float]]] = {}
        for run, value in self._finite(way, solved):
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
                # Steps belong to one run each, so that values of disjoint runs add up.
                np.maximum(some, before + value, out=some)
                here[begin - start] = max(here[begin - start], value)
        return best

    def blocks(
        self, way: Way, solved: Mapping[FusedGroup, FusedGroupValue] | None = None
    ) -> dict[int, float]:
        """Return the bounds of blocks of long fused groups, by their number."""
        return {
            run.begin // self.block: value
            for run, value in self._finite(way, solved)
            if run.end - run.begin == self.block and run.begin % self.block == 0
        }

    def _finite(
        self, way: Way, solved: Mapping[FusedGroup, FusedGroupValue] | None
    ) -> Iterator[tuple[FusedGroup, float]]:
        for run, found in (self.solved if solved is None else solved).items():
            if (run.axis, run.count) == way and np.isfinite(found.value):
                yield run, found.value


def _inside(fused_group: FusedGroup, *, whole: bool) -> Iterator[FusedGroup]:
    for length in _LENGTHS:
        if length < fused_group.end - fused_group.begin + whole:
            yield from _apart(fused_group, length, length // 2)


def _apart(fused_group: FusedGroup, length: int, apart: int) -> Iterator[FusedGroup]:
    """Yield the runs of a length in a fused group, so far apart."""
    first = -(-fused_group.begin // apart) * apart
    for begin in (
        range(first, fused_group.end - length + 1, apart) if fused_group.stripes == 1 else ()
    ):
        yield replace(fused_group, begin=begin, end=begin + length)
