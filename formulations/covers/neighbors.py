"""Covers next to one: a border taken out, put in or moved, or another number of pieces or bands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from formulations.covers.search import CoverSearch
from spmopt.core.pieces.segments import Cover, Segment


def neighbors(search: CoverSearch, cover: Cover) -> Iterator[Cover]:
    """Yield covers next to ``cover``, those that the search's values promise most of the first."""
    ranked = list[tuple[float, int, Cover, Cover]]()
    for number, (new, old) in enumerate(_moves(search, cover)):
        if search.stop():
            return
        ranked.append((-search.gain(new, old), number, new, old))
    for _, _, new, old in sorted(ranked, key=lambda each: each[:2]):
        first, last = cover.index(old[0]), cover.index(old[-1])
        yield (*cover[:first], *new, *cover[last + 1 :])


def _moves(search: CoverSearch, cover: Cover) -> Iterator[tuple[Cover, Cover]]:
    """Yield what may stand for some segments in a row, and these."""
    borders, listed = search.borders, search.listed

    def legal(*segments: Segment) -> bool:
        return all(map(listed.allows, segments)) and all(map(search.held.lengths.has, segments))

    for each in filter(search.held.lengths.has, cover):
        for way in range(len(listed.pieces)):
            other = listed.segment(each.begin, each.end, way)
            if other != each and legal(other):
                yield (other,), (each,)
        at = bisect_left(borders, each.begin + 1), bisect_left(borders, each.end)
        for border in borders[at[0] : at[1]]:
            parts = replace(each, end=border), replace(each, begin=border)
            if legal(*parts):
                yield parts, (each,)
    for one, two in pairwise(cover):
        if not legal(one, two):
            continue  # The program of a long segment takes too long.
        for merged in {replace(one, end=two.end), replace(two, begin=one.begin)}:
            if legal(merged):
                yield (merged,), (one, two)
        place = bisect_left(borders, one.end)
        for border in borders[max(place - 2, 0) : place + 3]:
            if one.begin < border < two.end and border != one.end:
                parts = replace(one, end=border), replace(two, begin=border)
                if legal(*parts):
                    yield parts, (one, two)
