"""Symmetries of a problem: branches that are equal, so that either may run first.

An *automorphism* maps operations to operations and tensors to tensors so that all is kept: sizes,
flags, mappings, operands, dependences. The image of a schedule of the joint model's class is one of
the class too, and takes as long. So of all images of a schedule one may be chosen: that of which
the steps of operations 0, 1, 2, ... are lexicographically least. There an operation runs before all
others that it is mapped to by automorphisms which leave those listed before it in place. Steps are
all different, so these pairs say all (Puget, CP 2005).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.table import Ints

_MOST_WORK = 2_000_000  # edges looked at, some two seconds; symmetries found later are not used


@dataclass(frozen=True, slots=True, kw_only=True)
class Automorphism:
    """Where each operation and each tensor goes."""

    operation: tuple[int, ...]
    tensor: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interchange:
    """``by`` maps operation ``first`` to ``other``, and leaves those listed before in place."""

    first: int
    other: int
    by: Automorphism


def interchanges(problem: Problem) -> tuple[Interchange, ...]:
    """Return pairs of operations of which the first may be demanded to run first, all at once.

    By ``first``; for each of these one automorphism that maps it to each other one that any does.
    """
    graph = _Graph(problem)
    found = []
    for first in range(len(problem.operations)):
        fixed = [*range(first)]
        for other in graph.alike(first, fixed):
            by = graph.automorphism([*fixed, first], [*fixed, other])
            if by is not None:
                found.append(Interchange(first=first, other=other, by=by))
    return tuple(found)


def mirror(residency_plan: ResidencyPlan, pairs: Sequence[Interchange]) -> ResidencyPlan:
    """Return the image of a residency plan that keeps the order of all ``pairs``."""
    for first in sorted({pair.first for pair in pairs}):
        place = np.argsort(residency_plan.steps.operation)
        others = [pair for pair in pairs if pair.first == first]
        best = min(others, key=lambda pair: place[pair.other])
        if place[best.other] < place[first]:
            residency_plan = _mirror(residency_plan, best.by)
    return residency_plan


def _mirror(residency_plan: ResidencyPlan, by: Automorphism) -> ResidencyPlan:
    """The events of an operation in the plan are those of its preimage in the image.

    Without addresses.
    """
    operation, tensor = (_inverse(each) for each in (by.operation, by.tensor))
    residency = [(int(tensor[row[0]]), *row[1:]) for row in residency_plan.residency.rows()]
    stores = [
        (step, int(tensor[stored]), size) for step, stored, size in residency_plan.stores.rows()
    ]
    return ResidencyPlan(
        steps=replace(residency_plan.steps, operation=operation[residency_plan.steps.operation]),
        residency=Residency.of_rows(sorted(residency)),
        stores=Stores.of_rows(sorted(stores)),
    )


def _inverse(relabeling: Sequence[int]) -> Ints:
    return np.argsort(np.array(relabeling, np.int64))


class _Graph:
    """Operations and tensors as nodes of a colored graph with colored edges."""

    def __init__(self, problem: Problem) -> None:
        self._count = len(problem.operations)
        needed = dependences(problem)
        tensors = problem.tensors
        bypass = problem.machine.bypass
        nodes = self._count + len(tensors)
        self._edges: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
        self._labels: dict[object, int] = {}
        for index, operation in enumerate(problem.operations):
            for place, tensor in enumerate(operation.tensors):
                label = (
                    tensor in operation.reads,
                    tensor in operation.writes,
                    tuple(
                        (mapping.operands[place].fetches, mapping.operands[place].required_resident)
                        for mapping in operation.mappings
                    ),
                )
                self._edge(index, self._count + tensor, label)
            for earlier in needed[index]:
                self._edge(earlier, index, "before")
        own: list[object] = [
            tuple((mapping.compute_cycles, mapping.scratch_bytes) for mapping in operation.mappings)
            for operation in problem.operations
        ]
        own += [
            (tensor.size_bytes, tensor.in_dram, tensor.keep, tensor.kind in bypass)
            for tensor in tensors
        ]
        self._own = own
        self._size = nodes + sum(map(len, self._edges))
        self._work = 0

    def _edge(self, one: int, other: int, label: object) -> None:
        number = self._labels.setdefault(label, len(self._labels))
        self._edges[one].append((2 * number, other))
        self._edges[other].append((2 * number + 1, one))

    def alike(self, operation: int, fixed: Sequence[int]) -> list[int]:
        """Return later operations that have its color if ``fixed`` remain in place."""
        if self._work >= _MOST_WORK:
            return []
        (color,) = self._colors([fixed])
        later = range(operation + 1, self._count)
        return [other for other in later if color[other] == color[operation]]

    def automorphism(self, left: list[int], right: list[int]) -> Automorphism | None:
        """One that maps the nodes ``left`` to those of ``right``, or None if none is found."""
        for relabeling in self._relabelings(left, right):
            if self._is_automorphism(relabeling):
                split = self._count
                return Automorphism(
                    operation=tuple(relabeling[:split]),
                    tensor=tuple(node - split for node in relabeling[split:]),
                )
        return None

    def _relabelings(self, left: list[int], right: list[int]) -> Iterator[list[int]]:
        """Mappings between nodes of equal colors; at first those that move few nodes."""
        if self._work >= _MOST_WORK:
            return
        one, other = self._colors([left, right])
        if Counter(one) != Counter(other):
            return
        yield _nearest(one, other)
        size = Counter(one)
        several = next((node for node, color in enumerate(one) if size[color] > 1), None)
        if several is None:
            return
        for image in [node for node, color in enumerate(other) if color == one[several]]:
            yield from self._relabelings([*left, several], [*right, image])

    def _colors(self, pinned: Sequence[Sequence[int]]) -> list[list[int]]:
        """Refine the colors of copies of the graph, each with its own nodes pinned."""
        colors: list[list[object]] = []
        for nodes in pinned:
            place = {node: index for index, node in enumerate(nodes)}
            colors.append([(own, place.get(node, -1)) for node, own in enumerate(self._own)])
        count = 0
        while True:
            names: dict[object, int] = {}
            numbered = [[names.setdefault(color, len(names)) for color in copy] for copy in colors]
            if len(names) == count:
                return numbered
            count = len(names)
            self._work += len(pinned) * self._size
            colors = [
                [
                    (color, tuple(sorted((label, copy[other]) for label, other in edges)))
                    for color, edges in zip(copy, self._edges, strict=True)
                ]
                for copy in numbered
            ]

    def _is_automorphism(self, relabeling: Sequence[int]) -> bool:
        return all(
            self._own[node] == self._own[image]
            and Counter((label, relabeling[other]) for label, other in self._edges[node])
            == Counter(self._edges[image])
            for node, image in enumerate(relabeling)
        )


def _nearest(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Map nodes to others of their color, but leave in place nodes with the same color in both."""
    moved: defaultdict[int, list[int]] = defaultdict(list)
    for node, (left, right) in enumerate(zip(one, other, strict=True)):
        if left != right:
            moved[right].append(node)
    images = {color: iter(nodes) for color, nodes in moved.items()}
    return [
        node if left == right else next(images[left])
        for node, (left, right) in enumerate(zip(one, other, strict=True))
    ]
