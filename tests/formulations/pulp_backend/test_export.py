"""The program in files: other programs read the same optimum."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import highspy
import pytest

from formulations.pulp_backend.schedule import export
from formulations.residency.plain.names import labels
from spmopt.core.objective import objective_named
from tests.checked import need
from tests.cli.run import Run
from tests.formulations.tensors.cases import solved
from tests.instances import golden


def read_back(path: Path) -> float:
    """Optimum of a file by HiGHS."""
    new: Any = highspy.Highs  # its constructor has no annotation
    solver = new()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("form", ["mps", "lp"])
@pytest.mark.parametrize(
    ("name", "objective_name", "unit"),
    [
        ("mlp", "time", 1.0),
        ("random-89", "energy", 1e-12),
        ("random-34", "traffic", 1.0),
    ],
)
def test_read_back_it_has_the_same_optimum(
    tmp_path: Path, name: str, objective_name: str, unit: float, form: str
) -> None:
    problem = golden.problem(name)
    objective = objective_named(objective_name, problem.machine)
    program = export(problem, objective, form)
    path = tmp_path / f"program.{form}"
    path.write_text(program.text)
    optimum = need(solved(problem, objective).class_bound).value
    # The bound of a class is rounded up to a value that schedules may have.
    grain = float(objective.grain)
    assert optimum - grain <= read_back(path) * unit <= optimum + 1e-6 * optimum
    assert program.unit.endswith(objective.unit)


def test_columns_and_rows_bear_names() -> None:
    text = export(
        golden.problem("mlp"), objective_named("time", golden.problem("mlp").machine), "lp"
    ).text
    for name in (
        "full_x_s0",
        "capacity_s3",
        "time_s8",
        "load_w1_s0",
        "growth_resident_r_s2",
        "kept_x_s0_s8",
    ):
        assert re.search(rf"\b{name}\b", text), name
    names = set(re.findall(r"[A-Za-z][\w.]*", text))
    assert all(len(name) < 100 for name in names)


def test_names_are_legal_and_differ() -> None:
    given = ["a b", "a_b", "a-b", "é/x:0", "a_b_t2", "x" * 200, "x" * 300, ""]
    found = labels(given)
    assert len(set(found)) == len(given)
    assert all(re.fullmatch(r"\w*", name, re.ASCII) and len(name) < 70 for name in found)
    assert found[:2] == ["a_b", "a_b_t1"]
    assert found[3] == "__x_0"


def test_export_by_command(run: Run, tmp_path: Path) -> None:
    source, path = golden.FOLDER / "mlp.json", tmp_path / "mlp.mps"
    ran = run(f"export {source} --objective traffic -o {path}")
    assert ran.code == 0
    assert re.search(r"mlp.*\d+ columns, \d+ rows, traffic in bytes", ran.out)
    assert read_back(path) == pytest.approx(second_traffic())
    ran = run(f"export {source} --objective traffic --format lp -o {path} --json")
    assert ran.record == {
        "columns": 147,
        "rows": 113,
        "file": str(path),
        "format": "lp",
        "problem": "mlp",
        "objective": "traffic",
        "unit": "bytes",
    }
    assert path.read_text().startswith("\\* whole_tensors *\\")
    assert list(tmp_path.iterdir()) == [path]


def test_the_ending_of_the_file_names_its_format(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mlp.lp"
    assert run(f"export {golden.FOLDER / 'mlp.json'} -o {path}").code == 0
    assert path.read_text().startswith("\\* whole_tensors *\\")


def second_traffic() -> float:
    """Of the perceptron."""
    problem = golden.problem("mlp")
    return need(solved(problem, objective_named("traffic", problem.machine)).class_bound).value


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("mlp.json -o {folder}/p.xyz", 2, "no such format; give --format mps or --format lp"),
        ("mlp.json --format sav -o {folder}/p", 2, "--format sav: no such format"),
        ("mlp.json -o /dev/null/p.lp", 2, "a folder is needed"),
        ("mlp.json --objective beauty -o {folder}/p.lp", 2, "beauty"),
        ("infeasible.json -o {folder}/p.lp", 3, "need 8 bytes of SPM in pages of 4"),
    ],
)
def test_bad_exports_write_nothing(
    run: Run, tmp_path: Path, line: str, code: int, said: str
) -> None:
    ran = run(f"export {golden.FOLDER}/{line.format(folder=tmp_path)}")
    assert ran.code == code
    assert said in ran.err
    assert not list(tmp_path.iterdir())
