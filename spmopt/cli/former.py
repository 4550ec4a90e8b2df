"""Names of the version before: commands, options and values are read once more, with a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

COMMANDS: Mapping[str, str] = {"instance": "problem", "place": "allocate", "story": "ablate"}
OPTIONS: Mapping[str, str] = {
    "--cover": "--fusion-plan",
    "--lowering": "--mapper",
    "--pieces": "--fusion",
}
VALUES: Mapping[str, Mapping[str, str]] = {"--fusion": {"fuse": "single-product"}}
"""New name of each command, of each option, and of each value of an option."""
_SCHEDULERS = frozenset({"--replacement", "--scheduler", "--schedulers", "-s"})
"""Options with names of schedulers; :mod:`spmopt.io.renames` has the new ones."""


def replace_former(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line with the names of today, and a note for each replaced name."""
    replaced, notes = list[str](), dict[str, None]()

    def put(old: str, new: str) -> str:
        if old != new:
            notes[f"note: {old} is now {new}"] = None
        return new

    option = ""
    for at, word in enumerate(words):
        if word == "--":
            replaced += words[at:]
            break
        if at == 0:
            replaced.append(put(word, COMMANDS.get(word, word)))
            continue
        name, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if name:
            option = put(name, OPTIONS.get(name, name))
        new = _value(option, value)
        if new != value:
            put(f"{option} {value}", f"{option} {new}")
        replaced.append((option if name else "") + equals + new)
        if not name or equals:
            option = ""
    return replaced, list(notes)


def replace_former_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return options of a project file with the names of today, and a note for each."""
    replaced, notes = dict[str, Any](), list[str]()
    for name, value in settings.items():
        is_table = isinstance(value, dict)
        option = f"--{name}"
        new = COMMANDS.get(name, name) if is_table else OPTIONS.get(option, option)[2:]
        if new != name:
            notes.append(f"note: {name} is now {new}")
        if is_table:
            replaced[new], inner = replace_former_settings(value)
            notes += inner
        else:
            replaced[new] = _value(f"--{new}", value) if isinstance(value, str) else value
    return replaced, notes


def _value(option: str, value: str) -> str:
    """Return the value of an option by its name of today."""
    if option in _SCHEDULERS:
        return "".join(_schedulers(value))
    return VALUES.get(option, {}).get(value, value)


def _schedulers(names: str) -> Iterable[str]:
    """Yield names of schedulers with commas or blanks between, and what is between."""
    import re

    from spmopt.io.renames import rename_scheduler

    for part in re.split(r"([,\s]+)", names):
        yield rename_scheduler(part)
