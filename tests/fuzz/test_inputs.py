"""Whatever is read, a command ends soon, as is documented, and says in one line what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import cases, recipe_of
from tests.fuzz.case import Case
from tests.fuzz.recipes import warm
from tests.fuzz.workers import run, run_all

COUNT = 60
CAUSES: dict[str, tuple[list[str], dict[str, str]]] = {
    "dotted keys": (["machines", "x.toml"], {"x.toml": "a." * 100_000 + "b = 1"}),
    "nested TOML": (["machines", "x.toml"], {"x.toml": "a = " + "[" * 100_000}),
    "digits": (["machines", "x.toml"], {"x.toml": "a = " + "9" * 5_001}),
    "400 zeros": (["machines", "x.toml"], {"x.toml": "energy.mac_pj = 1" + "0" * 400}),
    "nested JSON": (["verify", "x.json"], {"x.json": "[" * 100_000}),
    "device": (["verify", "/dev/zero"], {}),
    "long name": (["solve", "n" * 5_000 + ".json"], {}),
    "long field": (["report", "s.csv", "-o", "s.html"], {"s.csv": "a" * 140_000 + "\n"}),
    "size": (["sweep", "bert-tiny", "--spm", "8B:32B:x\u00b2", "-o", "s.csv"], {}),
    "YAML": (["machines", "x.yaml"], {"x.yaml": "a: [1"}),
}
"""What has ended in a traceback, without end or in all memory once."""


@pytest.mark.parametrize("cause", CAUSES)
def test_what_was_wrong_once(cause: str) -> None:
    words, files = CAUSES[cause]

    def make(folder: Path) -> Case:
        for name, text in files.items():
            (folder / name).write_text(text)
        return Case(words)

    found = run(make)
    assert found.wrong == []
    assert found.code == 2


def test_inputs_that_are_drawn() -> None:
    warm()
    wrong = {}
    for number, first, alone in run_all(cases(0, range(COUNT))):
        found = alone or first
        if found.wrong:
            wrong[number] = (recipe_of(0, number), found.wrong, found.stderr[-500:])
    assert wrong == {}
