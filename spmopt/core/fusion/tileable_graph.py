"""A tileable graph whose operations may be fused, its fusion plans, and the problem of each.

A *fused group* is a run of operations that is computed depth first in equal micro-batches: fusion
tile 0 through all of its operations, then fusion tile 1, and so on. Where each fusion tile is one
of the whole batch, an image, it may be cut once more, into stripes
(:mod:`spmopt.core.fusion.stripe_boundaries`): stripe 0 of fusion tile 0 through all operations,
then stripe 1, and so on to the last stripe of the last fusion tile. A *cover* cuts the tileable
graph into fused groups. Tensors that a fused group cuts are in as many parts as the finest fused
group that uses them needs; a coarser one uses several parts at once. Partial sums over the batch
(gradients of weights, statistics) are written by the first fusion tile and updated in place by the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import lcm
from weakref import ReferenceType, ref

from spmopt.core.costs import Costs
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import (
    FusedGroup,
    FusionPlan,
    Origin,
    TileableOperation,
    TileMappings,
)
from spmopt.core.fusion.fusion_space import FUSION_SPACES, MOST_STRIPES, STRIPES, FusionSpace
from spmopt.core.fusion.parts import Parts
from spmopt.core.fusion.row_windows import Boundaries
from spmopt.core.fusion.stripe_boundaries import boundaries
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.operation import OpMapping, relax_mapping
from spmopt.core.order import hazards
from spmopt.core.problem import Problem, Tensor

BATCH = "the batch"
"""Name of the first axis, where it is one."""


@dataclass(frozen=True, kw_only=True)
class TileableGraph:
    """Operations in a fixed order, each whole or in micro-batches.

    ``batch`` is the number into which every number of fusion tiles divides, ``along`` the axis that
    they are of (of one sequence its tokens, for example); ``graph`` the source of the tileable
    graph, where it is known; ``stripe_mappings`` gives the mappings of an operation on some rows of
    one of ``batch`` fusion tiles: its position, the first of these rows, and the one behind the
    last; ``first_stripe_mappings`` the first of these alone, sooner. ``costs``: those of a file
    that its mappings have. ``others``: the same operations as fused groups tile them along further
    axes.
    """

    name: str
    machine: Machine
    tensors: tuple[Tensor, ...]
    operations: tuple[TileableOperation, ...]
    batch: int
    mapper: str
    along: str = field(default=BATCH, compare=False)
    source: str = ""
    graph: Graph | None = field(default=None, compare=False, repr=False)
    stripe_mappings: Callable[[int, int, int], tuple[OpMapping, ...]] | None = field(
        default=None, compare=False, repr=False
    )
    first_stripe_mappings: Callable[[int, int, int], tuple[OpMapping, ...]] | None = field(
        default=None, compare=False, repr=False
    )
    costs: Costs = field(default_factory=dict, compare=False, repr=False)
    others: tuple[TileableGraph, ...] = field(default=(), repr=False)
    _least: dict[tuple[int, int, int], OpMapping] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _fitting: dict[tuple[int, int], bool] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _needed: dict[object, tuple[TileMappings, list[int]]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Check what bounds on fusion plans rest on.

        Raises
        ------
        InputError
            An operation in several fusion tiles cuts a tensor that leaves a remainder, or has a
            result that it neither cuts nor sums up; or it takes rows of a tensor that it does not
            cut.
        """
        for operation in self.operations:
            rows = set[int]() if operation.rows is None else {*operation.rows.windows}
            if rows - operation.cut:
                raise InputError(
                    f"{operation.name}: stripes take rows of "
                    f"{self.tensors[min(rows - operation.cut)].name}, which is whole to each "
                    "fusion tile; cut it, or leave its rows out"
                )
            counts = [count for count in operation.mappings if 1 < count <= self.batch]
            if not counts:
                continue
            most = lcm(*counts)
            for t in operation.cut:
                if self.tensors[t].size_bytes % most:
                    raise InputError(
                        f"{operation.name}: {self.tensors[t].name}, {self.tensors[t].size_bytes} "
                        f"bytes, does not divide into {most} fusion tiles; leave the mappings out"
                    )
            # Only the last of such tiles would leave anything: all others' work would be lost.
            lost = {*operation.writes} - operation.cut - operation.partial_sums
            if lost:
                raise InputError(
                    f"{operation.name}: {self.tensors[min(lost)].name} is whole to each fusion "
                    "tile; a result is cut, or a partial sum"
                )

    @property
    def axes(self) -> tuple[TileableGraph, ...]:
        """The graph itself, and the same operations along each further axis."""
        return (self, *self.others)

    def along_axis(self, axis: int) -> TileableGraph:
        """Return the operations as fused groups tile them along an axis.

        Raises
        ------
        InputError
            There is no such axis.
        """
        if axis > len(self.others):
            raise InputError(f"{self.name} has {1 + len(self.others)} axes; none is number {axis}")
        return self.axes[axis]

    def fusion_space(self, name: str = "all") -> FusionSpace:
        """Return a fusion space of this tileable graph.

        ``none``: the layer-by-layer plan. ``single-product``: a fused group in several fusion tiles
        has at most one matrix product, with point-wise operations around it. ``batch``: any fused
        groups, in any number of fusion tiles that divides the batch. ``all``: also stripes, where
        windows slide over any, and fusion tiles along further axes.

        Raises
        ------
        InputError
            There is none of this name.
        """
        # 1 always, also where no operation can be cut.
        numbers = self._numbers()
        match name:
            case "none":
                return FusionSpace(name=name, micro_batches=(1,))
            case "single-product":
                return FusionSpace(name=name, micro_batches=numbers, most_products=1)
            case "batch":
                return FusionSpace(name=name, micro_batches=numbers)
            case "all":
                return FusionSpace(
                    name=name,
                    micro_batches=numbers,
                    stripes=self._stripes(),
                    others=tuple(each._numbers()[1:] for each in self.others),
                )
        raise InputError(f"no fusion plans are called {name!r}; use {', '.join(FUSION_SPACES)}")

    def _stripes(self) -> tuple[int, ...]:
        """Return numbers of stripes: few where windows slide, else powers of two up to all rows."""
        rows = [each.rows for each in self.operations if each.rows is not None]
        if not rows or not all(each.plain for each in rows):
            return STRIPES if rows else (1,)
        most = min(max(each.count for each in rows), MOST_STRIPES)
        return tuple(1 << shift for shift in range(most.bit_length()))

    def _numbers(self) -> tuple[int, ...]:
        return tuple(sorted({1, *(k for each in self.operations for k in each.mappings)}))

    def outside(self, fusion_space: FusionSpace, fusion_plan: FusionPlan) -> str:
        """Say which fused group of a fusion plan is none of a fusion space; nothing if all are."""
        for fused_group in fusion_plan:
            where = f"fused group {fused_group.begin} to {fused_group.end}"
            if not fusion_space.has(fused_group.axis, fused_group.micro_batches):
                along = f" along {self.along_axis(fused_group.axis).along}" * (fused_group.axis > 0)
                return f"{where}: is in {fused_group.micro_batches} fusion tiles{along}"
            if fused_group.stripes not in fusion_space.stripes:
                return f"{where}: is in {fused_group.stripes} stripes"
            inner = self.operations[fused_group.begin : fused_group.end]
            products = sum(each.is_product for each in inner)
            if fused_group.count > 1 and not fusion_space.takes(products):
                return (
                    f"{where}: has {products} matrix products in {fused_group.count} fusion tiles"
                )
        return ""

    def require(self, fusion_plan: FusionPlan) -> None:
        """Check that a fusion plan is one of this tileable graph.

        Raises
        ------
        InputError
            Fused groups leave something out or overlap, cut an operation that cannot be cut, or
            read a sum before it is complete; the line says which fused group, and why.
        """
        names, at = [operation.name for operation in self.operations], 0
        for number, each in enumerate(fusion_plan):
            where = f"fused_groups[{number}]"
            if each.end > len(names):
                raise InputError(
                    f"{where}: ends at {each.end}, but there are {len(names)} operations"
                )
            # Gaps and overlaps apart, as the remedies differ.
            first = names[each.begin]
            if each.begin > at:
                raise InputError(
                    f"{where}: begins with {first}, but {names[at]} before it is in no fused group"
                )
            if each.begin < at:
                raise InputError(f"{where}: {first} is in a fused group before, too")
            obstacle = self.obstacle(each)
            if obstacle:
                inner = f"{first} to {names[each.end - 1]}"
                stripes = f" of {each.stripes} stripes" if each.stripes > 1 else ""
                along = f" along {self.along_axis(each.axis).along}" if each.axis else ""
                raise InputError(
                    f"{where}, {inner} in {each.micro_batches} fusion tiles{stripes}{along}: "
                    f"{obstacle}"
                )
            at = each.end
        if at < len(names):
            raise InputError(f"fused groups: {names[at]} and all later operations are in none")

    def obstacle(self, fused_group: FusedGroup) -> str:
        """Say why a fused group cannot be computed in its fusion tiles; nothing if it can.

        No other operation may touch their partial sums over the batch: they are complete
        after the last fusion tile only. One may write it anew, before the others. A tensor that one
        of them cuts is whole to none: only fusion tiles before would have written it. Stripes are
        those of single micro-batches, and sum up nothing.
        """
        if fused_group.micro_batches == fused_group.stripes == 1:
            return ""
        if fused_group.axis:
            listed = self.along_axis(fused_group.axis)
            return listed.obstacle(replace(fused_group, axis=0))
        if fused_group.stripes > 1:
            return self._obstacle_of_stripes(fused_group) or self._obstacle_of_cuts(fused_group)
        return self._obstacle_of_fusion(fused_group) or self._obstacle_of_cuts(fused_group)

    def _obstacle_of_cuts(self, fused_group: FusedGroup) -> str:
        cut: set[int] = set()
        whole: set[int] = set()
        for operation in self.operations[fused_group.begin : fused_group.end]:
            cut |= operation.cut
            whole.update(t for t in operation.uses(0) if t not in operation.cut)
            if cut & whole:
                name = self.tensors[min(cut & whole)].name
                return (
                    f"{operation.name}: {name} is cut in the fused group, and whole to each "
                    "fusion tile"
                )
        return ""

    def _obstacle_of_fusion(self, fused_group: FusedGroup) -> str:
        if self.batch % fused_group.micro_batches:
            whole = "a batch" if self.along == BATCH else self.along
            return f"{fused_group.micro_batches} fusion tiles do not divide {whole} of {self.batch}"
        begun: set[int] = set()
        read: set[int] = set()
        for operation in self.operations[fused_group.begin : fused_group.end]:
            if fused_group.micro_batches not in operation.mappings:
                return f"{operation.name} cannot be cut along {self.along}"
            # It would discard the sums of earlier tiles.
            if any(t in begun and t not in operation.reads for t in operation.partial_sums):
                return f"{operation.name} writes a sum anew that another has begun"
            read.update(t for t in operation.reads if t not in operation.partial_sums)
            begun |= operation.partial_sums
            # Partial sums are complete after the last tile only.
            if read & begun:
                said = f"a partial sum over {self.along} is read in the fused group"
                return f"{operation.name}: {said}"
        return ""

    def _obstacle_of_stripes(self, fused_group: FusedGroup) -> str:
        if fused_group.micro_batches != self.batch:
            return (
                f"stripes are of one of {self.batch} fusion tiles each, not of "
                f"{fused_group.micro_batches}"
            )
        if self.stripe_mappings is None:
            return "it is not known how its operations are cut into stripes"
        found = boundaries(
            self.operations[fused_group.begin : fused_group.end], fused_group.stripes
        )
        return next((each for each in found if isinstance(each, str)), "")

    def boundaries(self, fused_group: FusedGroup) -> list[Boundaries]:
        """Return the rows at which stripes of each operation of a fused group begin, and how many.

        Raises
        ------
        InputError
            It cannot be cut so.
        """
        found = list[Boundaries]()
        for each in boundaries(
            self.operations[fused_group.begin : fused_group.end], fused_group.stripes
        ):
            if isinstance(each, str):
                raise InputError(f"fused group {fused_group.begin} to {fused_group.end}: {each}")
            found.append(each)
        return found

    @property
    def several_mappings(self) -> bool:
        """Whether an operation may choose among mappings, whole or in fusion tiles."""
        return any(m.choices for each in self.operations for m in each.mappings.values())

    def in_first_mappings(self) -> TileableGraph:
        """Return the graph in which each fusion tile has the first of its mappings alone."""
        known: dict[int, TileMappings] = {}

        def first(own: TileMappings) -> TileMappings:
            # Equal operations share their mappings here as well.
            return known.setdefault(id(own), own.of_first)

        operations = tuple(
            replace(each, mappings={count: first(own) for count, own in each.mappings.items()})
            for each in self.operations
        )
        return replace(
            self,
            operations=operations,
            stripe_mappings=self.first_stripe_mappings,
            others=tuple(each.in_first_mappings() for each in self.others),
        )

    def least_of_stripe(self, at: int, begin: int, end: int) -> OpMapping:
        """Return a mapping at most as costly as any of rows [begin, end) of a micro-batch."""
        rows = self.operations[at].rows
        if rows is not None and rows.plain:
            begin, end = 0, end - begin
        found = self._least.get((at, begin, end))
        if found is None:
            assert self.stripe_mappings is not None
            found = relax_mapping(self.stripe_mappings(at, begin, end))
            self._least[at, begin, end] = found
        return found

    def fits(self, at: int, micro_batches: int) -> bool:
        """Return whether an operation's resident operands and scratch buffer fit, in so many tiles.

        Of more than the batch has, which are stripes, whether it does in the mean.
        """
        found = self._fitting.get((at, micro_batches))
        if found is None:
            found = self._fitting[at, micro_batches] = self._fits(at, micro_batches)
        return found

    def _fits(self, at: int, micro_batches: int) -> bool:
        operation, machine = self.operations[at], self.machine
        mappings = operation.mappings.get(micro_batches)
        if mappings is None:
            return False
        sizes = [
            tuple(
                [
                    self.tensors[t].size_bytes // (micro_batches if t in operation.cut else 1)
                    for t in operation.uses(fusion_tile)
                ]
            )
            for fusion_tile in range(min(micro_batches, 2))  # the second stands for all later ones
        ]
        # Equal operations share their mappings.
        key = (id(mappings), *sizes)
        known = self._needed.get(key)
        if known is None or known[0] is not mappings:  # of another process
            needed = [
                min([_count_bytes(machine, each, own) for each in mappings.of_tile(fusion_tile)])
                for fusion_tile, own in enumerate(sizes)
            ]
            known = self._needed[key] = mappings, needed
        needed = known[1]
        free = machine.spm_pages * machine.page_bytes
        if micro_batches > self.batch:
            # Stripes are uneven, and only their sum is known: compare the mean.
            return needed[0] + (micro_batches - 1) * needed[-1] <= micro_batches * free
        return max(needed) <= free

    def problem(self, fusion_plan: FusionPlan) -> tuple[Problem, tuple[Origin, ...]]:
        """Return the problem of a fusion plan, and where each of its operations comes from.

        Raises
        ------
        InputError
            It is no fusion plan of this tileable graph.
        """
        self.require(fusion_plan)
        stripes = [self.boundaries(each) if each.stripes > 1 else [] for each in fusion_plan]
        parts = Parts(self, fusion_plan, stripes)
        origins = tuple(
            origin for fused_group in fusion_plan for origin in self._origins(fused_group)
        )
        operations = [parts.operation(origin) for origin in origins]
        # Parts are tensors of their own, so tiles depend on the parts they touch only.
        before = hazards([(each.reads, each.writes) for each in operations], len(parts.tensors))
        problem = Problem(
            name=self.name,
            machine=self.machine,
            tensors=tuple(parts.tensors),
            operations=tuple(
                replace(each, predecessors=tuple(sorted(earlier)))
                for each, earlier in zip(operations, before, strict=True)
            ),
            mapper=self.mapper,
            source=self.source,
            fused_from=self,
            fusion_plan=fusion_plan,
        )
        return problem, origins

    def tile_names(self, fusion_plan: FusionPlan) -> dict[str, str]:
        """Return the names of operations by those of their fusion tiles."""
        origins = (origin for fused_group in fusion_plan for origin in self._origins(fused_group))
        names = [operation.name for operation in self.operations]
        return {
            origin.with_name(names[origin.operation]): names[origin.operation]
            for origin in origins
            if origin.micro_batches > 1 or origin.rows is not None
        }

    def _origins(self, fused_group: FusedGroup) -> Iterator[Origin]:
        """Yield the fusion tiles of operations of a fused group, in their order."""
        every = range(fused_group.begin, fused_group.end)
        count, axis = fused_group.micro_batches, fused_group.axis
        if fused_group.stripes == 1:
            along = self.axes[axis].along if axis else ""
            for fusion_tile in range(count):
                yield from (Origin(at, fusion_tile, count, axis=axis, along=along) for at in every)
            return
        stripes = [*zip(*map(pairwise, self.boundaries(fused_group)), strict=True)]
        for fusion_tile in range(fused_group.micro_batches):
            for stripe in stripes:
                for at, rows in zip(every, stripe, strict=True):
                    yield Origin(at, fusion_tile, fused_group.micro_batches, rows)


def _count_bytes(machine: Machine, mapping: OpMapping, sizes: Sequence[int]) -> int:
    """Return the bytes of required-resident operands and scratch."""
    resident = [
        size for size, each in zip(sizes, mapping.operands, strict=True) if each.required_resident
    ]
    return sum(resident) + machine.pages(mapping.scratch_bytes) * machine.page_bytes


_last: list[tuple[ReferenceType[Problem], TileableGraph]] = []
"""The problem whose graph was asked for last: who chooses and who schedules ask for the same,
which of 22,000 operations takes seconds."""


def source_graph(fused: Problem) -> TileableGraph:
    """Return the tileable graph of the problem of a fusion plan."""
    assert isinstance(fused.fused_from, TileableGraph)
    return fused.fused_from


def tileable_graph_of(problem: Problem) -> TileableGraph:
    """Return the tileable graph whose whole operations a problem has.

    Raises
    ------
    InputError
        There is none.
    """
    if _last and _last[0][0]() is problem:
        return _last[0][1]
    if problem.listed is None:
        raise InputError(
            f"problem {problem.name}: its operations are fixed; fusion tiles need a network or an "
            "ONNX file, or take the scheduler residency"
        )
    found = problem.listed(problem.machine)
    assert isinstance(found, TileableGraph)
    tileable = replace(found, name=problem.name, source=problem.source)
    # A changed problem (other cycles, other tensors) must not get tiles of the old one.
    if tileable.problem(whole(tileable))[0] != problem:
        raise InputError(
            f"problem {problem.name}: was changed after it was lowered, so that it is not known "
            "what its operations compute; lower it anew, or take the scheduler residency"
        )
    _last[:] = [(ref(problem), tileable)]
    return tileable


def whole(tileable: TileableGraph) -> FusionPlan:
    """Return the fusion plan of whole operations: the layer-by-layer plan."""
    return (FusedGroup(begin=0, end=len(tileable.operations)),)
