"""Whatever is read, a command ends soon, as is documented, and says in one line what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checked import need
from tests.fuzz import bases, workers
from tests.fuzz.campaign import cases, recipe_of
from tests.fuzz.case import Case, Outcome, case
from tests.fuzz.judge import CPU_S, SLOW
from tests.fuzz.odd import json_text, toml_text
from tests.fuzz.recipes import warm
from tests.fuzz.recipes.causes import CAUSES, SELDOM
from tests.fuzz.workers import run, run_all
from tests.thorough import THOROUGH, nightly

COUNT = 80
PICTURED = {"field of over 131,072 characters", "inf in rows of a sweep"}
"""Causes whose commands draw a picture or a long table."""


def _buffers(folder: Path) -> Case:
    rows = ("id,lower,upper,size", "=HYPERLINK(1),0,9,4", "b,1,2,8")
    (folder / "b.csv").write_text("\n".join(rows) + "\n")
    return case("allocate", "b.csv", "--minimize", "--time-limit", "0.1", "-o", "o.csv")


def _dual(folder: Path) -> Case:
    """Ask for a dual value of more digits than a float has room for."""
    space = {**bases.SPACE, "cost": {"spm_mb": 10**400}}
    (folder / "s.toml").write_bytes(toml_text(space))
    words = ("tune", bases.MLP, "--space", "s.toml", "--trials", "1", "--workers", "0")
    return case(*words, "-s", "stream")


def _nest(folder: Path) -> Case:
    """Nest lists in the first line of a sweep deeper than they are read."""
    lines = bases.sweep().decode().splitlines()
    (folder / "s.csv").write_text("\n".join(["# " + 100_000 * "[", *lines[1:]]) + "\n")
    return case("report", "s.csv", "-o", "s.html")


def _large(*words: str) -> Callable[[Path], Case]:
    """Say of a result that its scratchpad has 2 GiB, of which it uses a kilobyte."""

    def make(folder: Path) -> Case:
        document = json.loads(json_text(bases.result(False)))
        document["problem"]["machine"]["spm_bytes"] = 2**31
        (folder / "r.json").write_bytes(json_text(document))
        return case(*words)

    return make


def _leaking(folder: Path) -> Case:
    """Give a problem a leakage whose energy is beyond floating point."""
    document = json.loads(bases.text("mlp"))
    document["machine"]["energy"]["leakage_w"] = 1e308
    (folder / "i.json").write_bytes(json_text(document))
    return case("solve", "i.json", "-s", "stream")


FOUND: dict[str, tuple[Callable[[Path], Case], int]] = {
    "dual value that is too large": (_dual, 2),
    "list in a list without an end": (_nest, 2),
    "commands in a scratchpad of gigabytes": (_large("emit", "r.json", "-o", "out"), 0),
    "execution in a scratchpad of gigabytes": (_large("run", "r.json"), 0),
    "energy that is not finite": (_leaking, 2),
    "buffer whose name is a formula": (_buffers, 0),
}
"""What the fuzzer found once, and the exit status that it is to have."""


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found(what: str) -> None:
    make, code = FOUND[what]
    found = run(make)
    assert found.wrong == []
    assert found.code == code


@pytest.mark.parametrize(
    "cause", sorted(CAUSES.keys() - (SELDOM if THOROUGH else SELDOM | PICTURED))
)
def test_what_was_wrong_once(cause: str) -> None:
    (_, make), *_ = cases(0, [0], cause)
    assert run(make).wrong == []


@nightly
def test_inputs_that_are_drawn() -> None:
    warm()
    wrong = {}
    for number, first, alone in run_all(cases(0, range(COUNT))):
        found = alone or first
        if found.wrong:
            wrong[number] = (recipe_of(0, number), found.wrong, found.stderr[-500:])
    assert wrong == {}


@pytest.mark.parametrize(
    ("times", "wrong"),
    [((11.0, 12.0, 9.0), [SLOW]), ((11.0, 9.0, 8.0), []), ((11.0, 9.0, 8.0), ["memory"])],
)
def test_of_what_is_slow_the_median_counts(
    monkeypatch: pytest.MonkeyPatch, times: tuple[float, ...], wrong: list[str]
) -> None:
    """But what is wrong in another way counts once it is."""
    found = [Outcome(0, cpu_s, 1.0, wrong=[SLOW] if cpu_s > CPU_S else []) for cpu_s in times]
    if wrong == ["memory"]:
        found[-1].wrong.append("memory")
    worked = iter([iter([(7, each)]) for each in found])
    monkeypatch.setattr(workers, "_worked", lambda cases: next(worked))
    ((number, first, alone),) = workers.run_all([(7, _dual)])
    assert (number, first) == (7, found[0])
    assert need(alone).wrong == wrong
    assert next(worked, None) is None
