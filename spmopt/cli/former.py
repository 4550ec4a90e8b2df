"""Names of the version before: commands, options and values are read once more, with a note."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

COMMANDS: Mapping[str, str] = {
    "analyze": "explain",
    "instance": "problem",
    "place": "allocate",
    "story": "ablate",
}
OPTIONS: Mapping[str, str] = {
    "--cover": "--fusion-plan",
    "--lowering": "--mapper",
    "--pieces": "--fusion",
}
VALUES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("--fusion", "fuse"): ("--fusion", "single-product"),
    ("--objective", "replay"): ("--timing", "async"),
    ("--timing", "replay"): ("--timing", "async"),
    ("--timing", "steps"): ("--timing", "step"),
}
"""New name of each command, of each option, and of each option with a value."""
_OBJECTIVES_STAY = frozenset({"export", "tiles", "tune"})
"""Commands without a timing."""
_SCHEDULERS = frozenset({"--replacement", "--scheduler", "--schedulers", "-s"})
"""Options with names of schedulers; :mod:`spmopt.io.renames` has the new ones."""


def replace_former(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line with the names of today, and a note for each replaced name."""
    command, notes = "".join(words[:1]), dict[str, None]()

    def note(old: str, new: str) -> str:
        if old != new:
            notes[f"note: {old} is now {new}"] = None
        return new

    replaced = [note(word, COMMANDS.get(word, word)) for word in words[:1]]
    option = ""
    for at, word in enumerate(words[1:], start=1):
        # Words after it are arguments, even if they look like options.
        if word == "--":
            return [*replaced, *words[at:]], list(notes)
        name, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if name:
            option = note(name, OPTIONS.get(name, name))
            replaced.append(option + equals + value)
        if equals or not name:
            pair = option, value
            if option != "--objective" or command not in _OBJECTIVES_STAY:
                pair = _rename(option, value)
            note(f"{option} {value}", " ".join(pair))
            # The option stands before its value, in the same word or in the one before.
            if equals:
                replaced[-1] = "=".join(pair)
            elif option:
                replaced[-1:] = pair
            else:
                replaced.append(value)
            option = ""
    return replaced, list(notes)


def _rename(option: str, value: str) -> tuple[str, str]:
    """Return an option and its value by their names of today."""
    if option not in _SCHEDULERS:
        return VALUES.get((option, value), (option, value))
    from spmopt.io.renames import rename_scheduler

    # Between names there are commas or blanks, which stay as they were.
    return option, re.sub(r"[^,\s]+", lambda name: rename_scheduler(name[0]), value)
