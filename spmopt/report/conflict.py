"""Why nothing fits, as a short table below its line, and for programs."""

from __future__ import annotations

from spmopt.core.errors import NAMED, Conflict, Member

SHOWN = 10
"""Rows of the table at most."""


def conflict_record(conflict: Conflict | None) -> dict[str, object] | None:
    """Return the figures of a conflict; None where there is none."""
    if conflict is None:
        return None
    return {
        "line": str(conflict),
        "where": conflict.where,
        "step": conflict.step,
        "time": None if conflict.time is None else list(conflict.time),
        "required_bytes": conflict.required_bytes,
        "available_bytes": conflict.available_bytes,
        "missing_bytes": conflict.missing_bytes,
        "irreducible": conflict.irreducible,
        "members": [
            {
                "name": member.name,
                "size_bytes": member.size_bytes,
                "lifetime": None if member.lifetime is None else list(member.lifetime),
                "offset_bytes": member.offset_bytes,
            }
            for member in conflict.members
        ],
    }


def conflict_rows(conflict: Conflict | None) -> list[str]:
    """Lines of a table of the members, where the line of the conflict does not name them all."""
    if conflict is None or len(conflict.members) <= NAMED:
        return []
    shown = [_cells(member) for member in conflict.members[:SHOWN]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join(
            (
                name.ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True)),
            )
        ).rstrip()
        for name, *cells in shown
    ]
    more = conflict.members[SHOWN:]
    rest = sum(member.size_bytes for member in more)
    return [*lines, f"and {len(more)} more, together {rest} bytes"] if more else lines


def _cells(member: Member) -> tuple[str, str, str, str]:
    lifetime = "" if member.lifetime is None else "times {} to {}".format(*member.lifetime)
    offset = "" if member.offset_bytes is None else f"at {member.offset_bytes}"
    return member.name, f"{member.size_bytes} bytes", lifetime, offset
