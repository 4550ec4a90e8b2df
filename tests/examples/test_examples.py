"""The examples run, and come to what they say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spmopt.examples

SCRIPTS = Path(spmopt.examples.__file__).parent
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem != "__init__")
_PNG = b"\x89PNG"


def ran(name: str, folder: Path) -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"spmopt.examples.{name}", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder.parent,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_optimum(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    text = ran("optimum", folder)
    assert "status: optimal, verified: True" in text
    found = re.search(r"^gap to bound +\+?([\d.]+) %", text, re.MULTILINE)
    assert found is not None
    assert float(found[1]) <= 0.01
    assert sorted(path.name for path in folder.iterdir()) == [
        "map.png",
        "resnet18.html",
        "resnet18.json",
        "resnet18.trace.json",
    ]
    assert (folder / "map.png").read_bytes().startswith(_PNG)


def test_gap(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    text = ran("gap", folder)
    found = re.search(r"^belady takes ([\d.]+) to ([\d.]+) % more time", text, re.MULTILINE)
    assert found is not None
    assert 1 < float(found[1]) <= float(found[2]) < 100
    row = re.search(r"^belady +.*\+([\d.]+) % +feasible", text, re.MULTILINE)
    assert row is not None
    assert float(found[2]) == pytest.approx(float(row[1]), abs=0.06)
    assert (folder / "difference.png").read_bytes().startswith(_PNG)
    assert (folder / "belady-and-optimum.html").stat().st_size > 0


def test_hardware(tmp_path: Path) -> None:
    folder = tmp_path / "h"
    text = ran("hardware", folder)
    assert "study space: squeezenet; 16 trials: " in text
    rows = json.loads((folder / "front.json").read_text(encoding="utf-8"))
    times, costs = ([row[name] for row in rows] for name in ("time_s", "cost"))
    assert len(rows) > 2
    assert times == sorted(times)
    assert costs == sorted(costs, reverse=True)
    shown = re.findall(r"^ +(\d+)[~*]? +\d+ MiB", text, re.MULTILINE)
    assert [int(number) for number in shown] == [row["trial"] for row in rows]
    fastest = re.search(r"^time +([\d.]+) ms", text, re.MULTILINE)
    assert fastest is not None
    assert float(fastest[1]) == pytest.approx(1e3 * times[0], rel=1e-3)
    assert (folder / "front.png").read_bytes().startswith(_PNG)
    assert (folder / "fastest.html").stat().st_size > 0


@pytest.mark.parametrize("name", NAMES)
def test_examples_open_as_notebooks_and_use_the_public_face(name: str) -> None:
    text = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    assert text.count("\n# %% ") >= 5
    assert set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)) <= {
        "json",
        "sys",
        "pathlib",
        "spmopt",
    }
    assert re.findall(r"^(?:from|import) spmopt.*", text, re.MULTILINE) == ["import spmopt"]
    assert f"python -m spmopt.examples.{name} FOLDER" in text


def test_every_example_is_run_here() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(NAMES) <= tested
