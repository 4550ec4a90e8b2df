"""Contents of SPM pages and DRAM bytes: versions, moved as the commands move them."""

from __future__ import annotations

from collections.abc import Iterable

from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.extents import Extent
from spmopt.verifier.runs import Runs

NOTHING = 0
Contents = tuple[int, int, int]
"""Pages [first, last) of a tensor, and the version that they are of."""


class MemoryContents:
    """Contents of SPM and DRAM.

    Every write of a tensor makes a new version, a number of its own. A page is tagged with
    version and offset: one number, the same for all pages of an extent, because it holds the
    distance between page of the tensor and page of the SPM. DRAM is, for each tensor, a list
    of (begin, end, version) byte ranges. Nothing is checked on the way: loads and stores copy
    contents, right or wrong; only used contents are compared.
    """

    def __init__(self, view: ScheduleArrays) -> None:
        sizes = view.timeline.size_bytes
        self._page = view.page_bytes
        self._size: list[int] = sizes.tolist()
        self._pages: list[int] = view.pages(sizes).tolist()
        self._offset = view.problem.machine.spm_pages
        # The distance between two page numbers lies within +-pages, so that version * span +
        # distance is unique.
        self._span = self._offset + max(self._pages, default=0) + 1
        self._tags = Runs(self._offset)
        self._versions = len(self._size)
        self._current = [
            t + 1 if there else NOTHING for t, there in enumerate(view.timeline.in_dram)
        ]
        self._dram = [
            [(0, size, version)] for size, version in zip(self._size, self._current, strict=True)
        ]

    def new_version(self, tensor: int) -> None:
        """Let ``tensor`` mean, from now on, the result being written."""
        self._versions += 1
        self._current[tensor] = self._versions

    def write(self, tensor: int, extents: Iterable[Extent]) -> None:
        """Leave the operation's current version in these pages."""
        for begin, end, shift in extents:
            self._tags.set(begin, end, self._tag(self._current[tensor], shift))

    def scribble(self, extents: Iterable[Extent]) -> None:
        """Let the pages hold nothing that is of use: scratch."""
        for begin, end, _ in extents:
            self._tags.set(begin, end, NOTHING)

    def load(self, tensor: int, begin: int, end: int, extents: Iterable[Extent]) -> None:
        """Copy DRAM bytes to the pages ``extents``; a page not filled holds nothing."""
        filled = [
            (-(-max(left, begin) // self._page), self._full_pages(tensor, min(right, end)), version)
            for left, right, version in self._dram[tensor]
            if left < end and begin < right
        ]
        self.lay(filled, extents)

    def lift(self, extents: Iterable[Extent]) -> list[Contents]:
        """Contents of these pages that are in their place: pages [first, last) of some version."""
        held = []
        for low, high, shift in extents:
            for first, last, tag in self._tags.over(low, high):
                version, distance = divmod(tag, self._span)
                if version != NOTHING and distance == shift + self._offset:
                    held.append((first + shift, last + shift, version))
        return held

    def lay(self, held: Iterable[Contents], extents: Iterable[Extent]) -> None:
        """Put contents of a tensor into these pages; a page that gets none holds nothing."""
        for low, high, shift in extents:
            self._tags.set(low, high, NOTHING)
            for first, last, version in held:
                left, right = max(first - shift, low), min(last - shift, high)
                if left < right:
                    self._tags.set(left, right, self._tag(version, shift))

    def store(self, tensor: int, begin: int, end: int, extents: Iterable[Extent]) -> None:
        """Copy pages to DRAM bytes; bytes without a page get nothing."""
        self._write_dram(tensor, begin, end, NOTHING)
        for low, high, shift in extents:
            for first, last, tag in self._tags.over(low, high):
                version, distance = divmod(tag, self._span)
                left = max(begin, (first + shift) * self._page)
                right = min(end, (last + shift) * self._page)
                in_place = distance == shift + self._offset
                self._write_dram(tensor, left, right, version if in_place else NOTHING)

    def stream_out(self, tensor: int, begin: int, end: int) -> None:
        """Put the current version into DRAM bytes [begin, end)."""
        self._write_dram(tensor, begin, end, self._current[tensor])

    def valid_in_dram(self, tensor: int, begin: int, end: int) -> bool:
        """Whether DRAM bytes [begin, end) hold the current version."""
        current = self._current[tensor]
        if current == NOTHING:
            return False
        for first, last, version in self._dram[tensor]:
            if version != current and first < end and begin < last:
                return False
        return True

    def valid_in_spm(self, tensor: int, end: int, extents: Iterable[Extent]) -> bool:
        """Whether the pages hold the current version, and hold it at least up to byte ``end``."""
        current = self._current[tensor]
        if current == NOTHING:
            return False
        # A wrong version, or a page out of place, has another tag.
        pages = self._tags.follow(self._tag(current, 0), extents)
        return pages >= -(-end // self._page)

    def _write_dram(self, tensor: int, begin: int, end: int, version: int) -> None:
        """Put a version into DRAM bytes [begin, end)."""
        ranges = self._dram[tensor]
        if len(ranges) == 1 and begin <= ranges[0][0] and ranges[0][1] <= end:
            self._dram[tensor] = [(begin, end, version)]  # nothing is left below or above
            return
        # Ranges stay disjoint, sorted and merged: their number follows the commands, not the bytes.
        below = [(b, min(e, begin), v) for b, e, v in ranges if b < begin]
        above = [(max(b, end), e, v) for b, e, v in ranges if e > end]
        if below and below[-1][2] == version:
            begin = below.pop()[0]
        if above and above[0][2] == version:
            end = above.pop(0)[1]
        self._dram[tensor] = [*below, (begin, end, version), *above]

    def _tag(self, version: int, shift: int) -> int:
        """Return version and offset as one number; none is ``NOTHING``, and its version may be."""
        return version * self._span + shift + self._offset

    def _full_pages(self, tensor: int, end: int) -> int:
        """Return pages whose last byte is below ``end``; the last page of a tensor may be short."""
        return self._pages[tensor] if end == self._size[tensor] else end // self._page
