"""Blocks of results in a comparison, and fusion plans and spaces in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import BATCH, source_graph
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status, is_optimal

LISTED, BEST, GIVEN = "layer by layer", "best fusion plan found", "given fusion plan"
"""Blocks of a comparison."""


def place(result: Result) -> str:
    """Return the block of a result."""
    if result.fused is None:
        return LISTED
    return GIVEN if any(other.fused is not None for other in result.beside) else BEST


def places(results: Sequence[Result]) -> list[str]:
    """Return the block of each result; nothing where all are layer by layer."""
    found = [place(result) for result in results]
    return found if any(each != LISTED for each in found) else []


def over_fusion_plans(result: Result) -> Result:
    """Return a result with the bound over the fusion space as its own."""
    gap, tolerance = result.fusion_gap, result.tolerance or 0.0
    # Its status layer by layer says nothing about all fusion plans.
    status = Status.OPTIMAL if is_optimal(gap, tolerance) else Status.FEASIBLE
    return replace(result, bound=result.fusion_bound, status=status)


def with_bounds_of_one_plan(results: Sequence[Result]) -> list[Result]:
    """Return results with the best bound as that over the fusion space, if it has one plan only."""
    spaces = [each.fusion_certificate.fusion_space for each in results if each.fusion_certificate]
    # Numbers of tiles matter, not the batch.
    if not any(len(each.ways(1)) == 1 for each in spaces):
        return list(results)
    return [
        each if each.fusion_bound is None else replace(each, fusion_bound=each.best_bound)
        for each in results
    ]


def tile_words(group: FusedGroup, axes: Sequence[str]) -> str:
    """Return the fusion tiles of a group: ``4 micro-batches of 8 stripes``, ``untiled``.

    ``axes``: names of the axes of its graph.
    """
    parts = [f"{group.micro_batches:,} {tiles_along(axes[group.axis])}"] * (group.micro_batches > 1)
    parts += [f"{group.stripes:,} stripes"] * (group.stripes > 1)
    return " of ".join(parts) or "untiled"


def tiles_along(axis: str) -> str:
    """Return the name of fusion tiles along an axis."""
    return "micro-batches" if axis == BATCH else f"tiles along {axis}"


def axes_of(fused: Problem) -> list[str]:
    """Return the names of the axes along which the groups of a problem's graph are tiled."""
    return [each.along for each in source_graph(fused).axes]


def fusion_plan_words(fused: Problem) -> str:
    """Return the number of groups of a fusion plan, and of their tiles, in words."""
    fusion_plan = fused.fusion_plan
    if all(each.count == 1 for each in fusion_plan):
        return LISTED  # whatever its boundaries, it is scheduled so
    untiled = sum(each.count == 1 for each in fusion_plan)
    stripes = sorted({each.stripes for each in fusion_plan} - {1})
    parts = [f"{len(fusion_plan)} group{'s' * (len(fusion_plan) > 1)}"]
    parts += [f"{untiled} untiled"] if untiled else []
    for axis, name in enumerate(axes_of(fused)):
        tiles = sorted({each.micro_batches for each in fusion_plan if each.axis == axis} - {1})
        parts += [f"{_list(tiles)} {tiles_along(name)}"] if tiles else []
    parts += [f"{_list(stripes)} stripes"] if stripes else []
    return ", ".join(parts)


def space_words(fused: Problem, proof: FusionCertificate | None) -> str:
    """Return the fusion space that a bound is over, as a sentence; empty where it is unknown."""
    if proof is None:
        return ""
    fusion_space = proof.fusion_space
    every = [fusion_space.micro_batches[1:], *fusion_space.others]
    stripes = fusion_space.stripes[1:]
    if not any(every) and not stripes:
        return f"Fusion space `{fusion_space.name}`: layer by layer only."
    most = fusion_space.most_products
    products = "" if most is None else f", with at most {most} matrix product{'s' * (most > 1)}"
    pairs = zip(every, axes_of(fused), strict=False)
    tiles = [f"{_list(several, 'or')} {tiles_along(name)}" for several, name in pairs if several]
    tiles += [f"{_list(stripes, 'or')} stripes"] if stripes else []
    return (
        f"Fusion space `{fusion_space.name}`: consecutive groups in the given order{products}; "
        "each "
        f"untiled or in {', or in '.join(tiles)}."
    )


def _list(numbers: Sequence[int], last: str = "and") -> str:
    texts = [str(number) for number in numbers]
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else "".join(texts)
