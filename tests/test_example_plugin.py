"""The example package: installed beside the program, what it adds works by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from shutil import copytree

import pytest

from spmopt.core.plugins import plugins

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tests" / "example_plugin"
Spmopt = Callable[..., list[tuple[int, str, str]]]
SERVE = """
import contextlib, io, json, sys
from spmopt.cli import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
"""Runs command lines in one process, which sees the package from its start."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and its metadata, as an installer leaves them."""
    folder = tmp_path_factory.mktemp("site")
    copytree(PACKAGE / "spmopt_example", folder / "spmopt_example")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    entries = ConfigParser()
    entries.optionxform = str  # type: ignore[assignment, method-assign]
    entries.read_dict(project["entry-points"])
    with (info / "entry_points.txt").open("w") as file:
        entries.write(file)
    return folder


@pytest.fixture
def spmopt(site: Path) -> Spmopt:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(site))),
        "COLUMNS": "200",
    }

    def run(*lines: str) -> list[tuple[int, str, str]]:
        command = [sys.executable, "-c", SERVE, json.dumps([line.split() for line in lines])]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return [tuple(json.loads(line)) for line in done.stdout.splitlines()]

    return run


def test_what_a_package_adds_works_by_name(spmopt: Spmopt, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    machine = "--machine tiny-npu --technology my-ram --objective reads"
    solved, verified, compared = spmopt(
        f"solve bert-tiny {machine} --scheduler hottest -o {result} --json",
        f"verify {result}",
        f"compare bert-tiny {machine} --schedulers hottest,belady",
    )
    assert (solved[0], solved[2].partition(": ")[0]) == (0, str(result))
    found = json.loads(solved[1])["results"][0]
    assert (found["scheduler"], found["objective"], found["unit"]) == ("hottest", "reads", "bytes")
    assert found["verified"]
    assert verified[0] == compared[0] == 0
    assert "hottest" in compared[1]
    assert "objective reads" in compared[1]


def test_lists_name_what_a_package_adds_without_importing_it(spmopt: Spmopt, site: Path) -> None:
    package = site / "spmopt_example" / "__init__.py"
    text = package.read_text()
    package.write_text("raise RuntimeError('imported')\n")
    try:
        added = {"schedulers": "hottest", "machines": "tiny-npu", "technologies": "my-ram"}
        *lists, record, solved = spmopt(
            *added, "schedulers --json", "solve bert-tiny --scheduler belady"
        )
        for (code, out, err), name in zip(lists, added.values(), strict=True):
            assert (code, err) == (0, "")
            assert f"{name}: of spmopt-example 1.0, loaded when used" in out
        assert json.loads(record[1])["of_packages"]["hottest"] == "spmopt-example 1.0"
        assert (solved[0], solved[2]) == (0, "")
    finally:
        package.write_text(text)


def test_what_cannot_be_loaded_costs_one_line(spmopt: Spmopt) -> None:
    wrong = {
        "--scheduler broken": "spmopt.schedulers broken of spmopt-example 1.0: cannot be loaded: "
        "ModuleNotFoundError: No module named 'spmopt_example.no_such_module'",
        "--scheduler hotest": "did you mean hottest?",
        "--machine tiny-np": "did you mean tiny-npu?",
        "--objective read": "did you mean reads?",
    }
    ran = spmopt(*(f"solve bert-tiny {words}" for words in wrong))
    for (code, _, err), said in zip(ran, wrong.values(), strict=True):
        assert code == 2
        assert said in err
        assert err.count("\n") == 1


def test_a_package_adds_operators_and_passes_the_conformance_suite(site: Path) -> None:
    code = """
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.testing import check_policy, policies
from spmopt_example import hottest
builder = GraphBuilder("snake")
x, w = builder.input("x", (4, 8)), builder.weight("w", (8, 8))
graph = builder.finish([builder.add("Snake", [builder.add("MatMul", [x, w])])])
names = [node.operator for node in training_graph(graph).nodes]
assert names[-2:] == ["SnakeGradient", "MatMulWeightGradient"], names
assert operators.lookup("SnakeGradient").operations(((4, 8),), ((4, 8),), {}) == 192
every = policies.random_problems
policies.random_problems = lambda count: every(2)
check_policy(hottest)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(site)))}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_entry_points_are_looked_up_once() -> None:
    assert plugins("spmopt.schedulers") is plugins("spmopt.schedulers")
