"""A bound over the fusion space of a graph.

Values of groups, and a shortest path, in exact integers. A certificate has dual values for some
fused groups. All others count with plain costs: computing and moving operands that cannot be on
chip at once, in the cheapest mapping, or moving bytes across a fused group's ends beyond the
scratchpad's size, and those that each fusion tile reads anew (:func:`.count_bytes`); the long ones
of a long list with the plain costs of each operation, and runs of these. Steps of a schedule belong
to one fused group each, so the cheapest path from the first operation to the end, over all fused
groups, is at most the cost of any schedule of any fusion plan. Where a certificate has dual values
of bytes carried across boundaries, fused groups pay and earn these, and they sum to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor

import numpy as np

from spmopt.core.compression import ratios_of
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import (
    PARTS,
    FusionCertificate,
    Row,
    block_length,
    longest_valued,
)
from spmopt.core.fusion.crossing_bytes import count_bytes
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.fusion.least_moved import Moves, least_moved, times_moved
from spmopt.core.fusion.stripe_bounds import Striped, UsePattern, follow
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.operation import OpMapping
from spmopt.core.table import Ints
from spmopt.verifier.boundary_credit import BoundaryCredit
from spmopt.verifier.carried import Carried
from spmopt.verifier.dual_check import MOST_BITS
from spmopt.verifier.fused_group_bound import fused_group_bound
from spmopt.verifier.fused_group_uses import Liveness
from spmopt.verifier.fusion_reach import barriers, farthest_ends

_NONE = np.iinfo(np.int64).max // 4
_DIGITS = 55
"""Binary digits of the longest path."""
_LARGEST_BITS = 61
"""Binary digits of an integer, with one to spare."""


def fusion_bound(tileable: TileableGraph, certificate: FusionCertificate) -> Fraction:
    """Return a lower bound of the objective over all legal schedules of a fusion space.

    Fusion plans are depth first, in the order of the tileable graph; time is the sum of the steps'
    (PROBLEM.md, section 3).

    Raises
    ------
    InputError
        Dual values that prove nothing, or of rows or fused groups that there are not.
    """
    if certificate.objective.replayed:
        raise InputError("certificate: dual values of steps prove nothing about the replay")
    if not 0 <= certificate.bits <= MOST_BITS:
        raise InputError(f"certificate: bits must be from 0 to {MOST_BITS}")
    path = FusionPlanPath(tileable, certificate)
    return max(path.value(), path.compulsory())


class FusionPlanPath:
    """Costs of fused groups in units of ``2**-self.bits``, fewer than those of the certificate."""

    def __init__(self, tileable: TileableGraph, certificate: FusionCertificate) -> None:
        striped = Striped(tileable, certificate.fusion_space.stripes)
        self.tileable, self.reach, self.certificate = striped.tileable, striped.reach, certificate
        further = len(certificate.fusion_space.others)
        if further > len(tileable.others):
            raise InputError(f"certificate: the graph has no {further} further axes")
        self.axes = self.tileable.axes[: 1 + further]
        self.objective = certificate.objective.of_moved(tileable.machine.most_moved)
        self.liveness = [Liveness(each) for each in self.axes]
        self._known: dict[object, Fraction] = {}
        self._proved: dict[object, int] = {}
        self.count, machine = len(tileable.operations), tileable.machine
        self.capacity = machine.spm_pages * machine.page_bytes
        self.cycles_of_byte = Fraction(machine.clock_hz, machine.dram_bytes_per_s)
        ratios = ratios_of(machine, tileable.tensors)
        # Integers wherever they will do: least costs of operations take thousands of products.
        self.ratios = [int(each) if each.denominator == 1 else each for each in ratios]
        # Bytes that move: of those that may be on chip, the most.
        self.held = ceil(machine.most_moved * self.capacity)
        self.fusion_space = certificate.fusion_space
        self.ways = self.fusion_space.ways(tileable.batch)
        self.barrier = [barriers(each.operations) for each in self.axes]
        self._farthest: dict[Way, list[int]] = {}
        tiled = (enumerate(self._ends(way)) for way in self.ways if way.tiles > 1)
        reach = max((end - at for each in tiled for at, end in each), default=0)
        self.longest, self.all = longest_valued(self.count, len(self.ways), reach)
        self.first = [max(end - self.longest, 0) for end in range(self.count + 1)]
        plain = [[self._alone(at, way) for at in range(self.count)] for way in self.ways]
        fixed = [[self._always(at, way) for at in range(self.count)] for way in self.ways]
        known = [max((v for v in row if v is not None), default=Fraction(0)) for row in plain]
        sizes = [tensor.size_bytes for tensor in tileable.tensors]
        # More is no worse a bound, and its sums could overflow.
        self.most_bytes = 2 * self.count * ceil(machine.most_moved * sum(sizes))
        most = (max(known) + max(map(max, fixed))) * self.count
        most += 2 * self._byte(1, 1) * self.most_bytes
        self.bits = _DIGITS - max(floor(most).bit_length(), 0)
        self.alone = [[None if v is None else self._units(v) for v in row] for row in plain]
        self.always = [[self._units(v) for v in row] for row in fixed]
        self.carried = Carried(self.tileable, certificate.carried)

    def value(self) -> Fraction:
        """Return the length of the shortest path."""
        reached = np.full(self.count + 1, _NONE)
        reached[0] = 0
        tables = self.tables()
        longer = [self._longer(way) for way in range(len(self.ways))]
        # By begin: the path there, less the share that a long fused group from there lacks.
        ahead = np.full((len(longer), self.count + 1), _NONE)
        for end in range(1, self.count + 1):
            first = self.first[end]
            ways = [int((reached[first:end] + table[end, : end - first]).min()) for table in tables]
            for (upto, before, reach), begins in zip(longer, ahead, strict=True):
                if first:
                    begins[first - 1] = reached[first - 1] - before[first - 1]
                if reach[end] < first:
                    ways.append(int(begins[reach[end] : first].min() + upto[end]))
            reached[end] = min(_NONE, *ways)
        return Fraction(int(reached[-1])) / Fraction(2) ** self.bits

    def tables(self) -> list[Ints]:
        """Return lower bounds on fused groups, for each way to tile them.

        Tables are (n + 1, longest), by end and begin: the last column is that before the end, or
        the first that of the first operation.
        """
        (over, ends), self.runs = self._at_ends(), self._prove_runs()
        moved = [self._cost_of_moves(way) for way in range(len(self.ways))]
        tables = [self._table(way, (over, moved[way]), ends) for way in range(len(self.ways))]
        certificate = self.certificate
        for given, agreed in ((certificate.duals, False), (certificate.agreed, True)):
            for fused_group, duals in given.items():
                value = self._value(fused_group, duals, agreed=agreed)
                at = fused_group.end, fused_group.begin - self.first[fused_group.end]
                way = self.ways.index(Way(fused_group.axis, fused_group.count))
                if not agreed:
                    # Tensors carried across without dual values in a program earn their credit
                    # beside.
                    here = {part: paid[at[0], at[1:]] for part, paid in ends.items()}
                    own = np.array([min(value, _NONE)])
                    value = int(_mean(own, moved[way][at[0], at[1:]], here)[0])
                tables[way][at] = max(int(tables[way][at]), min(value, _NONE))
        return tables

    def compulsory(self) -> Fraction:
        """Return lower bounds on all computing, and on bytes that come and go once.

        Nothing is on chip at first, so that inputs that no operation has written come; results that
        are kept go. Each row of an operand is in some stripe.
        """
        objective, machine, into = self.objective, self.tileable.machine, Fraction(0)
        sizes = [
            ratio * tensor.size_bytes
            for ratio, tensor in zip(self.ratios, self.tileable.tensors, strict=True)
        ]
        there, written = set[int](), set[int]()
        cycles, always = 0, Fraction(0)
        for at, operation in enumerate(self.tileable.operations):
            into += sum(sizes[t] for t in {*operation.reads} - there)
            there |= {*operation.reads, *operation.writes}
            written |= {*operation.writes}
            fitting = [way for way in self.ways if self.axes[way.axis].fits(at, way.tiles)]
            both = [(self.axes[a].operations[at].mappings[k], k) for a, k in fitting]
            cycles += min(
                (m.first.compute_cycles + (k - 1) * m.later.compute_cycles for m, k in both),
                default=0,
            )
            always += min((self._always(at, way) for way in fitting), default=Fraction(0))
        out = sum(sizes[t] for t in written if self.tileable.tensors[t].keep)
        moved = max(into, out) if machine.duplex else into + out
        time = objective.cycle * max(Fraction(cycles), moved * self.cycles_of_byte)
        return time + objective.dram_in_byte * into + objective.dram_out_byte * out + always

    def _units(self, value: Fraction) -> int:
        # floor(value * 2**bits), for the hundred thousand of a long list
        above, below = max(self.bits, 0), max(-self.bits, 0)
        return (value.numerator << above) // (value.denominator << below)

    def _byte(self, into: int, out: int) -> Fraction:
        """Return the costs of bytes in and out when nothing hides them, on all channels at best."""
        objective = self.objective
        moved = objective.cycle * (into + out) * self.cycles_of_byte
        if self.tileable.machine.duplex:
            moved /= 2
        return moved + objective.dram_in_byte * into + objective.dram_out_byte * out

    def _alone(self, at: int, way: Way) -> Fraction | None:
        """Return a lower bound on time and transfers of an operation; None if it is never."""
        tileable, micro_batches = self.axes[way.axis], way.tiles
        operation = tileable.operations[at]
        mappings = operation.mappings.get(micro_batches)
        if mappings is None or not tileable.fits(at, micro_batches):
            return None
        uses = self.liveness[way.axis].uses(at, micro_batches)
        # Equal operations share their mappings, which live as long as the graph.
        key = micro_batches, id(mappings), *((*use[1:], *self._bytes(use.tensor)) for use in uses)
        if key not in self._known:
            both = [[(mapping, micro_batches)] for mapping in operation.common(micro_batches)]
            if not both:
                both = [[(mappings.first, 1), (mappings.later, micro_batches - 1)]]
            # Whatever mapping a fusion tile runs, it costs no less than the cheapest.
            self._known[key] = min(self._alone_in(at, way, each) for each in both)
        return self._known[key]

    def _alone_in(self, at: int, way: Way, mappings: Sequence[tuple[OpMapping, int]]) -> Fraction:
        """Return a lower bound on time and transfers where so many fusion tiles run mappings."""
        machine, objective, micro_batches = self.tileable.machine, self.objective, way.tiles
        cycles = sum(count * mapping.compute_cycles for mapping, count in mappings)
        scratch = sum(
            count * machine.pages(mapping.scratch_bytes) * machine.page_bytes
            for mapping, count in mappings
        )
        alone = len(mappings) == 1
        operands = [
            Moves(
                self.tileable.tensors[use.tensor].size_bytes * (micro_batches if use.whole else 1),
                self.ratios[use.tensor]
                * times_moved(
                    own.fetches if alone else use.fetches,
                    reads=use.begun,
                    writes=use.writes,
                    live=use.live,
                    shared_sum=use.whole and use.writes,
                ),
                own.required_resident if alone else use.required_resident,
            )
            for use, own in zip(
                self.liveness[way.axis].uses(at, micro_batches),
                mappings[0][0].operands,
                strict=True,
            )
        ]
        forced = least_moved(operands, micro_batches * self.capacity - scratch)
        least = min(objective.dram_in_byte, objective.dram_out_byte) * forced
        channels = 2 if machine.duplex else 1
        time = objective.cycle * max(Fraction(cycles), forced * self.cycles_of_byte / channels)
        return time + least

    def _always(self, at: int, way: Way) -> Fraction:
        """Return the costs of an operation beside time and transfers: accesses of the SPM, MACs."""
        mappings = self.axes[way.axis].operations[at].mappings.get(way.tiles)
        objective = self.objective
        return sum(
            (
                count * objective.of_mappings(*mapping.unchanging)
                for mapping, count in (
                    [(mappings.first, 1), (mappings.later, way.tiles - 1)] if mappings else []
                )
            ),
            Fraction(0),
        )

    def _each(self, way: int) -> list[int]:
        """Return lower bounds on operations; 0 of those that are never."""
        both = zip(self.alone[way], self.always[way], strict=True)
        return [(value or 0) + more for value, more in both]

    def _cost_of_moves(self, way: int) -> Ints:
        """Return costs of fused groups beside computing and bytes that cross their ends."""
        axis, fusion = self.ways[way]
        # No fusion tile but the first finds more than a full scratchpad of what all of them read.
        again = np.maximum(self.again[axis] - self.held, 0) * (fusion - 1)
        most = min(self.most_bytes, np.iinfo(np.int64).max)
        moved: Ints = self._cost_of(self._byte(1, 0), np.minimum(again, most))
        moved += self._between(np.concatenate(([0], np.cumsum(self.always[way]))))
        return moved

    def _table(self, way: int, plain: tuple[Ints, Ints], ends: Mapping[int, Ints]) -> Ints:
        """Return costs of fused groups that are tiled in some way, as :meth:`tables`.

        ``plain``: of bytes that cross their ends that do not fit, and :meth:`_cost_of_moves`.
        """
        over, moved = plain
        tiled = self._tile(self._each(way), self.runs.get(self.ways[way], {}))
        table = _mean(np.maximum(tiled, over + moved), moved, ends)
        reach = np.array(self._ends(self.ways[way]))
        for end, first in enumerate(self.first):
            table[end, end - first :] = _NONE
            table[end, : end - first][reach[first:end] < end] = _NONE
        return table

    def _between(self, upto: Ints) -> Ints:
        """Return the increase of a figure from begins to ends of fused groups."""
        padded = np.concatenate((upto, np.zeros(self.longest, np.int64)))
        begins = np.lib.stride_tricks.sliding_window_view(padded, self.longest)[self.first]
        found: Ints = upto[:, None] - begins
        return found

    def _tile(self, alone: list[int], runs: Mapping[tuple[int, int], int]) -> Ints:
        """Return the most that disjoint runs prove, with the operations in none."""
        table, begin = np.zeros((self.count + 1, self.longest), np.int64), self.first
        ending: dict[int, list[tuple[int, int]]] = {}
        for (first, last), value in runs.items():
            if last - first <= self.longest:
                ending.setdefault(last, []).append((first, value))
        for end in range(1, self.count + 1):
            row = table[end]
            lost, most = begin[end] - begin[end - 1], end - begin[end]
            row[: most - 1] = table[end - 1, lost : lost + most - 1]
            row[:most] += alone[end - 1]
            for first, value in ending.get(end, ()):
                ahead = first - begin[end]
                before = np.zeros(ahead + 1, np.int64)
                before[:-1] = table[first, begin[end] - begin[first] :][:ahead]
                row[: ahead + 1] = np.maximum(row[: ahead + 1], before + value)
        return table

    def _longer(self, way: int) -> tuple[list[int], list[int], list[int]]:
        """Return figures of ends, figures of begins, and of each end the first begin.

        A fused group longer than ``longest`` costs at least the difference of the two: all of the
        blocks in it, each by its run or by its operations, and the operations before and after.
        """
        if self.all:
            return [0] * (self.count + 1), [0] * (self.count + 1), [*range(self.count + 1)]
        length = block_length(self.longest)
        runs, upto = self.runs.get(self.ways[way], {}), [0, *accumulate(self._each(way))]
        whole, most = [0], _NONE // self.count
        for begin in range(0, self.count - length + 1, length):
            run = min(runs.get((begin, begin + length), 0), most)
            whole.append(whole[-1] + max(run, upto[begin + length] - upto[begin]))
        ends, begins, firsts, first = list[int](), list[int](), list[int](), 0
        reach = [*self._ends(self.ways[way]), self.count]
        for at in range(self.count + 1):
            last, following = at // length, min(-(-at // length), len(whole) - 1)
            ends.append(whole[last] + upto[at] - upto[last * length])
            begins.append(whole[following] + upto[at] - upto[following * length])
            while reach[first] < at:
                first += 1
            firsts.append(first)
        return ends, begins, firsts

    def _ends(self, way: Way) -> list[int]:
        """Return the farthest end of a fused group by its begin; none beyond it counts."""
        if way not in self._farthest:
            reach = [self.count] * self.count
            if way.axis == 0:
                reach = self.reach.get(way.tiles, reach)
            ends = farthest_ends(
                self.axes[way.axis], self.fusion_space, way.tiles, reach, self.barrier[way.axis]
            )
            if way.tiles == 1:
                # An untiled group has the schedules of its operations as groups of their own.
                ends = [min(end, at + 1) for at, end in enumerate(ends)]
            self._farthest[way] = ends
        return self._farthest[way]

    def _at_ends(self) -> tuple[Ints, dict[int, Ints]]:
        """Return the cost of bytes that cross and do not fit, and the least payments for others.

        Tables; the latter by part, where bytes cost the other parts of their transfer. There are
        none without dual values.
        """
        every = [
            count_bytes(tileable, live.after, self.first, self.longest)
            for tileable, live in zip(self.axes, self.liveness, strict=True)
        ]
        # They load and leave the same bytes along each axis.
        (into, out, _), self.again = every[0], [again for *_, again in every]
        byte = self._byte(1, 0), self._byte(0, 1)
        over = [np.maximum(each - self.held, 0) for each in (into, out)]
        plain: Ints = self._cost_of(byte[0], over[0]) + self._cost_of(byte[1], over[1])
        if not self.carried.duals:
            return plain, {}
        if not self.all:
            raise InputError("certificate: what a long list carries across has no dual values")
        digits = self.certificate.bits, self.bits
        credit = BoundaryCredit(
            self.tileable, self.carried, digits, self._units(self._byte(1, 1)) + 1
        )
        ends = dict[int, Ints]()
        for part in range(PARTS, -1, -1):
            costs = [Fraction(PARTS - part, PARTS) * each for each in byte]
            moved = self._cost_of(costs[0], into) + self._cost_of(costs[1], out)
            moved -= self._band(credit.full(costs[0], costs[1]))
            ends[part] = np.maximum(self._band(credit.paths(costs[0], costs[1])), moved)
        return plain, ends

    def _cost_of(self, byte: Fraction, sizes: Ints) -> Ints:
        """Return the cost of so many bytes, rounded down once: in units a byte's is far off."""
        most = max(ceil(byte * Fraction(2) ** self.bits), 1) * int(sizes.max(initial=1))
        further = max(0, _LARGEST_BITS - most.bit_length())
        found: Ints = floor(byte * Fraction(2) ** (self.bits + further)) * sizes >> further
        return found

    def _band(self, table: Ints) -> Ints:
        """Return a table by begin and end as one of fused groups that have values."""
        first = np.array(self.first)[:, None] + np.arange(self.longest)
        found: Ints = table[np.minimum(first, self.count), np.arange(self.count + 1)[:, None]]
        return found

    def _prove_runs(self) -> dict[Way, dict[tuple[int, int], int]]:
        """Return those of runs, by the way in which they are tiled, and begin and end."""
        found: dict[Way, dict[tuple[int, int], int]] = {}
        for run, duals in self.certificate.runs.items():
            value = self._value(run, duals, inner=True)
            # Nothing costs less than 0: dual values may prove that little, and far less.
            way = Way(run.axis, run.count)
            found.setdefault(way, {})[run.begin, run.end] = min(max(value, 0), _NONE)
        return found

    def _value(
        self,
        fused_group: FusedGroup,
        duals: Mapping[Row, int],
        *,
        inner: bool = False,
        agreed: bool = False,
    ) -> int:
        """Return the bound of row duals on a fused group, or on a run, in units of the path."""
        where = f"fused group {fused_group.begin} to {fused_group.end}"
        way = Way(fused_group.axis, fused_group.count)
        if fused_group.end > self.count or way not in self.ways:
            raise InputError(
                f"certificate: {where} in {fused_group.micro_batches} fusion tiles is none"
            )
        obstacle = self.tileable.obstacle(fused_group)
        obstacle = obstacle or self.tileable.outside(self.fusion_space, (fused_group,))
        if not inner and fused_group.end - fused_group.begin > self.longest:
            obstacle = f"of a list as long as this none of more than {self.longest} has dual values"
        if agreed and self._sums(fused_group):
            obstacle = "it sums up a tensor with dual values at boundaries, which it may not have"
        operations = self.tileable.operations[fused_group.begin : fused_group.end]
        if not any(each.reads or each.writes for each in operations):
            obstacle = "none of its operations has operands, so that it has no dual values"
        if inner and fused_group.stripes > 1:
            obstacle = "runs of operations have dual values in one stripe only"
        if obstacle:
            raise InputError(f"certificate: {where}: {obstacle}")
        liveness, own = self.liveness[fused_group.axis], fused_group
        bits = self.certificate.bits
        patterns: dict[int, list[UsePattern]] = {}
        if fused_group.stripes > 1:
            tileable, own, patterns = follow(self.tileable, fused_group)
            liveness = Liveness(tileable)
        key = None if agreed or fused_group.stripes > 1 else self._alike(own, inner, duals)
        value = None if key is None else self._proved.get(key)
        if value is None:
            value = fused_group_bound(
                liveness,
                own,
                self.objective,
                duals,
                bits,
                carried=self.carried if agreed else None,
                # Stripes are uneven: dual values are the same in all.
                fine=agreed and self.certificate.fine and fused_group.stripes == 1,
                inner=inner,
                patterns=patterns,
            )
        if key is not None:
            self._proved[key] = value
        return self._units(Fraction(value) / Fraction(2) ** bits)

    def _alike(self, fused_group: FusedGroup, inner: bool, duals: Mapping[Row, int]) -> object:
        """Return all that the bound of row duals on a group depends on: layers are often equal."""
        tileable, live = self.axes[fused_group.axis], self.liveness[fused_group.axis]
        begin, end, count = fused_group.begin, fused_group.end, fused_group.count
        places: dict[int, int] = {}
        steps = tuple(
            (
                id(tileable.operations[at].mappings[count]),
                *(
                    (places.setdefault(use.tensor, len(places)), *use[1:], *self._bytes(use.tensor))
                    for use in live.uses(at, count)
                ),
            )
            for at in range(begin, end)
        )
        ends = inner, begin > 0, end < self.count
        return count, ends, end - begin, steps, frozenset(duals.items())

    def _bytes(self, tensor: int) -> tuple[int, int | Fraction]:
        """Return the bytes of a tensor, and how many move for each."""
        return self.tileable.tensors[tensor].size_bytes, self.ratios[tensor]

    def _sums(self, fused_group: FusedGroup) -> bool:
        """Return whether a fused group sums up tensors with dual values of their own."""
        if fused_group.count == 1:
            return False
        group = self.carried.group
        inner = self.axes[fused_group.axis].operations[fused_group.begin : fused_group.end]
        return any(group[t] == t for operation in inner for t in operation.partial_sums)


def _mean(own: Ints, moved: Ints, ends: Mapping[int, Ints]) -> Ints:
    """Return the best mean of two bounds on groups: their own, and by bytes that move.

    ``ends``: by part of the first, the least that is paid at their ends.
    """
    if not ends:
        return own
    best: Ints = own + ends[PARTS]
    for part in range(PARTS):
        # Divided first: no overflow.
        mean = own // PARTS * part + moved // PARTS * (PARTS - part) if part else moved
        best = np.maximum(best, ends[part] + mean)
    return best
