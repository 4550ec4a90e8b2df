"""Results of the list as given beside those of covers: where each stands, and what covers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.pieces.listing import Pieces
from spmopt.core.pieces.segments import Cover
from spmopt.core.result import Result, Status, is_optimal

LISTED, BEST, GIVEN = "list as given", "best cover found", "given cover"
"""What schedules are of."""
OVER_COVERS = " over all covers"


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


def family_words(pieces: Pieces) -> str:
    """Say what the covers are that a bound is over."""
    proof = pieces.certificate
    if proof is None:
        return ""
    several, bands = proof.family.pieces[1:], proof.family.bands[1:]
    if not several and not bands:
        return f"All covers (pieces={proof.family.name}): the list as given only."
    products = {None: "", 1: ", with one matrix product at most,"}.get(
        proof.family.most_products, f", with at most {proof.family.most_products} matrix products,"
    )
    cuts = [f"in {_listed(several, 'or')} pieces of {pieces.listing.along}"] if several else []
    if bands:
        cuts.append(f"image by image in {_listed(bands, 'or')} bands of rows")
    return (
        f"All covers (pieces={proof.family.name}): the list, in its order, cut into segments at "
        f"any operations; each segment is computed whole, or{products} depth first "
        f"{', or '.join(cuts)}."
    )


def _listed(numbers: Sequence[int], last: str = "and") -> str:
    texts = [str(number) for number in numbers]
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else "".join(texts)
