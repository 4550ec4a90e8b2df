"""Symmetries of an instance: branches that are equal, so that either may run first.

An *automorphism* maps operations to operations and tensors to tensors so that all is kept: sizes,
flags, modes, who reads and writes what, dependences. The image of a schedule of the joint model's
class is one of the class too, and takes as long. So of all images of a schedule one may be chosen:
that of which the steps of operations 0, 1, 2, ... are lexicographically least. There an operation
runs before all others that it is mapped to by automorphisms which leave those listed before it in
place. Steps are all different, so these pairs say all (Puget, CP 2005).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.order import dependences
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.table import Ints

_MOST_WORK = 2_000_000  # edges looked at, some two seconds; what is not found by then is not used


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


def interchanges(instance: Instance) -> tuple[Interchange, ...]:
    """Return pairs of operations of which the first may be demanded to run first, all at once.

    By ``first``; for each of these one automorphism that maps it to each other one that any does.
    """
    graph = _Graph(instance)
    found = []
    for first in range(len(instance.operations)):
        fixed = [*range(first)]
        for other in graph.alike(first, fixed):
            by = graph.automorphism([*fixed, first], [*fixed, other])
            if by is not None:
                found.append(Interchange(first=first, other=other, by=by))
    return tuple(found)


def mirrored(plan: Plan, pairs: Sequence[Interchange]) -> Plan:
    """Return the image of a plan that keeps the order of all ``pairs``."""
    for first in sorted({pair.first for pair in pairs}):
        place = np.argsort(plan.steps.operation)
        others = [pair for pair in pairs if pair.first == first]
        best = min(others, key=lambda pair: place[pair.other])
        if place[best.other] < place[first]:
            plan = _mirror(plan, best.by)
    return plan


def _mirror(plan: Plan, by: Automorphism) -> Plan:
    """What an operation does in the plan its preimage does in the image; without addresses."""
    operation, tensor = (_inverse(each) for each in (by.operation, by.tensor))
    residency = [(int(tensor[row[0]]), *row[1:]) for row in plan.residency.rows()]
    stores = [(step, int(tensor[stored]), size) for step, stored, size in plan.stores.rows()]
    return Plan(
        steps=replace(plan.steps, operation=operation[plan.steps.operation]),
        residency=Residency.of_rows(sorted(residency)),
        stores=Stores.of_rows(sorted(stores)),
    )


def _inverse(mapping: Sequence[int]) -> Ints:
    return np.argsort(np.array(mapping, np.int64))


class _Graph:
    """Operations and tensors as nodes of a colored graph with colored edges."""

    def __init__(self, instance: Instance) -> None:
        self._count = len(instance.operations)
        needed = dependences(instance)
        tensors = instance.tensors
        bypass = instance.machine.bypass
        nodes = self._count + len(tensors)
        self._edges: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
        self._labels: dict[object, int] = {}
        for index, operation in enumerate(instance.operations):
            for place, tensor in enumerate(operation.tensors):
                label = (
                    tensor in operation.reads,
                    tensor in operation.writes,
                    tuple(
                        (mode.operands[place].passes, mode.operands[place].stationary)
                        for mode in operation.modes
                    ),
                )
                self._edge(index, self._count + tensor, label)
            for earlier in needed[index]:
                self._edge(earlier, index, "before")
        own: list[object] = [
            tuple((mode.compute_cycles, mode.scratch_bytes) for mode in operation.modes)
            for operation in instance.operations
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
        """Return later operations that have its color if ``fixed`` stay in place."""
        if self._work >= _MOST_WORK:
            return []
        (color,) = self._colors([fixed])
        later = range(operation + 1, self._count)
        return [other for other in later if color[other] == color[operation]]

    def automorphism(self, left: list[int], right: list[int]) -> Automorphism | None:
        """One that maps the nodes ``left`` to those of ``right``, or None if none is found."""
        for mapping in self._mappings(left, right):
            if self._is_automorphism(mapping):
                split = self._count
                return Automorphism(
                    operation=tuple(mapping[:split]),
                    tensor=tuple(node - split for node in mapping[split:]),
                )
        return None

    def _mappings(self, left: list[int], right: list[int]) -> Iterator[list[int]]:
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
            yield from self._mappings([*left, several], [*right, image])

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

    def _is_automorphism(self, mapping: Sequence[int]) -> bool:
        return all(
            self._own[node] == self._own[image]
            and Counter((label, mapping[other]) for label, other in self._edges[node])
            == Counter(self._edges[image])
            for node, image in enumerate(mapping)
        )


def _nearest(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Map nodes to others of their color, but leave in place what has the same color in both."""
    moved: defaultdict[int, list[int]] = defaultdict(list)
    for node, (left, right) in enumerate(zip(one, other, strict=True)):
        if left != right:
            moved[right].append(node)
    images = {color: iter(nodes) for color, nodes in moved.items()}
    return [
        node if left == right else next(images[left])
        for node, (left, right) in enumerate(zip(one, other, strict=True))
    ]
