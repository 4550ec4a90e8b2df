"""A few steps of a long fusion plan that show how all of it chooses among mappings.

Layers repeat, and so do their fusion tiles: mappings that are good in one layer are good in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.fusion.fused_groups import Origin
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Problem, Tensor

_SHOWN, _LARGEST = 0.95, 0.5
"""The share of all work that is of kinds that occur in a sample, and the most steps that it has."""


def sample(problem: Problem, origins: Sequence[Origin]) -> tuple[Problem, Sequence[Origin]] | None:
    """Return the fewest steps in a row in which most kinds of steps occur, and their origins.

    None where they are half of the problem, or more. Steps are of a kind if they choose among the
    same mappings.
    """
    kinds = _kinds(problem)
    # Computing and moving take about as long as they can: the one stands for both.
    work = [each.mappings[0].compute_cycles for each in problem.operations]
    span = _shortest(kinds, _common(kinds, work))
    if len(span) > _LARGEST * len(kinds):
        return None
    return _part(problem, span), origins[span.start : span.stop]


def _kinds(problem: Problem) -> list[int]:
    """Return a number for each step, the same of those that choose among the same mappings."""
    # By identity first: to compare mappings of thousands of tiles takes long.
    known = dict[tuple[int, ...], int]()
    number = dict[tuple[OpMapping, ...], int]()
    found = list[int]()
    for each in problem.operations:
        key = tuple(map(id, each.mappings))
        if key not in known:
            known[key] = number.setdefault(each.mappings, len(number))
        found.append(known[key])
    return found


def _common(kinds: Sequence[int], work: Sequence[int]) -> set[int]:
    """Return the kinds of steps that do most of the work."""
    total = Counter[int]()
    for kind, own in zip(kinds, work, strict=True):
        total[kind] += own
    found, shown = set[int](), 0
    for kind, own in total.most_common():
        if shown >= _SHOWN * sum(work):
            break
        found.add(kind)
        shown += own
    return found


def _shortest(kinds: Sequence[int], wanted: set[int]) -> range:
    """Return the first of the shortest spans in which all of some kinds occur."""
    best, begin, inside = range(len(kinds)), 0, Counter[int]()
    for end, kind in enumerate(kinds, 1):
        inside[kind] += kind in wanted
        # The first step can go where its kind comes again, or is not wanted.
        while inside[kinds[begin]] > 1 or kinds[begin] not in wanted:
            inside[kinds[begin]] -= kinds[begin] in wanted
            begin += 1
            if begin == end:
                break
        if end - begin < len(best) and all(inside[each] for each in wanted):
            best = range(begin, end)
    return best


def _part(problem: Problem, span: range) -> Problem:
    """Return some steps in a row as a problem: results of others are in DRAM."""
    inside = problem.operations[span.start : span.stop]
    used = dict.fromkeys(t for each in inside for t in each.tensors)
    place = {t: number for number, t in enumerate(used)}
    known, made = set[int](), set[int]()
    for each in inside:
        known.update(t for t in each.reads if t not in made)
        made.update(each.writes)
    later = {t for each in problem.operations[span.stop :] for t in each.reads}

    def tensor(t: int) -> Tensor:
        own = problem.tensors[t]
        return replace(own, in_dram=own.in_dram or t in known, keep=own.keep or t in later)

    def operation(own: Operation) -> Operation:
        return replace(
            own,
            reads=tuple(place[t] for t in own.reads),
            writes=tuple(place[t] for t in own.writes),
            predecessors=tuple(k - span.start for k in own.predecessors if k >= span.start),
        )

    return replace(
        problem,
        tensors=tuple(map(tensor, used)),
        operations=tuple(map(operation, inside)),
        listed=None,
        fused_from=None,
        fusion_plan=(),
    )
