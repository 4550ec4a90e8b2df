"""The README of searches keeps its word: entries, fields, figures and attributes of the program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import spmopt.search
from spmopt.core.errors import InputError
from spmopt.hardware.technologies import load_technology
from spmopt.search import samplers, storage, study
from spmopt.search.axes import FIELDS, read_axis
from spmopt.search.evaluation import evaluate
from spmopt.search.figures import NAMES, OBJECTIVES, STATIC
from spmopt.search.records import STATES
from spmopt.search.samplers import require_sampler
from spmopt.search.space import Space, space_of
from tests.search.study import small_setup

README = Path(spmopt.search.__file__).with_name("README.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _cells(text: str) -> list[list[str]]:
    lines = re.findall(r"^\| (.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def _named(text: str) -> list[str]:
    """What the first cells of tables have in code."""
    return [name for cells in _cells(text) for name in re.findall(r"`([^`]+)`", cells[0])]


def _space(text: str) -> Space:
    return space_of(tomllib.loads(text), "readme")


def test_the_example_is_read() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    tables = tomllib.loads(example)
    assert list(tables) == ["machine", "constraints", "cost", "weights", "space"]
    space = _space(example)
    assert space.size == 8 * 9 * 2 * 3 * 4
    assert space.fixed == {"batch": 8, "energy.mac_pj": 0.5}
    assert space.weights == {"resnet50": 2.0, "mobilenet": 0.5}


def test_every_entry_is_explained_once() -> None:
    with pytest.raises(InputError) as caught:
        _space("nothing-like-it = 1")
    entries = _named(_section("Entries"))
    assert sorted(entries) == sorted(_space("[space]\ncores = [1, 2]").record())
    for entry in entries:
        assert entry in str(caught.value)


@pytest.mark.parametrize("cells", _cells(_section("Values of a field"))[1:], ids=lambda c: c[0])
def test_forms_of_a_range(cells: list[str]) -> None:
    written, size = cells
    ((key, given),) = tomllib.loads(written.strip("`")).items()
    if key in ("array", "energy"):
        ((name, given),) = given.items()
        key = f"{key}.{name}"
    axis = read_axis(key, given, "readme")
    assert axis.size == (None if size == "endless" else int(size))
    if axis.size is not None:
        assert len(set(axis.values())) == axis.size


def test_every_field_is_explained_once() -> None:
    one_each = re.compile(r"(throughput|energy\.mac_pj)\.\w+")  # of each element type
    named = [name for name in FIELDS if not one_each.fullmatch(name)]
    assert sorted(_named(_section("Fields"))) == sorted(named)


def test_points_of_technologies() -> None:
    plain = " ".join(README.split())
    found = re.search(
        r"`nvsim-sram`, `nvsim-stt` and \S+ have points from (\d+) to (\d+) MiB", plain
    )
    assert found is not None
    for name in ("nvsim-sram", "nvsim-stt", "nvsim-sot"):
        technology = load_technology(name)
        sizes = technology.capacities_bytes
        assert [sizes[0], sizes[-1]] == [int(size) * 2**20 for size in found.groups()]
        assert str(technology.at(sizes[-1] + 1).basis) in plain
        assert str(technology.at(sizes[-1]).basis) == "fit"
    with pytest.raises(InputError, match="none are made up"):
        load_technology("deepnvm-sram").at(10**6)


def test_every_figure_is_explained_once() -> None:
    rows = {cells[0].strip("`"): cells for cells in _cells(_section("Figures"))[1:]}
    assert sorted(rows) == sorted(NAMES)
    short = {cells[1].strip("`"): name for name, cells in rows.items() if cells[1]}
    assert short == dict(OBJECTIVES)
    assert {name for name, cells in rows.items() if cells[3] == "machine"} == set(STATIC)


def test_every_sampler_is_explained_once() -> None:
    assert sorted(_named(_section("Samplers"))) == sorted(samplers.NAMES)
    large = _space("[space]\ncores = '1:1001:1'\nspm = '1MB:1001MB:1MB'")
    (most,) = re.findall(r"at most (\d+) points", README)
    with pytest.raises(InputError, match=f"at most {most} can be tried"):
        require_sampler("grid", large)


def test_every_state_of_a_trial_is_explained_once() -> None:
    (states,) = re.findall(r"^States are `solved`.*?\n\n", README, re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([^`]+)`", states)
    assert sorted(named) == sorted((*STATES, "error"))


def test_every_attribute_is_explained_once() -> None:
    own, network = _section("What is stored").split("| of a network |")
    assert sorted(_named(own)) == sorted(
        [
            *(study.SETUP, study.VERSION, study.FOLDER, study.ERROR, study.PROOF, study.AS_BEFORE),
            *(study.FIGURES, study.NETWORKS, study.MACHINE, study.SECONDS),
            storage.PROCESS,
        ]
    )
    setup = small_setup()
    outcome = evaluate(setup, setup.space.candidate(next(setup.space.points())), {}, keep=False)
    (found,) = outcome.networks.values()
    assert sorted(_named(network)) == sorted(found.record)
