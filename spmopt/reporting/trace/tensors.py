"""When each tensor is on chip, a track each: where, why it came and went, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spmopt.analysis.steps import sums
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.core.timeline import Access
from spmopt.reporting.occupancy import KINDS, kind_numbers
from spmopt.reporting.quantities import si
from spmopt.reporting.schedule_view.residencies import Came, Left, Residencies, next_use
from spmopt.reporting.trace.events import TENSORS, Event, Group
from spmopt.reporting.trace.reasons import KEPT, reasons

MOST = 1_000
"""Tensors that have a track: viewers become slow of many more."""
_RANGES = 4
"""Ranges of addresses that a slice names."""
_VERBS = {Access.READ: "read by", Access.WRITE: "written by", Access.UPDATE: "updated by"}
_Range = tuple[int, ...]
"""Begin and end, in steps; page, number of pages, and which page of the tensor is the first."""
_Slice = tuple[str, tuple[int, int], Event, bool]
"""Name, steps, what is said of it, and whether it is a use."""


def tensor_events(group: Group) -> Iterator[Event]:
    """Yield the process of tensors, those that come on chip first above."""
    made = _Tensors(group)
    if made.chosen:
        yield from made.metadata()
        yield from made.slices()


class _Tensors:
    """Makes the events of the tensors of one schedule."""

    def __init__(self, group: Group) -> None:
        self._group, self._view = group, group.picture.view
        self._process = group.process(TENSORS)
        self._table = table = self._view.schedule.residency
        edges = np.append(group.picture.times.start, group.picture.times.cycles)
        lasts = (edges[table.end] - edges[table.begin]).astype(float)
        held = sums(lasts * table.size_bytes, table.tensor, len(group.picture.problem.tensors))
        self._known = np.unique(table.tensor)
        most = self._known[np.argsort(-held[self._known], kind="stable")][:MOST]
        first = table.begin[np.searchsorted(table.tensor, most)]
        self.chosen: list[int] = most[np.lexsort((most, first))].tolist()

    def metadata(self) -> Iterator[Event]:
        left = self._known.size - len(self.chosen)
        count = f"{len(self.chosen)} of {self._known.size} tensors" if left else "tensors"
        title = f"{self._group.title}: {count}, by when they are on chip"
        yield from self._process.with_name(title, self._process.pid)
        for place, tensor in enumerate(self.chosen):
            yield from self._process.thread(place + 1, self._view.name(tensor), place)

    def slices(self) -> Iterator[Event]:
        """Yield residencies, and within them uses, each track in the order of time."""
        residencies, uses = self._residencies(), self._uses()
        for place, tensor in enumerate(self.chosen):
            slices = [*residencies.get(tensor, ()), *uses.get(tensor, ())]
            slices.sort(key=lambda each: (each[1][0], -each[1][1], each[3]))
            for name, steps, args, is_use in slices:
                span = self._group.edges[steps[0]], self._group.edges[steps[1]]
                kind = "use" if is_use else "residency"
                yield self._process.slice(place + 1, kind, name, span, args)

    def _residencies(self) -> dict[int, list[_Slice]]:
        table, page = self._table, self._view.page_bytes
        loaded, stored = self._move(Command.LOAD), self._move(Command.STORE)
        why = reasons(self._group, table.tensor, table.begin, table.end, self._ends(loaded))
        ranges = _Ranges(self._group.picture.residencies)
        kinds = kind_numbers(self._group.picture.problem).tolist()
        found: dict[int, list[_Slice]] = {}
        columns = zip(table.rows(), loaded.tolist(), stored.tolist(), why, strict=True)
        for (tensor, begin, end, size), read, written, said in columns:
            where = ranges.meeting(tensor, begin, end)
            args: Event = {
                "kind": KINDS[kinds[tensor]],
                "bytes": size,
                "addresses": _addresses(where, page),
                "loaded bytes": read,
                "stored bytes": written,
                "steps": f"{begin} to {end - 1}",
                **said,
            }
            whole = size == self._view.timeline.size_bytes[tensor]
            name = f"{si(size, 'B')}{'' if whole else ' of it'}"
            found.setdefault(tensor, []).append((name, (begin, end), args, False))
        return found

    def _uses(self) -> dict[int, list[_Slice]]:
        line, found = self._view.timeline, dict[int, list[_Slice]]()
        of_tensors = np.isin(line.tensor, self.chosen)
        columns = (line.tensor, line.step, line.kind, self._view.resident_bytes)
        rows = zip(*(each[of_tensors].tolist() for each in columns), strict=True)
        for tensor, step, kind, size in rows:
            name = f"{_VERBS[Access(kind)]} {self._group.operations[step]}"
            args: Event = {"step": step, "bytes on chip": size}
            found.setdefault(tensor, []).append((name, (step, step + 1), args, True))
        return found

    def _move(self, kind: Command) -> Ints:
        """Return (r,) bytes of commands of a kind while a row holds."""
        table, commands, stride = self._table, self._view.schedule.commands, len(self._group.edges)
        chosen = commands.take(commands.kind == kind)
        key = chosen.tensor * stride + chosen.step
        order = np.argsort(key, kind="stable")
        upto = np.concatenate(([0], np.cumsum((chosen.end - chosen.begin)[order])))
        first, last = (
            np.searchsorted(key[order], table.tensor * stride + step)
            for step in (table.begin, table.end)
        )
        found: Ints = upto[last] - upto[first]
        return found

    def _ends(self, loaded: Ints) -> tuple[Ints, Ints]:
        """Return (r,) how each row comes and goes."""
        table, view = self._table, self._view
        follows = (table.tensor[1:] == table.tensor[:-1]) & (table.begin[1:] == table.end[:-1])
        before = np.append(False, follows)[: len(table)]
        came = np.select([loaded > 0, before], [Came.LOADED, KEPT], Came.WRITTEN)
        needed = view.live(table.tensor, table.end)
        again = next_use(view, table.tensor, table.end - 1) >= 0
        is_last = table.end == view.timeline.steps
        goes = [is_last, np.append(follows, False)[: len(table)], needed & again, needed]
        return came, np.select(goes, [Left.END, KEPT, Left.EVICTED, Left.OUT], Left.DEAD)


class _Ranges:
    """Ranges of addresses of tensors, to be asked for row after row of residency."""

    def __init__(self, rows: Residencies) -> None:
        columns = (rows.tensor, rows.begin, rows.end, rows.page, rows.pages, rows.tensor_page)
        self._of: dict[int, list[_Range]] = {}
        for tensor, *row in zip(*(each.tolist() for each in columns), strict=True):
            self._of.setdefault(tensor, []).append(tuple(row))
        self._next: dict[int, int] = {}
        self._open: dict[int, list[_Range]] = {}

    def meeting(self, tensor: int, begin: int, end: int) -> list[_Range]:
        """Return those of some time in steps [begin, end), which must not be before the last."""
        known, at = self._of.get(tensor, []), self._next.get(tensor, 0)
        held = [each for each in self._open.get(tensor, ()) if each[1] > begin]
        while at < len(known) and known[at][0] < end:
            held += [known[at]] if known[at][1] > begin else []
            at += 1
        self._next[tensor], self._open[tensor] = at, held
        return held


def _addresses(ranges: Sequence[_Range], page_bytes: int) -> str:
    """Return where parts of a tensor lie, in their order in it, in bytes."""
    parts = sorted({(offset, page, pages) for _, _, page, pages, offset in ranges})
    shown = [
        f"{at * page_bytes} to {(at + pages) * page_bytes}" for _, at, pages in parts[:_RANGES]
    ]
    more = len(parts) - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"
