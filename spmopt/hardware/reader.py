"""TOML files of machines and technologies: where they are, and one checked setting at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import Path

from spmopt.core.errors import InputError, unknown
from spmopt.core.filetypes import kind_of_file
from spmopt.core.units import Dimension, parse_measure, parse_quantity

FOLDER = files("spmopt.hardware")
_EXAMPLES = {"page": "4KiB or 4096B"}


@cache
def preset_files(kind: str) -> Mapping[str, Traversable]:
    """Files that come with the program, by name; ``kind`` is ``machine`` or ``technology``."""
    found = (FOLDER / f"{kind}_presets").iterdir()
    return {f.name.removesuffix(".toml"): f for f in found if f.name.endswith(".toml")}


@dataclass(frozen=True, slots=True)
class Reader:
    """Settings by key, each checked as it is read; ``where`` begins every error."""

    table: Mapping[str, object]
    where: str

    def require_known(self, known: Collection[str], meaning: str) -> None:
        """Refuse a key that is not ``known``; errors call a key ``meaning``."""
        for key in self.table:
            if key not in known:
                raise InputError(f"{self.where}: {unknown(meaning, key, known)}")

    def setting(self, key: str, kind: Dimension | type) -> object:
        """Return the value by ``kind``: a quantity, or a text, count, number or switch."""
        if isinstance(kind, Dimension):
            return self.quantity(key, kind, _EXAMPLES.get(key))
        read = {str: self.text, int: self.count, float: self.number, bool: self.switch}[kind]
        return read(key)

    def text(self, key: str) -> str:
        """Return a text."""
        value = self._get(key)
        if not isinstance(value, str):
            raise self._wrong(key, "a text in quotes")
        return value

    def quantity(self, key: str, dimension: Dimension, example: str | None = None) -> int:
        """Return a whole quantity, in units of ``dimension``."""
        value = self._get(key)
        # bool is an int in Python: "page = true" must not mean 1 byte.
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise self._wrong(key, "a whole number, or a quantity such as '24MB' in quotes")
        return parse_quantity(value, dimension, f"{self.where}: {key}", example)

    def measure(self, key: str, dimension: Dimension) -> float:
        """Return a quantity that need not be whole, and must have a unit."""
        value = self._get(key)
        # A bare number gets the error of a text without unit, which shows the right form.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = str(value) if is_number else self.text(key)
        return parse_measure(text, dimension, f"{self.where}: {key}")

    def count(self, key: str) -> int:
        """Return a whole number, 0 or more."""
        text = str(self._get(key))
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise self._wrong(key, "a whole number, 0 or more")
        return int(text)

    def number(self, key: str) -> float:
        """Return a number, 0 or more."""
        value = self._get(key)
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        # TOML has nan and inf, which would pass a comparison alone.
        if not isfinite(number) or number < 0:
            raise self._wrong(key, "a number, 0 or more")
        return number

    def switch(self, key: str) -> bool:
        """Return true or false."""
        switch = {"true": True, "false": False}.get(str(self._get(key)).lower())
        if switch is None:
            raise self._wrong(key, "true or false")
        return switch

    def tables(self, key: str) -> list[dict[str, object]]:
        """Return an array of tables."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise InputError(f"{self.where}: {key}: must be tables, each headed [[{key}]]")
        return value

    def _get(self, key: str) -> object:
        if key not in self.table:
            raise InputError(f"{self.where}: {key} is missing; add it")
        return self.table[key]

    def _wrong(self, key: str, must: str) -> InputError:
        return InputError(f"{self.where}: {key} = {self.table[key]!r}: must be {must}")


def no_toml(kind: str, path: Path) -> InputError:
    """Return the error for a file without the suffix of a ``kind``."""
    content = kind_of_file(path)
    do = f"this one {content}" if content else "rename it"
    return InputError(f"{kind} {path}: a {kind} file must end in .toml; {do}")
