"""Results in pieces: their listing made again from the graph, and all that follows from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance
from spmopt.core.listing import Listing, Pieces
from spmopt.io.files import StoredResult
from spmopt.io.pieces import loops_of

_UNFIT = ArithmeticError, LookupError, TypeError, ValueError
"""What rules of operators raise of attributes that no reader of a model would let pass."""


def restored(stored: StoredResult) -> StoredResult:
    """Return a result as it was before it was written: with the listing of its pieces.

    Raises
    ------
    InputError
        An operator or a lowering that is not known, a cover that is none of the listing, or loops
        that are not those of the cover: one line that begins with the path of the field.
    """
    kept, instance = stored.pieces, stored.instance
    if kept is None:
        return stored
    listing = relisted(kept.graph, instance, kept.lowering)
    try:
        listing.require(kept.cover)
    except InputError as error:
        raise InputError(f"pieces.cover: {str(error).removeprefix('cover: ')}") from None
    loops = loops_of(kept.cover, [each.name for each in listing.operations])
    if kept.loops != loops:
        pairs = zip(kept.loops, loops, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        raise InputError(f"pieces.loops[{same}]: must be that of the segment in the cover")
    pieces = Pieces(
        listing=listing, cover=kept.cover, instance=instance, certificate=kept.certificate
    )
    return replace(stored, result=replace(stored.result, pieces=pieces), pieces=None)


def relisted(graph: Graph, instance: Instance, lowering: str) -> Listing:
    """Return the listing of a graph on the machine of an instance, and called as it is.

    Raises
    ------
    InputError
        The graph cannot be lowered.
    """
    from spmopt.graph.listing import listing
    from spmopt.graph.lower import LOWERINGS

    if lowering not in LOWERINGS:
        raise InputError(f"pieces.lowering: use {' or '.join(LOWERINGS)}, not {lowering!r}")
    try:
        found = listing(graph, instance.machine, lowering=lowering)
    except InputError as error:
        raise InputError(f"pieces.graph: {error}") from None
    except _UNFIT as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        raise InputError(f"pieces.graph: cannot be lowered ({said})") from None
    return replace(found, name=instance.name, source=instance.source)
