"""Bytes that a fused group finds on chip and leaves there, priced, in exact integers.

Tensors are carried across boundaries in groups: one that has a dual value at some boundary by
itself, all that are never written together, and the rest. Each row holds for any legal schedule
(formulations/README.md, "Fusion plans"). Of the bytes of a group

* those that a fusion tile *finds* have been *here* since the fused group began, or an earlier
  fusion tile loaded them *ahead*;
* those that a fusion tile leaves newer than DRAM a later one stores *behind*, or they *remain*:
  these are stored, or carried out as *newer*;
* the others that are carried out at the end were held all *through*, or loaded for *later*.

Where a byte is held in steps of fusion tiles that do not use it, it takes room. Stores of bytes
that remain or that are held through have none of their own: it would be counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.table import Ints
from spmopt.verifier.carried import READ, REST, Carried
from spmopt.verifier.fused_group_uses import FusedGroupUse
from spmopt.verifier.pricing import Pricing, Terms, minus

Place = tuple[int, int]
Moved = list[tuple[Ints, int]]
"""Rows of each step in which moved bytes count, and how often."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Channels:
    """Rows of the steps of a class: its room, and those that transfers in and out count in.

    Attributes
    ----------
    fixed_into, fixed_out
        Where those count beside that are of operands that must be resident: computing waits.
    streamed
        Bytes in and out, step by step, if nothing is resident.
    """

    room: Ints
    into: Moved
    out: Moved
    fixed_into: Moved
    fixed_out: Moved
    streamed: tuple[list[int], list[int]]


class Around:
    """The resident bytes before and after each tile of a run of operations: as much as fits."""

    def __init__(self, tileable: TileableGraph, micro_batches: int) -> None:
        machine = tileable.machine
        self._most = micro_batches * machine.spm_pages * machine.page_bytes
        self._found, self._left = Terms(), Terms()

    def follows(self, tensor: int) -> bool:
        """Return that only bytes newer than DRAM are followed beyond their last use."""
        return False

    def add_found(self, tensor: int, number: int, found: int) -> None:
        """Add the bytes that fusion tiles find of a tensor that is cut."""
        self._found.append((found, 1))

    def leaves(self, tensor: int, number: int, last: int | None, newer: int | None) -> None:
        """Add the bytes that fusion tiles leave of one."""
        if newer is not None:
            self._left.append((newer, 1))

    def find_whole(self, tensor: int, found: int) -> None:
        """Add the bytes that each fusion tile finds of a tensor that is whole to it."""
        self._found.append((found, 1))

    def add(self, pricing: Pricing, channels: list[Channels]) -> None:
        """Add the rows."""
        for name, terms in (
            ("capacity before tiles", self._found),
            ("capacity after tiles", self._left),
        ):
            if terms:
                pricing.row((name,), terms, None, self._most)


class Ends:
    """Rows at the two ends of a fused group; what it finds and leaves is told one by one."""

    def __init__(
        self,
        tileable: TileableGraph,
        fused_group: FusedGroup,
        carried: Carried,
        tensors: list[tuple[int, bool, list[FusedGroupUse]]],
        counts: list[int],
    ) -> None:
        machine = tileable.machine
        capacity = machine.spm_pages * machine.page_bytes
        self.fused_group, self.carried, self.counts = fused_group, carried, counts
        self.micro_batches = fused_group.micro_batches
        self.steps = fused_group.end - fused_group.begin
        # Stripes are uneven: a fusion tile of one may be any share of its tensor.
        self.even = self.micro_batches <= tileable.batch
        self.sizes = [tensor.size_bytes for tensor in tileable.tensors]
        self.held = (
            capacity if fused_group.begin else 0,
            capacity if fused_group.end < len(tileable.operations) else 0,
        )
        crossing = carried.crossing[fused_group.begin], carried.crossing[fused_group.end]
        self.into, self.out = (
            _sum_up((carried.group[t], size) for t, size in each.items()) for each in crossing
        )
        self.groups = sorted({*self.into, *self.out, REST})
        uses = {tensor: each for tensor, _, each in tensors}
        self._tensors = tensors
        self.touched = {self.of(t) for t in uses}
        self.written = {self.of(t) for t, each in uses.items() if any(u.writes for u in each)}
        self.live = {self.of(t) for t, each in uses.items() if each[-1].live}
        # What is never written and not used here passes through.
        self.idle = sum(
            size
            for t, size in crossing[1].items()
            if carried.group[t] == READ and not (t in uses and uses[t][-1].live)
        )
        self._found: dict[Place, Terms] = {}
        self._last: dict[Place, Terms] = {}
        self._newer: dict[Place, Terms] = {}
        self._begins, self._ends = Counter[int](), Counter[int]()
        self._owed: dict[int, int] = {}
        self._whole: dict[str, dict[int, Terms]] = {"found": {}, "rest": {}, "left": {}}

    def of(self, tensor: int) -> int:
        """Return the group of a tensor; it is one of the rest if it crosses neither end."""
        group = self.carried.group[tensor]
        return group if group in self.groups else REST

    def follows(self, tensor: int) -> bool:
        """Return whether a tensor is followed to the fused group's end if it is needed then."""
        return self.carried.group[tensor] != REST

    def add_found(self, tensor: int, number: int, found: int) -> None:
        """Add the bytes that the fusion tiles of a class find of a tensor that is cut."""
        self._begins[self.of(tensor)] += self.sizes[tensor] if number == 0 else 0
        self._found.setdefault((self.of(tensor), number), []).append((found, 1))

    def leaves(self, tensor: int, number: int, last: int | None, newer: int | None) -> None:
        """Add the bytes that tiles of a class leave: in all, as far as it is known, and newer."""
        place = self.of(tensor), number
        self._ends[place[0]] += self.sizes[tensor] if number == 0 else 0
        if last is not None:
            self._last.setdefault(place, []).append((last, 1))
        if newer is not None:
            self._newer.setdefault(place, []).append((newer, 1))

    def add_beside(self, pricing: Pricing, beside: Mapping[int, int]) -> None:
        """Add bytes of tensors that are not followed.

        Those that are read before they are written are found, or loaded; those that are written and
        needed afterwards are left newer than DRAM, or stored. Needed bytes may be held.
        """
        for tensor, whole, uses in self._tensors:
            size, group = beside.get(tensor, 0), self.of(tensor)
            if not size:
                continue
            if whole:
                if uses[-1].live:
                    self.leaves_whole(tensor, pricing.new(size))
                continue
            if uses[0].reads:
                self._begins[group] += size
                self._found.setdefault((group, 0), []).append((pricing.new(size, size), 1))
            if uses[-1].live:
                self._ends[group] += size
                self._last.setdefault((group, 0), []).append((pricing.new(size), 1))
                if any(use.writes for use in uses):
                    self._newer.setdefault((group, 0), []).append((pricing.new(size, size), 1))

    def find_whole(self, tensor: int, found: int) -> None:
        """Add the bytes of a tensor that is whole to each fusion tile."""
        self._whole["found"].setdefault(self.of(tensor), []).append((found, 1))

    def leaves_whole(self, tensor: int, rest: int) -> None:
        """Add the bytes that the last fusion tile leaves of a tensor that is whole to each."""
        self._whole["rest"].setdefault(self.of(tensor), []).append((rest, 1))

    def leaves_sum(self, tensor: int, left: int) -> None:
        """Add the bytes newer than DRAM that the last fusion tile leaves of a sum."""
        self._whole["left"].setdefault(self.of(tensor), []).append((left, 1))

    def add(self, pricing: Pricing, channels: list[Channels]) -> None:
        """Add the rows; add transfers and room to steps."""
        self.pricing, self.channels = pricing, channels
        # Where stripes are uneven, resident bytes are counted as no room.
        self.room = [pricing.together(each.room) for each in channels] if self.even else []
        self.here: dict[Place, Terms] = {}
        self.stays: dict[Place, Terms] = {}
        fusion, spans = np.arange(self.micro_batches), self._spans
        earlier = [np.clip(fusion - begin, 0, count) for begin, count in spans]
        later = [np.clip(begin + count - 1 - fusion, 0, count) for begin, count in spans]
        for found, sizes, times, held in (
            (self.here, self._begins, earlier, self.held[0]),
            (self.stays, self._ends, later, self.held[1]),
        ):
            for group in self.groups:
                terms = Terms()
                if held and sizes[group]:
                    # Of uneven stripes only the bytes that all of them find are known.
                    each = self.micro_batches if self.even else 1
                    # Rounded up: a wider range of a quantity weakens the bound, and keeps it true.
                    most = -(-sizes[group] // each)
                    quantities = pricing.several(np.ones(each, bool), most)
                    self._takes(quantities, times)
                    terms = [(each, 1) for each in quantities.tolist()]
                for number, (begin, count) in enumerate(spans):
                    found[group, number] = terms[begin : begin + count]
        self.through: dict[int, Terms] = {}
        for group in self.out:
            fetches = group in self.into and (group == READ or group not in self.touched)
            if fetches and all(self.held):
                through = pricing.new(self.idle if group == READ else self.out[group])
                self.through[group] = [(through, 1)]
                self._takes(np.array([through]), [np.array([count]) for count in self.counts])
        self._arrive()
        self._leave()

    @property
    def _spans(self) -> list[tuple[int, int]]:
        """The first fusion tile of each class, and how many there are."""
        return list(zip([0, *accumulate(self.counts)], self.counts, strict=False))

    def _takes(self, quantities: Ints, times: Sequence[Ints]) -> None:
        """Take room in so many tiles of each class, in all their steps; unless they are uneven."""
        for rows, count in zip(self.room, times, strict=False):
            self.pricing.add(rows, quantities, np.broadcast_to(count, quantities.shape))

    def _all(self, found: dict[Place, Terms], group: int) -> Terms:
        """Return terms of all classes."""
        return [each for number in range(len(self.counts)) for each in found[group, number]]

    def _early(self, number: int) -> bool:
        """Return whether some fusion tile of a class has one before it."""
        return number > 0 or self.counts[number] > 1

    def _late(self, number: int) -> bool:
        """Return whether some fusion tile of a class has one after it."""
        return number < len(self.counts) - 1 or self.counts[number] > 1

    def _arrive(self) -> None:
        """Bytes that fusion tiles find, and bytes at the begin of the fused group."""
        row, new = self.pricing.row, self.pricing.new
        ahead = Terms()
        for (group, number), found in self._found.items():
            terms = [*found, *minus(self.here[group, number])]
            if self._early(number):
                again = (new(self.pricing.most(found)), 1)
                ahead.append(again)
                terms += minus([again])
            # (G8) R2: bytes a tile finds were there at the begin, or loaded by an earlier tile.
            row(("found in tiles", group, number), terms, None, 0)
        self._move("loads ahead", ahead, self._late)
        total = Terms()
        for group in self.groups:
            whole = self._whole["found"].get(group, [])
            terms = [*self._all(self.here, group), *whole, *self.through.get(group, [])]
            if group not in self.into and not terms:
                continue
            into: Terms = []
            if self.held[0]:
                dual, worth = self.carried.of(self.fused_group.begin, group)
                # A range that is too wide only weakens the bound.
                most = min(self.into.get(group, self.held[0]), self.held[0])
                into = [(new(most, cost=dual), 1)]
                if group >= 0 and group in self.into:
                    self._owed[group] = new(most, cost=-worth)
                    # Dirty bytes are among the resident ones.
                    row(("dirty at begin", group), [(self._owed[group], 1), *minus(into)], None, 0)
            # All that is found here was there at once.
            row(("resident at begin", group), [*terms, *minus(into)], None, 0)
            total += into
        if total:
            # R1 just before the first step.
            row(("capacity at begin",), total, None, self.held[0])

    def _leave(self) -> None:
        """Bytes that fusion tiles leave, and bytes at the end of the fused group."""
        row, new, most = self.pricing.row, self.pricing.new, self.pricing.most
        behind, stored = Terms(), Terms()
        dirty: dict[int, Terms] = {}
        for (group, number), newer in self._newer.items():
            terms, held = list(newer), Terms()
            if self._late(number):
                later = (new(most(newer)), 1)
                behind.append(later)
                terms += minus([later])
                if self.held[1]:
                    held.append((new(most(newer)), 1))
                    stored += held
            if self.held[1]:
                given = (new(most(newer)), 1)
                held.append(given)
                dirty.setdefault(group, []).append(given)
                stays = self.stays[group, number]
                # Dirty bytes that stay are among those that stay.
                row(("dirty to the end", group, number), [*held, *minus(stays)], None, 0)
            # (G8) R7: they are stored later, or still there at the end.
            row(("dirty after tiles", group, number), [*terms, *minus(held)], None, 0)
        for (group, number), stays in self.stays.items():
            if stays or any(self.stays[group, other] for other in range(len(self.counts))):
                last = self._last.get((group, number), [])
                # What stays was resident in the tile's last step.
                row(("resident after tiles", group, number), [*stays, *minus(last)], None, 0)
        self._move("stores behind", behind, self._early, out=True, back=True)
        stored += self._old(dirty)
        self._move("stores of the rest", stored, lambda number: True, out=True, room=False)
        self._give(dirty)

    def _old(self, dirty: dict[int, Terms]) -> Terms:
        """Unwritten bytes newer than DRAM are still so, or stored; return the latter."""
        row, new, stored = self.pricing.row, self.pricing.new, Terms()
        for group in self.into:
            lasts = group in self.live if group in self.touched else True
            if group < 0 or not self.held[0] or group in self.written or not lasts:
                continue
            amount = (new(self.into[group]), 1)
            stored.append(amount)
            terms = [(self._owed[group], 1), *minus([amount])]
            if self.held[1] and group in self.out:
                old = (new(self.into[group]), 1)
                terms += minus([old])
                dirty.setdefault(group, []).append(old)
                sources = self._all(self.stays, group)
                sources += self._whole["rest"].get(group, [])
                sources += self.through.get(group, [])
                # Dirty bytes leave only where they are resident.
                row(("old dirty resident", group), [old, *minus(sources)], None, 0)
            # R5, R7: they are stored, or leave dirty.
            row(("write back of old", group), terms, None, 0)
        return stored

    def _give(self, dirty: dict[int, Terms]) -> None:
        """Hand over at the end."""
        row, new = self.pricing.row, self.pricing.new
        total, later = Terms(), Terms()
        for group in self.groups:
            newer = [*dirty.get(group, []), *self._whole["left"].get(group, [])]
            crosses, held = group in self.out and bool(self.held[1]), self.held[1]
            dual, worth = self.carried.of(self.fused_group.end, group) if crosses else (0, 0)
            most = min(self.out.get(group, held), held)
            out: Terms = []
            if held and (crosses or newer):
                out = [(new(most, cost=-dual), 1)]
                total += out
            if newer:
                given: Terms = []
                if held:
                    given = [(new(most, cost=worth), 1)]
                    row(("dirty within resident", group), [*given, *minus(out)], None, 0)
                row(("dirty at end", group), [*newer, *minus(given)], None, 0)
            if crosses:
                loaded = (new(self.out[group]), 1)
                later.append(loaded)
                sources = self._all(self.stays, group)
                sources += self._whole["rest"].get(group, [])
                sources += [*self.through.get(group, []), loaded]
                # R2: bytes that leave stayed, passed through, or were loaded for later.
                row(("resident at end", group), [*out, *minus(sources)], None, 0)
        if total:
            # R1 just after the last step.
            row(("capacity at end",), total, None, self.held[1])
        self._move("loads for later", later, lambda number: True, after=True)

    def _move(
        self,
        name: str,
        amounts: Terms,
        where: Callable[[int], bool],
        *,
        out: bool = False,
        back: bool = False,
        room: bool = True,
        after: bool = False,
    ) -> None:
        """Move amounts in steps of some classes; they take room from then on, or until then.

        ``after``: in all later classes too.
        """
        if not amounts:
            return
        pricing, terms = self.pricing, list(amounts)
        most = pricing.most(amounts)
        for number, channels in enumerate(self.channels):
            if not where(number):
                continue
            moved = pricing.several(np.ones(self.steps, bool), most)
            terms += [(each, -1) for each in moved.tolist()]
            for rows, factor in channels.out if out else channels.into:
                pricing.add(rows, moved, factor)
            # (G9) From the load on, or until the store, the byte takes room in other tiles' steps.
            if room and self.even:
                pricing.add(pricing.onward(channels.room, back=back), moved)
            for later in range(number + 1, len(self.room)) if after else ():
                pricing.add(np.repeat(self.room[later], self.steps), moved, self.counts[later])
        # Amounts are moved in some step: no more is used than moved.
        pricing.row((name,), terms, None, 0)


def _sum_up(sizes: Iterable[tuple[int, int]]) -> dict[int, int]:
    total: Counter[int] = Counter()
    for group, size in sizes:
        total[group] += size
    return dict(total)
