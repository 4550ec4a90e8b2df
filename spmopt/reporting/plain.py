"""Records as plain data, for JSON: fields by name, arrays as lists, tables as columns and rows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.resources import files

import numpy as np

Json = dict[str, object]
# How names of columns end, by unit.
_ENDS = {
    **{"B": "_bytes", "iB": "_bytes", "s": "_s", "J": "_j", "W": "_w", "Hz": "_hz"},
    **{"B/s": "_bytes_per_s", "FLOP/s": "_flop_per_s"},
}
_ACRONYMS = {word.lower(): word for word in ("DMA", "DRAM", "SPM", "FLOP", "MACs")}
_PARTS = tomllib.loads(files(__package__).joinpath("heads.toml").read_text(encoding="utf-8"))
_PLAIN = (str, int, bool, type(None))
HEADS: Mapping[str, str] = {name: text for part in _PARTS.values() for name, text in part.items()}
"""Meaning of columns, by name."""


def plain(value: object) -> object:
    """Return plain data: fields of a record by name, numbers of Python; None where not finite."""
    # Most of the existing ones is plain, and pages have millions.
    return value if type(value) in _PLAIN else _make_plain(value)


def _make_plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        # One check of the whole array: pages hold columns of a million numbers.
        is_plain = value.dtype != object and np.isfinite(value).all()
        return value.tolist() if is_plain else [plain(each) for each in value.tolist()]
    if isinstance(value, float):
        # JSON has neither infinity nor NaN.
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def column(name: str, unit: str | None = "", title: str = "", **how: object) -> Json:
    """Return the head of a column of a table in a page; ``unit`` None: a column of text.

    Without a ``title`` it is called by its name, less the unit that the values bear; without
    ``help`` among ``how`` it has the one of :data:`HEADS`.
    """
    title = title or title_of(name.removesuffix(_ENDS.get(unit or "", "")))
    about = {"help": HEADS.get(name, "")} | how
    return {"name": name, "title": title, "numeric": unit is not None, "unit": unit or "", **about}


def title_of(name: str) -> str:
    """Return the name of a field as people read it: ``dram_in`` is ``DRAM in``."""
    return " ".join(_ACRONYMS.get(word, word) for word in name.split("_"))


def table(
    caption: str, file: str, columns: Sequence[Json], rows: Sequence[Sequence[object]]
) -> Json:
    """Return a table of a page; ``file`` names the CSV file that a reader may save it in."""
    return {
        "caption": caption,
        "file": file,
        "columns": list(columns),
        "rows": [list(map(plain, row)) for row in rows],
    }
