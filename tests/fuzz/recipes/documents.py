"""JSON: problems, results, and graphs in these."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import damaged, json_text, mutated

_COMMANDS = (
    ("verify", "r.json"),
    ("verify", "r.json"),
    ("verify", "r.json", "--json"),
    ("emit", "r.json", "-o", "out"),
    ("run", "r.json"),
    ("explain", "r.json", "--csv", "a.csv"),
    ("explain", "r.json"),
    ("trace", "r.json", "-o", "t.json"),
    ("report", "r.json", "-o", "r.html"),
)
"""What is done with a result."""


def problem(folder: Path, rng: Random) -> Case:
    """A problem that is damaged, or says what cannot be."""
    document = bases.problem(rng.choice(bases.NAMES))
    content = json_text(mutated(document, rng))
    if rng.random() < 0.2:
        content = damaged(json_text(document), rng)
    (folder / "i.json").write_bytes(content)
    words = rng.choice(
        (
            ("solve", "i.json", "-s", "stream"),
            ("explain", "i.json", "-s", "belady", "--csv", "a.csv"),
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
    return case(*rng.choice(_COMMANDS))


def graph(folder: Path, rng: Random) -> Case:
    """A fused result whose graph or cover says what cannot be: most of its file is dual values."""
    micro_batches = bases.result(True)["fusion"]
    parts = [name for name in micro_batches if name != "certificate"]
    part = rng.choice(["graph"] * 3 + parts)
    changed = {**micro_batches, **mutated({part: micro_batches[part]}, rng)}
    (folder / "r.json").write_bytes(json_text({**bases.result(True), "fusion": changed}))
    return case(*rng.choice(_COMMANDS))
