"""Covers from outside: which operations are computed together, and in how many pieces.

A TOML file has a table ``[[segments]]`` for each, in the order of the listing, a JSON file the same
names in a list; a result in pieces is a file of its cover, too. An operation goes by its name
(``first``, ``last``) or by its position (``begin``, ``end``: the first one, and the one after the
last, counted from 0). ``bands`` are those of rows that each piece is cut into, 1 by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spmopt.core.border import is_folder, read_json, read_toml
from spmopt.core.errors import InputError, unknown
from spmopt.core.filetypes import kind_of_file
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.io.files import read_result

_KEYS = ("first", "last", "begin", "end", "pieces", "bands")


def read_cover(path: Path, listing: Listing) -> Cover:
    """Read a cover of a listing.

    Raises
    ------
    InputError
        The file cannot be read, names operations or keys that there are not, leaves operations out
        or has them twice, or cuts what cannot be cut; the line says which segment, and why.
    """
    if path.suffix.lower() != ".json":
        document: Any = _read_toml(path)
    else:
        document = read_json(path)
        if isinstance(document, dict) and document.get("format") == "spmopt-result":
            document = {"segments": _of_result(path)}
    try:
        return _cover(document, listing)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def require_cover(cover: Sequence[Segment], listing: Listing) -> Cover:
    """Return segments that are a cover of a listing.

    Raises
    ------
    InputError
        They are none; the line says which segment, and why.
    """
    names, at = [operation.name for operation in listing.operations], 0
    for number, segment in enumerate(cover):
        where = f"segments[{number}]"
        if segment.end > len(names):
            raise InputError(
                f"{where}: ends at {segment.end}, but there are {len(names)} operations"
            )
        if segment.begin > at:
            raise InputError(
                f"{where}: begins with {names[segment.begin]}, but {names[at]} before it is in no "
                "segment"
            )
        if segment.begin < at:
            raise InputError(f"{where}: {names[segment.begin]} is in a segment before, too")
        obstacle = listing.obstacle(segment)
        if obstacle:
            inner = f"{names[segment.begin]} to {names[segment.end - 1]}"
            bands = f" of {segment.bands} bands" if segment.bands > 1 else ""
            raise InputError(f"{where}, {inner} in {segment.pieces} pieces{bands}: {obstacle}")
        at = segment.end
    if at < len(names):
        raise InputError(f"segments: {names[at]} and what follows it are in none")
    return tuple(cover)


def _read_toml(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".toml" or is_folder(path):
        other = kind_of_file(path) or "is no file of a cover"
        raise InputError(f"{path}: {other}; give one in TOML (.toml) or JSON (.json)")
    return read_toml(path, str(path))


def _of_result(path: Path) -> list[dict[str, object]]:
    """Return the segments of a result in pieces, by the names of their operations."""
    pieces = read_result(path).pieces
    if pieces is None:
        raise InputError(f"{path}: its schedule is of the list as given, which has no cover")
    return [
        {
            "first": loop.operations[0],
            "last": loop.operations[-1],
            "pieces": loop.pieces,
            "bands": len(loop.rows[0]) - 1 if loop.rows else 1,
        }
        for loop in pieces.loops
    ]


def _cover(document: object, listing: Listing) -> Cover:
    tables = document.get("segments") if isinstance(document, dict) else None
    if not isinstance(tables, list) or not tables:
        raise InputError("must have segments: in TOML a table [[segments]] for each")
    for key in document if isinstance(document, dict) else ():
        if key != "segments":
            raise InputError(str(unknown("key", key, ("segments",))))
    at = {operation.name: place for place, operation in enumerate(listing.operations)}
    return require_cover(
        [_segment(table, f"segments[{number}]", at) for number, table in enumerate(tables)], listing
    )


def _segment(table: object, where: str, at: Mapping[str, int]) -> Segment:
    """Read a segment; ``at``: positions by name."""
    if not isinstance(table, dict):
        raise InputError(f"{where}: must be a table, as {{first = ..., last = ..., pieces = ...}}")
    for key in table:
        if key not in _KEYS:
            raise InputError(f"{where}: {unknown('key', key, _KEYS)}")
    begin = _place(table, where, ("first", "begin"), at)
    end = _place(table, where, ("last", "end"), at)
    pieces = _whole(table.get("pieces", 1), f"{where}.pieces")
    end += "last" in table
    if end <= begin:
        raise InputError(f"{where}: ends before it begins")
    bands = _whole(table.get("bands", 1), f"{where}.bands")
    for key, value in (("pieces", pieces), ("bands", bands)):
        if value < 1:
            raise InputError(f"{where}.{key}: must be at least 1, is {value}")
    return Segment(begin=begin, end=end, pieces=pieces, bands=bands)


def _place(
    table: Mapping[str, object], where: str, keys: tuple[str, str], at: Mapping[str, int]
) -> int:
    """Return a position that is given by the name of an operation, or as it is."""
    name, number = keys
    if (name in table) == (number in table):
        raise InputError(f"{where}: give {name} (a name) or {number} (a position), one of them")
    if number in table:
        found = _whole(table[number], f"{where}.{number}")
        if not 0 <= found <= len(at):
            raise InputError(f"{where}.{number}: must be 0 to {len(at)}, is {found}")
        return found
    text = table[name]
    if not isinstance(text, str):
        raise InputError(f"{where}.{name}: must be the name of an operation")
    if text not in at:
        raise InputError(f"{where}.{name}: {unknown('operation', text, at)}")
    return at[text]


def _whole(value: object, where: str) -> int:
    if type(value) is not int:
        raise InputError(f"{where}: must be a whole number")
    return value
