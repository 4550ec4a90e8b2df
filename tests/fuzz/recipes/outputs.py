"""Names that mean something to a terminal, a spreadsheet or a file system."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import json_text, toml_text

SECRET = "hunter2"
ADDRESSES = (
    f"postgresql://me:{SECRET}@127.0.0.1:1/none",
    f"mysql://me:{SECRET}@127.0.0.1:1/none",
    f"nosuch://me:{SECRET}@127.0.0.1/none",
    f"postgresql://me:{SECRET}@[::1/none",
    f"sqlite://me:{SECRET}@x/none",
    f"postgresql://me:{SECRET}@127.0.0.1:none/none",
)
STUDIES = ("../../X", "..", "=HYPERLINK(1)", "\x1b[31mX", "a" * 5000, "a/b", ".", " ")
FORMULAS = ("=HYPERLINK(1)", "@SUM(A1)", "+1+cmd", "-2+3", "\t=1")
CONTROLS = ("\x1b[31mX\x07", "\u202eX", "a\rb", "a\nb", "\x9b2J")


def addresses(folder: Path, rng: Random) -> Case:
    """Passwords in addresses of databases that cannot be reached."""
    return case("tune", "show", "--storage", rng.choice(ADDRESSES), secret=SECRET)


def studies(folder: Path, rng: Random) -> Case:
    """Names of studies that are paths."""
    (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    words = ("tune", bases.MLP, "--space", "s.toml", "--trials", "1", "--workers", "0")
    where = ("-s", "stream", "--storage", "t.db", "--study", rng.choice(STUDIES))
    return case(*words, *where)


def named(folder: Path, name: str) -> None:
    """Write a problem, all of whose names are one."""
    document = json.loads(json.dumps(bases.problem("mlp")))
    document["operations"]["name"][0] = document["tensors"]["name"][0] = name
    document["name"] = document["machine"]["name"] = name
    document["source"] = document["machine"]["source"] = name
    (folder / "i.json").write_bytes(json_text(document))


def names(folder: Path, rng: Random) -> Case:
    """Names that are formulas to a spreadsheet, or mean something to a terminal."""
    named(folder, rng.choice((*FORMULAS, *CONTROLS)))
    words = (
        ("explain", "i.json", "-s", "belady", "--csv", "a.csv"),
        ("explain", "i.json", "-s", "belady", "--per", "layer", "--csv", "a.csv"),
        ("compare", "i.json", "-s", "stream,belady", "-o", "runs"),
        ("solve", "i.json", "-s", "stream"),
        ("problem", "i.json", "-o", "o.json"),
    )
    return case(*rng.choice(words))
