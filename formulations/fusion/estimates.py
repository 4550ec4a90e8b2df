"""Estimated costs of fused groups, for good fusion plans within a second: no program is solved.

A fused group is taken to move bytes across its ends, bytes that its fusion tiles cannot keep
between two uses, and shared bytes as often as they do not remain; some bytes across an end are on
chip. That is neither a bound nor a schedule. In training with 24 MB, fusion plans of GoogLeNet and
MobileNetV2 were scheduled to within 3 % of their estimates at ends of fine fusion tiles, of
ResNet-50 and ShuffleNet with enough steps; all fused groups of ResNet-50 take 0.5 s, of which each
program takes 7 ms.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from formulations.fusion.shortest_paths import trace
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.table import Ints

_KEPT = 0.9
"""Of bytes that cross an end and are soon dead, the share that remains on chip if it fits."""
_HALF_KEPT = 0.75
"""Of all bytes that cross an end, up to the scratchpad's size.

The share that remains where tiles are not the finest: half of the steps, within 1 to 3 % of fine
tiles."""
_SOON = 24
"""Operations within which it is; fewer, or less that remains, led to worse fusion plans."""
_NOT_HIDDEN = 0.03
"""Of the shorter of computing and moving, the share that the longer does not hide."""
_DEARER, _TRIES = 1e-7, 24
"""Of the cost of a fusion plan, the extra cost of a step where it has too many.

Doubled so often."""
_INTO, _OUT, _SHARED, _SUMS, _SOON_IN, _SOON_OUT = range(6)
_CUT, _WHOLE, _OWN = range(3)


class Estimates:
    """Costs of fused groups between natural boundaries of a tileable graph, in objective units.

    ``listed``: its family's stripes are left out.
    """

    def __init__(self, listed: Listed) -> None:
        self.listed, self.micro_batches = listed, listed.fusion_space.micro_batches
        self.places = np.array([0, *listed.boundaries, listed.count])
        self._cycles = [listed.cycles(each) for each in self.micro_batches]
        self._scratch = [listed.scratch(each) for each in self.micro_batches]
        self._always = [listed.unavoidable(each) for each in self.micro_batches]
        self._reach = [np.array(listed.reaches(each)) for each in self.micro_batches]
        uses = Uses(listed)
        self._own = uses.own
        self._costs = [(0, np.empty((0, 0, 0)))]
        for at in range(listed.count):
            first = uses.take(at)
            if at + 1 == self.places[len(self._costs)]:
                self._costs.append(self._ending(uses, first, at + 1))

    @property
    def entries(self) -> int:
        """How many costs there are."""
        return sum(costs.size for _, costs in self._costs)

    def fusion_plan(self, most_steps: float = np.inf, *, fine: bool = False) -> FusionPlan:
        """Return the cheapest fusion plan of about so many steps at most; empty if none fits.

        ``fine``: only bytes that fit beside fusion tiles cross on chip, so that finer ones are
        cheaper.
        """
        cost, fusion_plan = self._cheapest(0.0, fine)
        dearer = _DEARER * cost
        for _ in range(_TRIES):
            if sum((each.end - each.begin) * each.count for each in fusion_plan) <= most_steps:
                break
            _, fusion_plan = self._cheapest(dearer, fine)
            dearer *= 2
        return fusion_plan

    def cost(self, fusion_plan: FusionPlan, *, fine: bool = False) -> float:
        """Return the cost of a fusion plan between natural boundaries."""
        total = 0.0
        for each in fusion_plan:
            begin, end = np.searchsorted(self.places, (each.begin, each.end)).tolist()
            low, costs = self._costs[end]
            total += float(
                costs[int(fine), self.micro_batches.index(each.micro_batches), begin - low]
            )
        return total

    def _cheapest(self, step: float, fine: bool) -> tuple[float, FusionPlan]:
        """Return the cheapest fusion plan where each step costs so much beside, and that cost."""
        places, counts = self.places, np.array(self.micro_batches)[:, None]
        reached, came = np.full(len(places), np.inf), np.zeros((len(places), 2), np.int64)
        reached[0] = 0.0
        for end in range(1, len(places)):
            low, costs = self._costs[end]
            steps = counts * (places[end] - places[low:end])
            total = costs[int(fine)] + step * steps + reached[low:end]
            way, begin = divmod(int(total.argmin()), end - low)
            reached[end], came[end] = total[way, begin], (begin + low, way)
        make = self.listed.fused_group
        return float(reached[-1]), trace(reached, came, places.tolist(), make)

    def _ending(self, uses: Uses, first: int, end: int) -> tuple[int, Floats]:
        """Return the first place from which a group ends here, and costs (2, p, w) from it on."""
        low, here = np.searchsorted(self.places, (first, end)).tolist()
        begins = self.places[low:here]
        held = uses.held[:, begins - uses.origin, slice(first - uses.origin, end - uses.origin)]
        moved = uses.moved[:, begins]
        ways = range(len(self.micro_batches))
        both = [self._cost(way, begins, end, held, moved) for way in ways]
        return low, np.stack(both, axis=1)

    def _cost(self, way: int, begins: Ints, end: int, held: Floats, moved: Floats) -> Floats:
        """Return costs (2, w) of fused groups from some positions to one, coarse and fine."""
        listed = self.listed
        objective = self.listed.objective
        micro_batches = self.micro_batches[way]
        here = slice(end - held.shape[2], end)
        inner = np.arange(here.start, end) >= begins[:, None]
        if micro_batches == 1:
            through, own = held[_CUT] + held[_WHOLE], held[_OWN]
        else:
            through, own = held[_CUT] / micro_batches, self._own[0, here] / micro_batches
        room = through + own + self._scratch[way][here] - listed.capacity
        over = np.where(inner, np.maximum(room, 0.0), 0.0)
        longer = np.minimum(over, through)
        rises = np.maximum(np.diff(longer, axis=1, prepend=0.0), 0.0).sum(axis=1)
        spilled = micro_batches * (rises + 0.5 * (over - longer).sum(axis=1))
        crossing = moved[[_INTO, _OUT]]
        loose = _HALF_KEPT * np.minimum(crossing, listed.capacity)
        kept, again = moved[[_SOON_IN, _SOON_OUT]], np.zeros(len(begins))
        if micro_batches == 1:
            kept = kept * np.minimum(listed.capacity / np.maximum(kept.sum(axis=0), 1.0), 1.0)
        else:
            free = np.maximum(-np.where(inner, room, -np.inf).max(axis=1), 0.0)
            kept = np.minimum(kept, free)
            stays = np.minimum(free / np.maximum(moved[_SHARED] + moved[_SUMS], 1.0), 1.0)
            again = (micro_batches - 1) * (1 - stays) * (moved[_SHARED] + 2 * moved[_SUMS])
        crossing = np.stack([crossing - loose, crossing - _KEPT * kept], axis=1)
        into, out = crossing[0] + spilled + again, crossing[1] + spilled
        cycles = np.where(inner, self._cycles[way][here], 0.0)
        computing, moving = cycles.sum(axis=1), (into + out) / listed.bytes_per_cycle
        time = np.maximum(computing, moving) + _NOT_HIDDEN * np.minimum(computing, moving)
        if micro_batches == 1:
            # Operations of the whole batch hide little of the others' transfers.
            share = crossing.sum(axis=0) / np.maximum(moved[[_INTO, _OUT]].sum(axis=0), 1.0)
            ends = np.maximum(self._own[:, here].sum(axis=0) - own, 0.0) * share[..., None]
            alone = (ends + (over - longer)) / listed.bytes_per_cycle
            time = np.maximum(time, np.where(inner, np.maximum(cycles, alone), 0.0).sum(axis=-1))
        cost = float(objective.cycle) * time + float(objective.dram_in_byte) * into
        cost += float(objective.dram_out_byte) * out
        cost += np.where(inner, self._always[way][here], 0.0).sum(axis=1)
        return np.where(self._reach[way][begins] >= end, cost, np.inf)


class Uses:
    """Resources of fused groups that end at some operation, by their begin.

    Attributes
    ----------
    own : (2, n)
        Bytes of operands that are cut and that all fusion tiles share.
    held : (3, w, w)
        By begin and step, from ``origin`` on: bytes between two uses that are, and that are not,
        cut; and of operands that are used before or later as well.
    moved : (6, n + 1)
        By begin: bytes that are read from before, and written for later; those shared, and sums; of
        the first two those that are soon dead.
    """

    def __init__(self, listed: Listed) -> None:
        self._longest = longest = listed.params.estimated_group
        width = 2 * longest
        self.listed, self.origin = listed, 0
        self.held: Floats = np.zeros((3, width, width))
        self.moved: Floats = np.zeros((6, listed.count + 1))
        self.own: Floats = np.zeros((2, listed.count))
        self._changes = [list[tuple[int, int, float]]() for _ in range(listed.count)]
        self._gaps = [list[tuple[int, int, float, int]]() for _ in range(listed.count)]
        for tensor, accesses in enumerate(listed.accesses):
            if accesses:
                self._read(tensor, accesses)
                self._write(tensor, accesses)

    def take(self, at: int) -> int:
        """Take in an operation; return the first begin of a fused group that ends with it."""
        longest = self._longest
        if at - self.origin >= 2 * longest:
            self.held[:, :longest, :longest] = self.held[:, longest:, longest:]
            self.held[:, longest:] = self.held[:, :longest, longest:] = 0.0
            self.origin += longest
        first, origin = max(at + 1 - longest, self.origin), self.origin
        for kind, since, size in self._changes[at]:
            # Reads count from after the use before, writes up to their write.
            rows = (
                slice(first, since + 1)
                if kind in (_OUT, _SOON_OUT)
                else slice(max(since + 1, first), at + 1)
            )
            self.moved[kind, rows] += size
        for before, earlier, size, kind in self._gaps[at]:
            if before >= first:
                rows = slice(first - origin, before + 1 - origin)
                self.held[kind, rows, before + 1 - origin : at - origin] += size
                self.held[_OWN, rows, at - origin] += size
                rows = slice(max(earlier + 1, first) - origin, before + 1 - origin)
                self.held[_OWN, rows, before - origin] += size
        return first

    def _read(self, tensor: int, accesses: list[tuple[int, bool]]) -> None:
        size, before, earlier = float(self.listed.sizes[tensor]), -1, -1
        moved = self.listed.ratios[tensor] * size
        for at, reads in accesses:
            operation = self.listed.tileable.operations[at]
            whole = tensor not in operation.cut
            self.own[int(whole), at] += size
            if whole:
                kind = _SUMS if tensor in operation.partial_sums else _SHARED
                self._changes[at].append((kind, before, moved))
            if reads:
                self._changes[at].append((_INTO, before, moved))
            if reads and before >= 0:
                self._gaps[at].append((before, earlier, size, _WHOLE if whole else _CUT))
                if at - before <= _SOON:
                    self._changes[at].append((_SOON_IN, before, moved))
            earlier, before = before if reads else -1, at

    def _write(self, tensor: int, accesses: list[tuple[int, bool]]) -> None:
        """Note the bytes newer than DRAM after each access, and since which write."""
        listed = self.listed
        size = listed.ratios[tensor] * listed.sizes[tensor]
        keep, wrote, kinds = listed.tileable.tensors[tensor].keep, -1, list[int]()
        for (at, _), (_, live) in pairwise([*accesses, (listed.count, keep)]):
            self._changes[at] += [(kind, wrote, -size) for kind in kinds]
            if tensor in listed.tileable.operations[at].writes:
                wrote = at
            soon = not keep and accesses[-1][0] - at <= _SOON
            kinds = [_OUT, *([_SOON_OUT] if soon else [])] if live and wrote >= 0 else []
            self._changes[at] += [(kind, wrote, size) for kind in kinds]
