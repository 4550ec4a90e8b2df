"""JSON: instances and results."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import damaged, json_text, mutated


def instance(folder: Path, rng: Random) -> Case:
    """An instance that is damaged, or says what cannot be."""
    document = bases.instance(rng.choice(bases.NAMES))
    content = json_text(mutated(document, rng))
    if rng.random() < 0.2:
        content = damaged(json_text(document), rng)
    (folder / "i.json").write_bytes(content)
    words = rng.choice(
        (
            ("solve", "i.json", "-s", "stream"),
            ("analyze", "i.json", "-s", "belady", "--csv", "a.csv"),
            ("compare", "i.json", "-s", "stream,belady", "--json"),
            ("solve", "i.json", "-s", "belady-size", "-o", "r.json"),
        )
    )
    return case(*words)


def result(folder: Path, rng: Random) -> Case:
    """A result file that is damaged, or claims what is not true."""
    document = bases.result(rng.random() < 0.3)
    content = json_text(mutated(document, rng))
    if rng.random() < 0.2:
        content = damaged(json_text(document), rng)
    (folder / "r.json").write_bytes(content)
    words = rng.choice(
        (
            ("verify", "r.json"),
            ("verify", "r.json"),
            ("verify", "r.json", "--json"),
            ("emit", "r.json", "-o", "out"),
            ("run", "r.json"),
            ("analyze", "r.json", "--csv", "a.csv"),
            ("explain", "r.json"),
            ("trace", "r.json", "-o", "t.json"),
            ("report", "r.json", "-o", "r.html"),
        )
    )
    return case(*words)
