"""Technologies by name, or from a TOML file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.core.suggest import unknown
from spmopt.technology import nvsim
from spmopt.technology.settings import from_tables
from spmopt.technology.technology import Technology

_PRESETS = files("spmopt.technology") / "presets"


def names() -> list[str]:
    """Names of the technologies that come with the program, sorted."""
    return sorted([*_preset_files(), *nvsim.NAMES])


def load_technology(name_or_path: str) -> Technology:
    """A technology by name, or from a file that ends in ``.toml``.

    Raises
    ------
    InputError
        No such technology or file, not TOML, or a setting that cannot be used.
    """
    if name_or_path in names():
        return _known(name_or_path)
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return _read(path, path.stem, name_or_path)
    if path.is_file():
        raise InputError(
            f"technology {name_or_path}: a technology file must end in .toml; rename it"
        )
    raise unknown("technology", name_or_path, names())


@cache
def _known(name: str) -> Technology:
    presets = _preset_files()
    return _read(presets[name], name, name) if name in presets else nvsim.nvsim(name)


@cache
def _preset_files() -> dict[str, Traversable]:
    found = (entry for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry for entry in found}


def _read(source: Traversable, name: str, where: str) -> Technology:
    where = f"technology {where}"
    try:
        tables = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{where}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not TOML: {error}") from None
    return from_tables(tables, name, where)
