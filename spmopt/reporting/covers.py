"""Results of the list as given beside those of covers: where each stands, and what covers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.pieces.listing import Pieces
from spmopt.core.pieces.segments import Cover
from spmopt.core.result import Result, Status, is_optimal

LISTED, BEST, GIVEN = "layer by layer", "best fusion plan found", "given fusion plan"
"""Blocks of a comparison."""


def place(result: Result) -> str:
    """Return what a schedule is of."""
    if result.pieces is None:
        return LISTED
    return GIVEN if any(other.pieces is not None for other in result.beside) else BEST


def places(results: Sequence[Result]) -> list[str]:
    """Return what schedules are of; nothing where all are of the list as given."""
    found = [place(result) for result in results]
    return found if any(each != LISTED for each in found) else []


def over_covers(result: Result) -> Result:
    """Return a result as one of all covers: its bound is theirs."""
    gap, tolerance = result.cover_gap, result.tolerance or 0.0
    status = Status.OPTIMAL if is_optimal(gap, tolerance) else Status.FEASIBLE
    return replace(result, bound=result.cover_bound, status=status)


def cover_words(pieces: Pieces) -> str:
    """Return the number of segments, and what they are cut into, in words."""
    return f"{segments_words(pieces.cover)}, {cut_words(pieces)}"


def segments_words(cover: Cover) -> str:
    """Return the number of segments in words."""
    return "1 segment" if len(cover) == 1 else f"{len(cover)} segments"


def tile_words(micro_batches: int, stripes: int) -> str:
    """Return the fusion tiles of a group: ``4 micro-batches of 8 stripes``, ``untiled``."""
    parts = [
        f"{count:,} {noun}"
        for count, noun in ((micro_batches, "micro-batches"), (stripes, "stripes"))
        if count > 1
    ]
    return " of ".join(parts) or "untiled"


def cut_words(chosen: Pieces) -> str:
    """Return what segments are cut into in words."""
    cover = chosen.cover
    parts = ["whole"] if any(each.count == 1 for each in cover) else []
    pieces = sorted({each.pieces for each in cover} - {1})
    if pieces:
        parts.append(f"in {_listed(pieces)} pieces of {chosen.listing.along}")
    bands = sorted({each.bands for each in cover} - {1})
    if bands:
        some = "some " if any(each.bands == 1 for each in cover) else ""
        parts.append(f"{some}in {_listed(bands)} bands of rows")
    return ", ".join(parts)


def plan_words(pieces: Pieces) -> str:
    """Return the number of groups of a fusion plan, and of their tiles, in words."""
    cover = pieces.cover
    untiled = sum(each.count == 1 for each in cover)
    batches = sorted({each.pieces for each in cover} - {1})
    stripes = sorted({each.bands for each in cover} - {1})
    parts = [f"{len(cover)} group{'s' * (len(cover) > 1)}"]
    parts += [f"{untiled} untiled"] if untiled else []
    parts += [f"{_listed(batches)} {_tiles(pieces)}"] if batches else []
    parts += [f"{_listed(stripes)} stripes"] if stripes else []
    return ", ".join(parts)


def space_words(pieces: Pieces) -> str:
    """Return the fusion space that a bound is over, as a sentence; empty where it is unknown."""
    proof = pieces.certificate
    if proof is None:
        return ""
    family = proof.family
    several, stripes = family.pieces[1:], family.bands[1:]
    if not several and not stripes:
        return f"Fusion space `{family.name}`: layer by layer only."
    most = family.most_products
    products = "" if most is None else f", with at most {most} matrix product{'s' * (most > 1)}"
    tiles = [f"{_listed(several, 'or')} {_tiles(pieces)}"] if several else []
    tiles += [f"{_listed(stripes, 'or')} stripes"] if stripes else []
    return (
        f"Fusion space `{family.name}`: consecutive groups in the given order{products}; each "
        f"untiled or in {', or in '.join(tiles)}."
    )


def _tiles(pieces: Pieces) -> str:
    """Return the name of fusion tiles along the axis that is tiled."""
    along = pieces.listing.along
    return "micro-batches" if along == "the batch" else f"parts of {along}"


def _listed(numbers: Sequence[int], last: str = "and") -> str:
    texts = [str(number) for number in numbers]
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else "".join(texts)
