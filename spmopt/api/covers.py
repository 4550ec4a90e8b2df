"""What is computed in pieces: which covers are chosen from, or one that is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.core.errors import InputError, unknown

if TYPE_CHECKING:
    from spmopt.core.instance import Instance
    from spmopt.core.objective import Objective
    from spmopt.core.pieces.listing import Pieces
    from spmopt.core.pieces.segments import Segment
    from spmopt.core.scheduler import Policy
    from spmopt.schedulers.registry import SchedulerEntry

CHOOSER, LISTER = "pieces", "page"
"""Who chooses a cover, and who schedules the list as given, or a cover that is given."""


def usual_pieces(instance: Instance, objective: str | Objective) -> tuple[str, str]:
    """Return the covers that the command line chooses from, and a note where these are none."""
    from spmopt.core.objective import objective_named
    from spmopt.core.pieces.listing import listing_of
    from spmopt.schedulers.registry import find

    if instance.listed is None:
        return "none", ""
    entry, features = find(CHOOSER), instance.machine.features
    if not entry.takes_features(features):
        return "none", ""
    if not entry.takes(objective_named(objective, instance.machine)):
        return "none", ""
    try:
        listing = listing_of(instance)
    except InputError as error:
        return "none", f"nothing is computed in pieces: {error}"
    if listing.family().counts(listing.batch) == [1]:
        said = "no operation can be cut along the batch or along rows"
        return "none", f"nothing is computed in pieces: {said}"
    return "all", ""


def require_pieces(pieces: str | None) -> None:
    """Raise :class:`InputError` unless ``pieces`` names covers."""
    from spmopt.core.pieces.family import FAMILIES

    if pieces is not None and pieces not in FAMILIES:
        raise unknown("choice for pieces", pieces, FAMILIES)


def solver(
    scheduler: str | SchedulerEntry | Policy | None,
    pieces: str | None,
    cover: object | None,
) -> SchedulerEntry:
    """Return who schedules, by what was asked for.

    Raises
    ------
    InputError
        The scheduler does not go with ``pieces`` or ``cover``.
    """
    from spmopt.schedulers.registry import Kind, find

    require_pieces(pieces)
    by_choice = pieces not in (None, "none") and cover is None
    entry = find((CHOOSER if by_choice else LISTER) if scheduler is None else scheduler)
    if entry.covers:
        if cover is not None:
            raise InputError(
                f"cover: scheduler {entry.name} chooses one itself; name another scheduler, as page"
            )
        return _of_family(entry, pieces)
    if by_choice:
        raise InputError(
            f"pieces {pieces}: scheduler {entry.name} takes the list as given; use scheduler "
            f"{CHOOSER}, or compare"
        )
    if cover is not None and entry.kind is Kind.RELAXATION:
        raise InputError(f"cover: scheduler {entry.name} gives a bound, no schedule; name another")
    return entry


def with_chooser(
    entries: dict[str, SchedulerEntry], pieces: str | None, cover: object | None
) -> dict[str, SchedulerEntry]:
    """Return schedulers of a comparison, with who chooses a cover, or bounds all of them."""
    from spmopt.schedulers.registry import find

    require_pieces(pieces)
    found = {}
    for entry in entries.values():
        chosen = _of_family(entry, pieces) if entry.covers else entry
        found[chosen.name] = chosen
    wanted = cover is not None or pieces not in (None, "none")
    if wanted and not any(entry.covers for entry in found.values()):
        chosen = _of_family(find(CHOOSER), pieces)
        found[chosen.name] = chosen
    return found


def _of_family(entry: SchedulerEntry, pieces: str | None) -> SchedulerEntry:
    """Return who chooses a cover, from those asked for."""
    if pieces is None or pieces == "all":
        return entry
    if entry.chosen:
        raise InputError(f"pieces {pieces}: scheduler {entry.name} says so itself; give one")
    return entry.choose({"family": pieces})


def given_pieces(
    instance: Instance, cover: str | Path | Sequence[Segment], pieces: str | None
) -> Pieces:
    """Return a cover that is given, and its instance.

    Raises
    ------
    InputError
        It is no cover of the instance's listing, or none of those that are asked for.
    """
    from spmopt.core.pieces.listing import Pieces, listing_of
    from spmopt.io.covers import read_cover, require_cover

    listing = listing_of(instance)
    if isinstance(cover, str | Path):
        segments = read_cover(Path(cover), listing)
    else:
        segments = require_cover(cover, listing)
    outside = listing.outside(listing.family(pieces or "all"), segments)
    if outside:
        raise InputError(f"cover: {outside}, which is none of --pieces {pieces}")
    return Pieces(listing=listing, cover=segments, instance=listing.instance(segments)[0])
