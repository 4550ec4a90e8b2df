"""Names of the version before: commands, options and values are read once more, with a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
VALUES: Mapping[str, Mapping[str, str]] = {
    "--fusion": {"fuse": "single-product"},
    "--timing": {"replay": "async", "steps": "step"},
}
"""New name of each command, of each option, and of each value of an option."""
_OBJECTIVES_STAY = frozenset({"export", "tiles", "tune"})
"""Commands without a timing."""
_SCHEDULERS = frozenset({"--replacement", "--scheduler", "--schedulers", "-s"})
"""Options with names of schedulers; :mod:`spmopt.io.renames` has the new ones."""


def replace_former(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line with the names of today, and a note for each replaced name."""
    replaced, notes, given = list[str](), dict[str, None](), list(words)

    def note(old: str, new: str) -> str:
        if old != new:
            notes[f"note: {old} is now {new}"] = None
        return new

    # First, since one old pair becomes one new pair: later steps see single words.
    words = _with_timing(words)
    if list(words) != given:
        note("--objective replay", "--timing async")
    option = ""
    for at, word in enumerate(words):
        # Words after it are arguments, even if they look like options.
        if word == "--":
            replaced += words[at:]
            break
        if at == 0:
            replaced.append(note(word, COMMANDS.get(word, word)))
            continue
        name, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if name:
            option = note(name, OPTIONS.get(name, name))
        new = _value(option, value)
        if new != value:
            note(f"{option} {value}", f"{option} {new}")
        replaced.append((option if name else "") + equals + new)
        if not name or equals:
            option = ""
    return replaced, list(notes)


def _with_timing(words: Sequence[str]) -> list[str]:
    """Return the words with a timing in place of the objective of schedules without barriers."""
    timed = list(words)
    if not timed or timed[0] in _OBJECTIVES_STAY:
        return timed
    for at, word in enumerate(timed):
        if word == "--objective=replay":
            timed[at] = "--timing=async"
        elif timed[at : at + 2] == ["--objective", "replay"]:
            timed[at : at + 2] = ["--timing", "async"]
    return timed


def _value(option: str, value: str) -> str:
    """Return the value of an option by its name of today."""
    if option in _SCHEDULERS:
        return "".join(_schedulers(value))
    return VALUES.get(option, {}).get(value, value)


def _schedulers(names: str) -> Iterable[str]:
    """Yield names of schedulers, and the commas or blanks between them."""
    import re

    from spmopt.io.renames import rename_scheduler

    # With a group, split keeps the separators, so that the text stays as it was.
    for part in re.split(r"([,\s]+)", names):
        yield rename_scheduler(part)
