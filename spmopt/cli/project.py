"""The project file: default options, from the nearest ``spmopt.toml`` upward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer import Context

from spmopt.api.inputs import is_stored
from spmopt.core.border import is_file, read_toml
from spmopt.core.errors import InputError, unknown

NAME = "spmopt.toml"
_FILES = ("machine", "technology", "space", "cfg", "cover", "costs")
"""Options that may name a file, from the folder of the project file."""


def sources(context: Context, values: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return which options are on the command line, and which from the project file.

    What a stored instance or result fixes is taken back in ``values``.
    """
    by = {name: getattr(context.get_parameter_source(name), "name", "") for name in values}
    used = [name for name, source in by.items() if source == "DEFAULT_MAP"]
    named = {name: value for name, value in values.items() if name not in ("cover", "costs")}
    if any(is_stored(value) for value in named.values() if isinstance(value, str)):
        context.default_map = None
        plain = {each.name: each.get_default(context) for each in context.command.params}
        values.update({name: plain[name] for name in used})
        used = []
    return [name for name, source in by.items() if source == "COMMANDLINE"], used


def note(used: Sequence[str]) -> str:
    """Say which options are from the project file."""
    names = ", ".join(used).replace("_", "-").replace("base", "machine")
    return f"note: {names} as in {found_file()}"


def found_file() -> Path | None:
    """Return the project file that holds here."""
    here = Path.cwd()
    return next((path for folder in (here, *here.parents) if is_file(path := folder / NAME)), None)


def default_map(commands: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the project file: options of every command that has them, then of single commands.

    Parameters
    ----------
    commands
        Commands by name.

    Raises
    ------
    InputError
        It is not TOML, or names an option or a command that there is none of.
    """
    path = found_file()
    if path is None:
        return None
    found = read_toml(path, str(path))
    own = {name: found.pop(name) for name in commands if isinstance(found.get(name), dict)}
    known = {name: _options(each) for name, each in commands.items()}
    every = {key: name for names in known.values() for key, name in names.items()}
    result: dict[str, Any] = {}
    for command, names in known.items():
        mine = own.get(command, {})
        for options, allowed in ((found, every), (mine, names)):
            for key in options:
                if key not in allowed:
                    raise InputError(f"{path}: {unknown('option', key, allowed)}")
        result[command] = {
            names[key]: _placed(key, value, path.parent)
            for key, value in {**found, **mine}.items()
            if key in names
        }
        for part in getattr(commands[command], "commands", ()):
            result[command][part] = dict(result[command])
    return result


def _options(command: Any) -> dict[str, str]:
    """Return parameters by their options, without dashes; those of a group's commands too."""
    found = {
        flag.removeprefix("--"): each.name
        for each in command.params
        for flag in each.opts
        if flag.startswith("--")
    }
    for part in getattr(command, "commands", {}).values():
        found |= _options(part)
    return found


def _placed(key: str, value: Any, folder: Path) -> Any:
    is_file = (
        key in _FILES
        and isinstance(value, str)
        and value.endswith((".toml", ".cfg", ".csv", ".json"))
    )
    return str(folder / value) if is_file else value
