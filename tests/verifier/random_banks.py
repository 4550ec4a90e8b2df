"""Random legal schedules of a scratchpad with banks: any page in any bank, moved now and then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import Moves, Placements, Schedule
from tests.verifier.random_plans import random_residency_plan

_Page = tuple[int, int]
"""Tensor (-1: scratch) and page of it."""


def random_banked(problem: Problem, generator: np.random.Generator) -> Schedule:
    """Residency, mappings, streams and stores at random.

    Pages at random addresses, some that move.
    """
    schedule = assemble(problem, random_residency_plan(problem, generator, False))
    return shuffled(problem, schedule, generator, stay=float(generator.uniform(0.3, 1.0)))


def shuffled(
    case: Problem, schedule: Schedule, generator: np.random.Generator, stay: float = 0.6
) -> Schedule:
    """The same schedule page by page at random addresses; a page keeps its own as often as not."""
    rows, moved = _addresses(case, schedule, generator, stay)
    page_bytes = case.machine.page_bytes
    told = [
        (step, tensor, page * page_bytes, min((page + 1) * page_bytes, size))
        for step, tensor, page in sorted(moved)
        for size in [case.tensors[tensor].size_bytes]
    ]
    return replace(
        schedule,
        placements=Placements.of_rows(sorted(rows)),
        moves=Moves.of_rows(told),
    )


def _addresses(
    case: Problem, schedule: Schedule, generator: np.random.Generator, stay: float
) -> tuple[list[tuple[int, ...]], set[tuple[int, int, int]]]:
    """Rows of placements, and (step, tensor, page) of what moves."""
    steps, pages = len(case.operations), case.machine.spm_pages
    wanted = _wanted(schedule)
    at: dict[_Page, tuple[int, int]] = {}
    rows: list[tuple[int, ...]] = []
    moved: set[tuple[int, int, int]] = set()
    for step in range(steps):
        here = {key for key, spans in wanted.items() if any(b <= step < e for b, e in spans)}
        old = {key: at.pop(key) for key in list(at)}
        both = [key for key in sorted(here & old.keys()) if key[0] >= 0]  # no scratch
        kept = {key: old[key] for key in both if generator.random() < stay}
        free = sorted(set(range(pages)) - {place for place, _ in kept.values()})
        places = iter(generator.permutation(free).tolist())
        for key in sorted(here - kept.keys()):
            place = next(places)
            if key in both and old[key][0] == place:
                kept[key] = old[key]
                continue
            at[key] = (place, step)
            if key in both:
                moved.add((step, *key))
        for key, (place, since) in old.items():
            if key not in kept:
                rows.append((*key, 1, place, since, step))
        at.update(kept)
    rows += [(*key, 1, place, since, steps) for key, (place, since) in at.items()]
    return rows, moved


def _wanted(schedule: Schedule) -> dict[_Page, list[tuple[int, int]]]:
    """Steps of each page, as many ranges as there are."""
    table = schedule.placements
    wanted: dict[_Page, list[tuple[int, int]]] = {}
    for row in range(len(table)):
        for page in range(int(table.pages[row])):
            key = (int(table.tensor[row]), int(table.tensor_page[row]) + page)
            wanted.setdefault(key, []).append((int(table.begin[row]), int(table.end[row])))
    return wanted
