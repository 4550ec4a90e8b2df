"""The CSV files of MiniMalloc: ``id,lower,upper,size[,alignment,hint,gaps,offset]``.

Columns come in any order, others are passed over, names may repeat or be empty, and a blank line
ends the table, as in the reader of github.com/google/minimalloc (``src/converter.cc``). ``id`` may
be called ``buffer`` or ``buffer_id``; ``lower`` may be called ``start`` or ``begin``; ``upper`` may
be called ``end``, and then it and the ends of gaps are inclusive. A gap is ``lower-upper``, or
``lower-upper@low:high`` when the bytes from ``low`` to ``high`` are needed in it; blanks separate
gaps. A negative hint is none. An offset fixes a buffer.

Beyond that reader: an empty alignment, hint or offset is none, and a byte order mark, carriage
returns and blanks around the names of columns are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.core.placement import Buffer, Gap
from spmopt.core.validation import cell, plain, read_text
from spmopt.io.document import write_text

_ALIASES = {
    "begin": "lower",
    "buffer": "id",
    "buffer_id": "id",
    "end": "upper",
    "start": "lower",
}
_REQUIRED = ("id", "lower", "upper", "size")
_FIRST_LINE = "the first line must name id,lower,upper,size"
_SHOWN = 80
"""Characters of a line that an error repeats."""
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_DIGITS = 19
"""Of a figure; more are too large, and Python would not read thousands of them."""
_GAP = re.compile(r"([0-9]+)-([0-9]+)(?:@([0-9]+):([0-9]+))?")


def read_buffers(path: Path) -> tuple[Buffer, ...]:
    """Read a file.

    Raises
    ------
    InputError
        It cannot be read, or a line of it cannot be used.
    """
    text = read_text(path, advice="name a CSV file of buffers")
    return parse_buffers(text, str(path))


def parse_buffers(text: str, where: str = "CSV") -> tuple[Buffer, ...]:
    """Return the buffers of the text of a file; ``where`` begins each error."""
    header, *lines = text.split("\n")
    columns, inclusive = _columns(header.rstrip("\r"), where)
    buffers = []
    for number, line in enumerate(lines, start=2):
        # A blank line ends the table, as in the reader of MiniMalloc.
        if not line.rstrip("\r"):
            break
        fields = line.rstrip("\r").split(",")
        if len(fields) != len(columns):
            count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            raise InputError(f"{where}, line {number}: {count}, but {len(columns)} columns")
        try:
            buffers.append(_buffer(dict(zip(columns, fields, strict=True)), inclusive))
        except InputError as error:
            raise InputError(f"{where}, line {number}: {error}") from None
    return tuple(buffers)


def write_buffers(
    path: Path, buffers: Sequence[Buffer], offsets_bytes: Sequence[int] | None = None
) -> None:
    """Write a file, with offsets if there are any; raises :class:`InputError` if it cannot be."""
    write_text(path, format_buffers(buffers, offsets_bytes))


def format_buffers(buffers: Sequence[Buffer], offsets_bytes: Sequence[int] | None = None) -> str:
    """Return the text of a file: columns that say nothing are left out, times are half-open."""
    columns: dict[str, list[object]] = {
        "id": [cell(buffer.name) for buffer in buffers],
        "lower": [buffer.lower for buffer in buffers],
        "upper": [buffer.upper for buffer in buffers],
        "size": [buffer.size_bytes for buffer in buffers],
    }
    if any(buffer.alignment_bytes != 1 for buffer in buffers):
        columns["alignment"] = [buffer.alignment_bytes for buffer in buffers]
    if any(buffer.hint_bytes is not None for buffer in buffers):
        columns["hint"] = [-1 if b.hint_bytes is None else b.hint_bytes for b in buffers]
    if any(buffer.gaps for buffer in buffers):
        columns["gaps"] = [" ".join(map(_gap_text, buffer.gaps)) for buffer in buffers]
    if offsets_bytes is not None:
        columns["offset"] = list(offsets_bytes)
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _columns(header: str, where: str) -> tuple[list[str], bool]:
    names = _names(header)
    columns = [_ALIASES.get(name, name) for name in names]
    missing = [name for name in _REQUIRED if name not in columns]
    if len(missing) == len(_REQUIRED):
        raise InputError(f"{where}: not a CSV of buffers: {_FIRST_LINE}")
    if len(set(columns)) != len(columns):
        shown = repr(_short(header))
        raise InputError(f"{where}: two columns of the same meaning in {shown}; keep one")
    if missing:
        raise InputError(f"{where}: no column {missing[0]}; {_FIRST_LINE}")
    return columns, "end" in names


def _names(header: str) -> list[str]:
    return [name.strip() for name in header.split(",")]


def _buffer(fields: Mapping[str, str], inclusive: bool) -> Buffer:
    hint = _give(fields, "hint")
    return Buffer(
        name=plain(fields["id"]),
        lower=_integer(fields, "lower"),
        # `end` is inclusive, `upper` is not; here intervals are half-open.
        upper=_integer(fields, "upper") + inclusive,
        size_bytes=_integer(fields, "size"),
        alignment_bytes=1 if (alignment := _give(fields, "alignment")) is None else alignment,
        gaps=tuple(_gap(text, inclusive) for text in fields.get("gaps", "").split(" ") if text),
        hint_bytes=None if hint is None or hint < 0 else hint,
        fixed_bytes=_give(fields, "offset"),
    )


def _give(fields: Mapping[str, str], column: str) -> int | None:
    """Return the value of an optional column; None where it says nothing."""
    return _integer(fields, column) if fields.get(column, "").strip() else None


def _integer(fields: Mapping[str, str], column: str) -> int:
    text = fields[column]
    if _INTEGER.fullmatch(text) is None:
        raise InputError(f"{column} is {_short(repr(text))}; it must be a whole number")
    digits = text.strip().lstrip("+-0")
    if len(digits) > _DIGITS:
        shown = _short(text.strip())
        raise InputError(f"{column} is {shown}, too large: at most 2**60 can be computed with")
    return int(digits or 0) * (-1 if "-" in text else 1)


def _gap(text: str, inclusive: bool) -> Gap:
    match = _GAP.fullmatch(text)
    if match is None:
        raise InputError(
            f"gap {text!r} is not of the form 3-5, or 3-5@0:4 if bytes 0 to 4 are kept"
        )
    lower, upper, low, high = match.groups()
    window = None if low is None else (int(low), int(high))
    return Gap(lower=int(lower), upper=int(upper) + inclusive, window_bytes=window)


def _gap_text(gap: Gap) -> str:
    text = f"{gap.lower}-{gap.upper}"
    return (
        text if gap.window_bytes is None else f"{text}@{gap.window_bytes[0]}:{gap.window_bytes[1]}"
    )
