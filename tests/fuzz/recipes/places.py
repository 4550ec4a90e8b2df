"""What is in the place of a file and is none."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import json_text, toml_text


def no_file(folder: Path, rng: Random) -> Case:
    """In the place of a file: a folder, a pipe, a device, a long name."""
    kind = rng.choice(("folder", "pipe", "zero", "random", "long", "loop", "empty"))
    return instead(folder, rng, kind)


def locked(folder: Path, rng: Random) -> Case:
    """A file in a folder that may not be read."""
    return instead(folder, rng, "locked")


def instead(folder: Path, rng: Random, kind: str) -> Case:
    """Put something of a kind in the place of a file that is read or written."""
    suffix = rng.choice((".json", ".onnx", ".toml", ".yaml", ".csv", ".db", ".pt2", ".cfg", ""))
    name = f"x{suffix}"
    path = folder / name
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
            # It has a writer, which says nothing: a reader waits for one, as programs do.
            Thread(target=lambda: path.open("wb").close(), daemon=True).start()
        case "zero" | "random":
            path.symlink_to({"zero": "/dev/zero", "random": "/dev/urandom"}[kind])
        case "long":
            name = "n" * 5_000 + suffix
        case "locked":
            (folder / "in").mkdir()
            name = f"in/{name}"
            (folder / name).write_text("{}")
            (folder / "in").chmod(0)
        case "loop":
            path.symlink_to(path)
        case _:
            path.write_text("")
    # Whatever writes to a pipe waits for a reader, as programs do.
    words = rng.choice(_READING if kind == "pipe" else _COMMANDS)
    if "s.toml" in words:
        (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    if "r.json" in words:
        (folder / "r.json").write_bytes(json_text(bases.result(False)))
    given = tuple(word.replace("NAME", name) for word in words)
    return case(*given, as_nobody=kind == "locked")


_STREAM = ("-s", "stream")
_SEARCH = ("tune", bases.MLP, "--space", "s.toml", "--trials", "1", "--workers", "0", *_STREAM)
_COMMANDS = (
    *(("solve", "NAME", *_STREAM), ("verify", "NAME"), ("explain", "NAME"), ("emit", "NAME")),
    *(("solve", bases.MLP, *_STREAM, option, "NAME") for option in ("--machine", "--costs", "-o")),
    ("solve", bases.MLP, *_STREAM, "--technology", "NAME"),
    ("solve", "bert-tiny", "--batch", "1", *_STREAM, "--fusion-plan", "NAME"),
    *(("report", "NAME", "-o", "r.html"), ("plot", "NAME", "-o", "r.svg"), ("run", "NAME")),
    *(("merge", "NAME", "-o", "m.csv"), ("machines", "NAME"), ("tiles", "NAME")),
    *(("technologies", "NAME", "--capacity", "1MB"), ("allocate", "NAME", "--minimize")),
    *(("tune", "show", "--storage", "NAME")),
    ("tune", "show", "--storage", "journal:NAME"),
    ("tune", bases.MLP, "--space", "NAME", "--workers", "0"),
    ("tune", "NAME", "--space", "NAME", "--workers", "0"),
    *(("problem", bases.MLP, "-o", "NAME"), ("explain", bases.MLP, *_STREAM, "--csv", "NAME")),
    *(("emit", "r.json", "-o", "NAME"), ("trace", "r.json", "-o", "NAME")),
    ("sweep", bases.MLP, *_STREAM, "--spm", "1KiB", "-o", "NAME"),
    *((*_SEARCH, "--storage", "NAME"), (*_SEARCH, "--storage", "journal:NAME")),
)
"""Commands that read NAME, or write it."""
_READING = tuple(words for words in _COMMANDS if words[-2] not in ("-o", "--csv"))
