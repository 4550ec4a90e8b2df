"""The project file: default options, from the nearest ``spmopt.toml`` upward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts.config import Dict

from spmopt.api.inputs import is_stored
from spmopt.cli.commands import COMMANDS
from spmopt.cli.former import replace_former_settings
from spmopt.cli.terminal.output import print_message
from spmopt.core.errors import InputError, unknown
from spmopt.core.validation import is_file, read_toml

if TYPE_CHECKING:
    from cyclopts import App, Argument, ArgumentCollection

NAME = "spmopt.toml"
_FILES = ("machine", "technology", "space", "cfg", "fusion_plan", "costs")
"""Options that may name a file, from the folder of the project file."""
_SUFFIXES = (".toml", ".cfg", ".csv", ".json")


def apply_project(
    options_of: Callable[[Iterable[str]], set[str]],
    app: App,
    commands: tuple[str, ...],
    arguments: ArgumentCollection,
) -> None:
    """Set options that are in the project file and not on the command line, and say which.

    A stored problem or result as input fixes them: then the file is left out.

    Parameters
    ----------
    options_of
        Returns the options of commands by name.
    app, commands, arguments
        Parsed command, its name, and its arguments.

    Raises
    ------
    InputError
        The file is not TOML, or names an option that no command has.
    """
    path = find_file()
    given = {each.name.removeprefix("--"): each for each in arguments if each.tokens}
    if path is None or not commands or any(map(_is_stored, given.values())):
        return
    every, own = _read(path, commands[0])
    known = {_bare(name) for each in arguments for name in each.names}
    for odd, names in ((set(every) - known, tuple(COMMANDS)), (set(own) - known, commands[:1])):
        allowed = set(map(_bare, options_of(names))) if odd else known
        for key in sorted(odd - allowed):
            raise InputError(f"{path}: {unknown('option', key, allowed)}")
    placed = {key: _place(key, value, path.parent) for key, value in {**every, **own}.items()}
    apply = Dict(placed, source=str(path), use_commands_as_keys=False, allow_unknown=True)
    apply(app, commands, arguments)
    used = [_bare(each.name) for each in arguments if each.tokens and _bare(each.name) not in given]
    if used and "quiet" not in given:
        print_message(f"note: {', '.join(used)} as in {path}")


def find_file() -> Path | None:
    """Return the project file that holds here."""
    here = Path.cwd()
    return next((path for folder in (here, *here.parents) if is_file(path := folder / NAME)), None)


def _read(path: Path, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of all commands, and those of one."""
    found, notes = replace_former_settings(read_toml(path, str(path)))
    for note in notes:
        print_message(f"{note} ({path})")
    tables = {name: found.pop(name) for name in COMMANDS if isinstance(found.get(name), dict)}
    return found, tables.get(command, {})


def _bare(option: str) -> str:
    return option.removeprefix("--")


def _is_stored(argument: Argument) -> bool:
    """Return whether an argument names a stored problem or result as input."""
    is_other = _bare(argument.name) in (*_FILES, "output", "keep", "csv")
    return not is_other and any(is_stored(token.value) for token in argument.tokens)


def _place(key: str, value: Any, folder: Path) -> Any:
    """Return a value, as seen from the working directory where it names a file."""
    is_path = key in _FILES and isinstance(value, str) and value.endswith(_SUFFIXES)
    return str(folder / value) if is_path else value
