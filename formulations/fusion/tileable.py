"""Inputs of programs of groups from a graph: uses, live tensors after them, figures of mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from formulations.fusion.uses import OperandUses, Use
from formulations.solver.program import Floats
from spmopt.core.compression import ratios_of
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import FusionSpace, Way
from spmopt.core.fusion.stripe_bounds import Striped, UsePattern, follow
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective
from spmopt.core.operation import OpMapping
from spmopt.core.params import DEFAULTS, FusionParams

READ, REST = -1, -2
"""Groups of tensors that cross boundaries together: tensors read once and never written; sums, and
others."""
_PRICED = 4000
"""Dual values of tensors that live longer: programs of a long plan in a row have as many rows."""
_LIFE = 8
"""Operations from the first use of a tensor to its last, within which it is priced by itself at
boundaries: ResNet-50 training has 55,000 such dual values of all tensors written, and 5,000 of
tensors soon dead; these raise its bound on 24 MB from 59.98 to 60.18 ms in 7 s, those never in a
minute."""


def has_stripes(tileable: TileableGraph, fusion_space: FusionSpace) -> bool:
    """Return whether groups of a fusion space may be cut into stripes."""
    rows = any(each.rows is not None for each in tileable.operations)
    return rows and len(fusion_space.stripes) > 1


class Listed:
    """A tileable graph, with mappings for stripes, in the order in which fused groups see it.

    ``fusion_space``: of fusion plans, by default of all. ``first``: of a further axis, the graph
    as it is tiled along the first.

    Attributes
    ----------
    given
        The tileable graph without mappings for stripes.
    asked, objective
        The objective, and the part of it that bytes which move have.
    accesses
        Of each tensor: the operations that use it, in order, and whether each reads it.
    ratios
        Of each tensor: bytes that move per byte on chip.
    patterns
        Of a tileable graph of stripes: those of each tensor that is cut.
    axes
        This graph, and the same operations along each further axis of the fusion space.
    ways
        All ways to tile a group, those of the first axis first.
    least_alone
        Least costs of operations alone, as far as they are known, by :meth:`kind`.
    """

    def __init__(
        self,
        tileable: TileableGraph,
        objective: Objective,
        fusion_space: FusionSpace | None = None,
        params: FusionParams = DEFAULTS.fusion,
        first: Listed | None = None,
    ) -> None:
        self.params = params
        self.first = self if first is None else first
        self.fusion_space = tileable.fusion_space() if fusion_space is None else fusion_space
        self.given, self.striped = tileable, Striped(tileable, self.fusion_space.stripes)
        machine = tileable.machine
        self.tileable, self.asked = self.striped.tileable, objective
        self.objective = objective.of_moved(machine.most_moved)
        self.capacity = machine.spm_pages * machine.page_bytes
        self.bytes_per_cycle = float(machine.bytes_per_cycle)
        self.count = len(tileable.operations)
        self.accesses: list[list[tuple[int, bool]]] = [[] for _ in tileable.tensors]
        for at, operation in enumerate(tileable.operations):
            for tensor in operation.uses(0):
                self.accesses[tensor].append((at, tensor in operation.reads))
        self.sizes = [tensor.size_bytes for tensor in tileable.tensors]
        self.ratios = [float(each) for each in ratios_of(machine, tileable.tensors)]
        # Bytes that move: of those that may be on chip, the most.
        self.most_held = float(machine.most_moved) * self.capacity
        self.patterns: Mapping[int, Sequence[UsePattern]] = {}
        self._range, self._of_fused_group = range(self.count), False
        self._uses = OperandUses(self.tileable.operations, self.live_after)
        self._figures: dict[tuple[str, int], tuple[Floats, Floats]] = {}
        self._alike: dict[object, int] = {}
        self._kinds: dict[tuple[int, int], int] = {}
        self.least_alone: dict[int, float] = {}
        self._reaches: dict[int, list[int]] = {}
        if first is not None:
            # Programs of equal content are equal, whatever axis they are of.
            self._alike, self.least_alone = first._alike, first.least_alone
        self.ways = self.fusion_space.ways(tileable.batch)
        self.axes = [self]
        for numbers, other in zip(self.fusion_space.others, tileable.others, strict=False):
            space = FusionSpace(name=self.fusion_space.name, micro_batches=(1, *numbers))
            self.axes.append(Listed(other, objective, space, params, self))

    def of(self, fused_group: FusedGroup) -> Listed:
        """Return the graph as it is tiled along the axis of a fused group."""
        return self.axes[fused_group.axis]

    def way(self, fused_group: FusedGroup) -> int:
        """Return the number of the way in which a fused group is tiled."""
        return self.ways.index(Way(fused_group.axis, fused_group.count))

    def live_after(self, tensor: int, at: int) -> bool:
        """Return whether the contents of a tensor after an operation are needed."""
        for later, reads in self.accesses[tensor]:
            if later > at:
                return reads
        return self.tileable.tensors[tensor].keep

    @cached_property
    def groups(self) -> list[int]:
        """Of each tensor: the group it is carried across boundaries with.

        That is its own number if it is never summed up, written or read more than once, and of a
        short life, as far as there may be dual values; ``READ`` if it is never written (all of
        these together); else, and if it crosses no boundary, ``REST``.
        """
        if self.first is not self:
            return self.first.groups
        cross = {group for crossed in self.crossing for group in crossed}
        return [group if group in cross else REST for group in self._kinds_of]

    @cached_property
    def least_ratios(self) -> dict[int, float]:
        """The least ratio of the tensors of each group."""
        found = dict[int, float]()
        for group, ratio in zip(self.groups, self.ratios, strict=True):
            found[group] = min(found.get(group, ratio), ratio)
        return found

    @cached_property
    def written(self) -> set[int]:
        """Tensors that operations write."""
        return {t for operation in self.tileable.operations for t in operation.writes}

    @cached_property
    def _kinds_of(self) -> list[int]:
        written, summed = self.written, set[int]()
        for operation in self.tileable.operations:
            summed |= operation.partial_sums
        last = [
            self.count if tensor.keep else each[-1][0] if each else 0
            for tensor, each in zip(self.tileable.tensors, self.accesses, strict=True)
        ]
        lives = [
            end - each[0][0] if each else 0 for end, each in zip(last, self.accesses, strict=True)
        ]
        # Bytes that are read once are alike: whatever is loaded for later is such.
        several = [t in written or len(each) > 1 for t, each in enumerate(self.accesses)]
        own, known = set[int](), 0
        # Beside stripes, of which programs know little, prices of long lives raise no bound.
        most = 0 if has_stripes(self.tileable, self.fusion_space) else _PRICED
        for t in sorted(range(len(lives)), key=lives.__getitem__):
            known += lives[t] * several[t]
            if several[t] and t not in summed and (lives[t] <= _LIFE or known <= most):
                own.add(t)
        return [t if t in own else REST if t in written else READ for t in range(len(self.sizes))]

    @cached_property
    def crossing(self) -> list[dict[int, float]]:
        """Before each operation, and at the end: bytes that are needed then, by group.

        Not of the rest, nor at the two ends, where nothing is on chip.
        """
        if self.first is not self:
            return self.first.crossing
        found = [dict[int, float]() for _ in range(self.count + 1)]
        for tensor, accesses in enumerate(self.accesses):
            group, before = self._kinds_of[tensor], -1
            if group == REST or not accesses:
                continue
            last = [(self.count, True)] if self.tileable.tensors[tensor].keep else []
            for at, reads in [*accesses, *last]:
                for boundary in range(before + 1, at + 1) if reads else ():
                    crossed = found[boundary]
                    crossed[group] = crossed.get(group, 0.0) + self.sizes[tensor]
                before = at
        # At both ends of the list nothing is on chip.
        found[0], found[-1] = {}, {}
        return found

    def mappings(self, at: int, micro_batches: int) -> tuple[Use, ...]:
        """Return the uses of an operation in ``micro_batches``.

        By the operands of its mapping then.
        """
        return self._uses.of(at, micro_batches)

    @property
    def micro_batches(self) -> list[int]:
        """All numbers of fusion tiles along the axis, of a further one those from 2.

        Stripes are among them: those of more than the batch has.
        """
        counts = self.fusion_space.counts(self.tileable.batch)
        return counts if self.first is self else counts[1:]

    def fused_group(self, begin: int, end: int, way: int) -> FusedGroup:
        """Return the fused group that is tiled in a way, by its number."""
        numbers, (axis, count) = self.fusion_space.micro_batches, self.ways[way]
        if way < len(numbers) or axis:
            return FusedGroup(begin=begin, end=end, micro_batches=count, axis=axis)
        batch = self.tileable.batch
        return FusedGroup(begin=begin, end=end, micro_batches=batch, stripes=count // batch)

    def of_stripes(self, fused_group: FusedGroup) -> tuple[Listed, FusedGroup]:
        """Return a tileable graph that has a group of stripes as one of tiles, and that group."""
        tileable, found, patterns = follow(self.tileable, fused_group)
        listed = copy(self)
        # Cached figures of the graph without stripes would be wrong for this one.
        for name in ("compulsory", "apart", "boundaries"):
            listed.__dict__.pop(name, None)
        listed.__dict__.update(groups=self.groups, crossing=self.crossing)
        listed.tileable, listed.patterns = tileable, patterns
        listed.fusion_space = FusionSpace(
            name=self.fusion_space.name, micro_batches=(1, found.micro_batches)
        )
        listed._range, listed._of_fused_group = range(fused_group.begin, fused_group.end), True
        listed._uses = OperandUses(tileable.operations, listed.live_after)
        listed._figures, listed._alike, listed._kinds, listed.least_alone = {}, {}, {}, {}
        return listed, found

    def allows(self, fused_group: FusedGroup) -> bool:
        """Return whether a group is one of the graph, in a fusion plan of the fusion space."""
        tileable = self.tileable
        return not tileable.outside(self.fusion_space, (fused_group,)) and not tileable.obstacle(
            fused_group
        )

    @property
    def dearest_row(self) -> float:
        """Objective units of the dearest multiple of a row: of a step's time, or of a byte."""
        objective, machine = self.objective, self.tileable.machine
        byte = max(float(objective.dram_in_byte), float(objective.dram_out_byte))
        return max(float(objective.cycle) / machine.dram_bytes_per_s, byte)

    @cached_property
    def compulsory(self) -> float:
        """Lower bound on every fusion plan: bytes that come and go once, and all computing.

        A byte whose first use reads it must come, one that is written and kept must go.
        """
        tensors, objective = self.tileable.tensors, self.objective
        written = self.written
        sizes = [size * ratio for size, ratio in zip(self.sizes, self.ratios, strict=True)]
        into = sum(
            size for size, used in zip(sizes, self.accesses, strict=True) if used and used[0][1]
        )
        out = sum(sizes[t] for t in written if tensors[t].keep)
        # R6: two channels run side by side, one carries both directions.
        moved = max(into, out) if self.tileable.machine.duplex else into + out
        # The tile count of each operation is free: the least of all bounds every plan.
        every = [(own, count) for own in self.axes for count in own.micro_batches]
        cycles = np.min([own.cycles(count) for own, count in every], axis=0)
        always = [
            np.where(np.isfinite(own.cycles(count)), own.unavoidable(count), np.inf)
            for own, count in every
        ]
        time = max(float(cycles.sum()), moved / self.bytes_per_cycle)
        found = float(objective.cycle) * time + float(np.min(always, axis=0).sum())
        return found + float(objective.dram_in_byte) * into + float(objective.dram_out_byte) * out

    @cached_property
    def apart(self) -> list[int]:
        """Of each operation: the last before that no group of several tiles has with it; or -1.

        One sums up an input of the other, or both write the same sum anew, or one cuts a tensor
        that is whole to each fusion tile of the other.
        """
        found, summed, read = list[int](), dict[int, int](), dict[int, int]()
        cut, whole = dict[int, int](), dict[int, int]()
        for at, operation in enumerate(self.tileable.operations):
            reads = [t for t in operation.reads if t not in operation.partial_sums]
            anew = [t for t in operation.partial_sums if t not in operation.reads]
            before = [summed.get(t, -1) for t in (*anew, *reads)]
            before += [read.get(t, -1) for t in operation.partial_sums]
            others = set(operation.uses(0)) - operation.cut
            before += [whole.get(t, -1) for t in operation.cut]
            before += [cut.get(t, -1) for t in others]
            found.append(max(before, default=-1))
            cut |= dict.fromkeys(operation.cut, at)
            whole |= dict.fromkeys(others, at)
            summed |= dict.fromkeys(operation.partial_sums, at)
            read |= dict.fromkeys(reads, at)
        return found

    def reaches(self, micro_batches: int) -> list[int]:
        """Return the farthest end of a fused group of so many fusion tiles, by its begin."""
        if micro_batches not in self._reaches:
            self._reaches[micro_batches] = self._reach(micro_batches)
        return self._reaches[micro_batches]

    def _reach(self, micro_batches: int) -> list[int]:
        tileable = self.tileable
        products = np.cumsum([0, *(each.is_product for each in tileable.operations)])
        stripes = self.striped.reach.get(micro_batches)
        fits = [tileable.fits(at, micro_batches) for at in range(self.count)]
        found, end = list[int](), 0
        for begin in range(self.count):
            end, last = max(end, begin), self.count if stripes is None else stripes[begin]
            while end < last and fits[end]:
                if micro_batches > 1 and (
                    self.apart[end] >= begin
                    or not self.fusion_space.takes(int(products[end + 1] - products[begin]))
                ):
                    break
                end += 1
            found.append(min(end, last))
        return found

    @cached_property
    def longest_tiled(self) -> int:
        """Operations of the longest group in several tiles."""
        every = [
            own.reaches(count) for own in self.axes for count in own.micro_batches if count > 1
        ]
        return max((end - at for each in every for at, end in enumerate(each)), default=0)

    @cached_property
    def boundaries(self) -> list[int]:
        """Positions before products, before and after operations that cannot be cut.

        And after sums. Point-wise work remains with its predecessor.
        """
        found = set[int]()
        for at, operation in enumerate(self.tileable.operations):
            if operation.mappings[1].first.macs or len(operation.mappings) == 1:
                found.add(at)
            if len(operation.mappings) == 1 or operation.partial_sums:
                found.add(at + 1)
        return sorted(found - {0, self.count})

    def alike(self, fused_group: FusedGroup) -> object:
        """Return the same for fused groups whose programs are the same.

        Fused groups of equal layers have the same program, but for the names of tensors; not the
        first and the last, before and after which nothing is on chip.
        """
        places: dict[int, int] = {}
        steps = []
        for at in range(fused_group.begin, fused_group.end):
            uses = self.mappings(at, fused_group.micro_batches)
            kind = self.kind(at, fused_group.micro_batches)
            steps.append((kind, *(places.setdefault(use.tensor, len(places)) for use in uses)))
        # At the ends of the list h = 0, which makes another program of equal operations.
        ends = fused_group.begin == 0, fused_group.end == self.count
        return (fused_group.micro_batches, *ends, *steps)

    def kind(self, at: int, count: int) -> int:
        """Return the same number for operations that are the same to programs, in so many tiles."""
        kind = self._kinds.get((at, count))
        if kind is None:
            operation = self.tileable.operations[at]
            content = (
                count,
                # Equal operations share their mappings, which live as long as the graph.
                id(operation.mappings.get(count)),
                bool(np.isfinite(self.cycles_of(count)[0][at])),
                self._uses.form(at),
                *[(self.sizes[tensor], self.ratios[tensor]) for tensor in operation.uses(0)],
            )
            kind = self._kinds[at, count] = self._alike.setdefault(content, len(self._alike))
        return kind

    def cycles(self, micro_batches: int) -> Floats:
        """Return (n,) cycles of computing of all tiles; infinite where impossible or too large."""
        first, later = self.cycles_of(micro_batches)
        total: Floats = first if micro_batches == 1 else first + (micro_batches - 1) * later
        return total

    def cycles_of(self, micro_batches: int) -> tuple[Floats, Floats]:
        """Return (n,) cycles of the first fusion tile, and of each other."""
        return self._of_all("cycles", micro_batches, lambda mapping: mapping.compute_cycles)

    def unavoidable(self, micro_batches: int) -> Floats:
        """Return (n,) costs of all tiles that do not depend on residency.

        Accesses of the SPM, and MACs.
        """
        objective = self.objective
        if not objective.weighs_mappings:
            return np.zeros(self.count)
        first, later = self._of_all(
            "unavoidable",
            micro_batches,
            lambda mapping: float(objective.of_mappings(*mapping.unchanging)),
        )
        total: Floats = first if micro_batches == 1 else first + (micro_batches - 1) * later
        return total

    def scratch(self, micro_batches: int) -> Floats:
        """Return (n,) bytes of scratch in whole pages, the mean over fusion tiles."""
        first, later = self.scratch_of(micro_batches)
        fits = np.isfinite(first)
        total = np.where(fits, first, 0.0) + (micro_batches - 1) * np.where(fits, later, 0.0)
        mean: Floats = total / micro_batches
        return mean

    def scratch_of(self, micro_batches: int) -> tuple[Floats, Floats]:
        """Return (n,) bytes of scratch in whole pages of the first tile, and of each other."""
        machine = self.tileable.machine
        return self._of_all(
            "scratch",
            micro_batches,
            lambda mapping: machine.pages(mapping.scratch_bytes) * machine.page_bytes,
        )

    def _of_all(
        self, name: str, micro_batches: int, figure: Callable[[OpMapping], float]
    ) -> tuple[Floats, Floats]:
        """Return a figure of the mappings (n,) of first and later tiles; infinite without one."""
        known = self._figures.get((name, micro_batches))
        if known is not None:
            return known
        first, later = np.full((2, self.count), np.inf)
        self._figures[name, micro_batches] = first, later
        for at in self._range:
            # Whether the stripes of a fused group fit, rows of its program say: the least of all
            # may.
            can = micro_batches in self.tileable.operations[at].mappings
            if can and (self._of_fused_group or self.tileable.fits(at, micro_batches)):
                mappings = self.tileable.operations[at].mappings[micro_batches]
                first[at], later[at] = figure(mappings.first), figure(mappings.later)
        return first, later
