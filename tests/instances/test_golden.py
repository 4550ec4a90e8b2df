"""Golden problems: every one reproduces what its entry says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from spmopt.core.objective import objective_named
from spmopt.io.files import read_problem
from tests.instances import golden
from tests.instances.golden import FOLDER, Known
from tests.instances.record import brute_force, page_values, plain_pages, record
from tests.instances.sources import SOURCES
from tests.thorough import THOROUGH

INDEX = golden.read_index()
KNOWN = [(name, o, k) for name, entry in INDEX.items() for o, k in entry.objectives.items()]
LARGE = ("gnmt-small", "resnet50-small", "transformer-small")
SLOW = (("lstm", "time"), ("lenet5", "time"))
PROVED = [
    case
    for case in KNOWN
    if case[2].proved_by and (THOROUGH or case[:2] not in (*SLOW, ("attention", "time")))
]
DAILY = [
    (name, objective, known)
    for name, objective, known in KNOWN
    if THOROUGH
    or (
        name not in LARGE
        and (name, objective) not in SLOW
        and not (name.startswith("random") and objective == "energy")
    )
]
# By day a third, of all problems and objectives.
TRIED = DAILY if THOROUGH else DAILY[::3]
every = pytest.mark.parametrize(
    ("name", "objective_name", "known"), TRIED, ids=[f"{name}-{o}" for name, o, _ in TRIED]
)
proved = pytest.mark.parametrize(
    ("name", "objective_name", "known"), PROVED, ids=[f"{name}-{o}" for name, o, _ in PROVED]
)


def exact(known: Known, name: str) -> Fraction:
    value = known.exact(name)
    assert value is not None
    return value


def test_every_file_has_an_entry_and_a_source() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert [path.stem for path in files if path.name != golden.INDEX] == sorted(INDEX)
    assert list(INDEX) == sorted(SOURCES)
    assert sum(path.stat().st_size for path in files) < 1_500_000


def test_every_kind_is_there() -> None:
    proofs = {known.proved_by.removeprefix("by hand, and ") for _, _, known in KNOWN}
    assert proofs == {golden.BRUTE_FORCE, golden.MILP, ""}
    assert [name for name, entry in INDEX.items() if not entry.feasible] == ["infeasible"]
    assert {o for _, o, _ in KNOWN} == {"traffic", "time", "energy"}


@proved
def test_the_optimum_is_proved_again(name: str, objective_name: str, known: Known) -> None:
    problem = golden.problem(name)
    objective = objective_named(objective_name, problem.machine)
    if known.proved_by == golden.MILP:
        assert plain_pages(problem, objective) == known.exact("optimum")
    else:
        assert brute_force(problem, objective, "page") == known.exact("optimum")
        assert brute_force(problem, objective, "whole") == known.exact("whole_optimum")


@every
def test_page_is_as_good_and_its_bound_as_strong(
    name: str, objective_name: str, known: Known
) -> None:
    problem = golden.problem(name)
    objective = objective_named(objective_name, problem.machine)
    bound, value = page_values(problem, objective)
    if known.optimum is not None:
        assert bound <= exact(known, "optimum") <= value
    assert bound <= value
    assert bound >= known.bound * (1 - 1e-3)
    # Solvers of other versions break ties in other ways: a page more or less of few.
    slack = Fraction(1, 20) if known.proved_by else Fraction(1, 50)
    assert value <= exact(known, "page") * (1 + slack)


@pytest.mark.parametrize("name", ["take-turns", "infeasible", "random-3"])
def test_recording_again_gives_the_same(name: str, tmp_path: Path) -> None:
    entry = record(name, tmp_path)
    assert read_problem(tmp_path / f"{name}.json") == golden.problem(name)
    assert (entry.source, entry.feasible) == (INDEX[name].source, INDEX[name].feasible)
    assert set(entry.objectives) == set(INDEX[name].objectives)
    for objective, known in entry.objectives.items():
        assert known.optimum == INDEX[name].objectives[objective].optimum
    golden.write_index({name: entry}, tmp_path)
    assert golden.read_index(tmp_path) == {name: entry}
