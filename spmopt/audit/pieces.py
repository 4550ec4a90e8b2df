"""Results in pieces: their listing made again from the graph, and all that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import islice, takewhile

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance, Tensor
from spmopt.core.operation import Mode, Operation
from spmopt.core.pieces.listing import Listing, Pieces
from spmopt.core.pieces.segments import Cover
from spmopt.io.files import StoredResult
from spmopt.io.pieces import loops_of
from spmopt.verifier.pieces import check_pieces
from spmopt.verifier.violation import MAX_PER_CHECK, Violation

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
    listing = _relisted(kept.graph, instance, kept.lowering)
    try:
        listing.require(kept.cover)
    except InputError as error:
        raise InputError(f"pieces.cover: {str(error).removeprefix('cover: ')}") from None
    loops = loops_of(listing, kept.cover)
    if kept.loops != loops:
        pairs = zip(kept.loops, loops, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        raise InputError(f"pieces.loops[{same}]: must be that of the segment in the cover")
    instance = replace(instance, piece_of=listing.piece_names(kept.cover))
    pieces = Pieces(
        listing=listing, cover=kept.cover, instance=instance, certificate=kept.certificate
    )
    result = replace(stored.result, pieces=pieces)
    return replace(stored, instance=instance, result=result, pieces=None)


def from_graph(pieces: Pieces, instance: Instance) -> Listing:
    """Return the listing of a cover, made again from its graph if it has one.

    Raises
    ------
    InputError
        The graph cannot be lowered.
    """
    listing = pieces.listing
    if listing.graph is None:
        return listing
    return _relisted(listing.graph, instance, listing.lowering)


def unfaithful(listing: Listing, cover: Cover, instance: Instance) -> tuple[Violation, ...]:
    """Return in what the operations of an instance do not compute what the graph does.

    Raises
    ------
    InputError
        By its name an operation or a tensor is no piece or part of anything.
    """
    from spmopt.audit.boxes import piece_maps

    if listing.graph is None:
        return ()
    return check_pieces(piece_maps(listing.graph, listing, cover, instance))


def unlike(expected: Instance, given: Instance) -> Iterator[str]:
    """Yield in which tensors and operations an instance is not that of its cover, the first few."""
    for kind in ("tensors", "operations"):
        ours, theirs = getattr(expected, kind), getattr(given, kind)
        if len(ours) != len(theirs):
            yield f"the instance has {len(theirs)} {kind}, but that of the cover {len(ours)}"
        pairs = zip(ours, theirs, strict=False)
        wrong = (pair for pair in pairs if pair[0] is not pair[1] and pair[0] != pair[1])
        for one, other in islice(wrong, MAX_PER_CHECK):
            names = expected.tensor_names, given.tensor_names
            for name, mine, its in _different(one, other, names):
                yield f"{kind[:-1]} {one.name}: {name} is {its}, but {mine} by graph and cover"
    for name in ("lowering", "machine"):
        if getattr(expected, name) != getattr(given, name):
            yield f"the instance has another {name} than the listing"


def _different(
    one: Tensor | Operation, other: Tensor | Operation, names: tuple[Sequence[str], Sequence[str]]
) -> Iterator[tuple[str, object, object]]:
    """Yield the fields in which two records differ, and both values; of a single mode its own."""
    for name in (field.name for field in fields(one)):
        mine, its = getattr(one, name), getattr(other, name)
        if mine == its:
            continue
        if name in ("reads", "writes"):
            mine, its = [names[0][t] for t in mine], [names[1][t] for t in its]
        if name == "modes" and len(mine) == len(its) == 1:
            yield from (
                (figure.name, *both)
                for figure in fields(Mode)
                for both in [(getattr(mine[0], figure.name), getattr(its[0], figure.name))]
                if both[0] != both[1]
            )
        else:
            yield name, mine, its


def _relisted(graph: Graph, instance: Instance, lowering: str) -> Listing:
    """Return the listing of a graph on the machine of an instance, and called as it is.

    Raises
    ------
    InputError
        The graph cannot be lowered.
    """
    from spmopt.graph.listing import listing
    from spmopt.graph.preparation import named

    try:
        named(lowering)
    except InputError as error:
        raise InputError(f"pieces.lowering: {str(error).removeprefix('lowering ')}") from None
    try:
        found = listing(graph, instance.machine, lowering=lowering)
    except InputError as error:
        raise InputError(f"pieces.graph: {error}") from None
    except _UNFIT as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        raise InputError(f"pieces.graph: cannot be lowered ({said})") from None
    return replace(found, name=instance.name, source=instance.source)
