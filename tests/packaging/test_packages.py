"""What is installed is needed: required packages are imported, and light commands load few."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IMPORTED = {"highspy-extras": "highspy"}
"""By the package that loads it, where that is not the name itself."""


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=\[ ]", requirement)[0] for requirement in requirements]


def _sources() -> str:
    return "\n".join(
        path.read_text()
        for part in ("spmopt", "formulations")
        for path in (ROOT / part).rglob("*.py")
    )


@pytest.mark.parametrize("name", _names(PROJECT["dependencies"]))
def test_what_is_required_is_imported(name: str) -> None:
    module = IMPORTED.get(name, name)
    assert re.search(rf"^\s*(from|import) {module}\b", _sources(), re.MULTILINE), name


def test_every_package_of_the_tests_has_a_kept_version() -> None:
    kept = (ROOT / ".ci" / "constraints.txt").read_text().lower().replace("_", "-")
    extras = PROJECT["optional-dependencies"]
    named = [*PROJECT["dependencies"], *(each for name in extras for each in extras[name])]
    for name in _names(named):
        if name not in ("cosmic-ray", "spmopt", "torch", "torchvision", "onnxscript"):
            assert re.search(rf"^{name}(\[binary\])?==", kept, re.MULTILINE), name


def _loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


HEAVY = {"highspy", "matplotlib", "onnx", "optuna", "ortools", "pandas", "pulp", "scipy", "sklearn"}


def test_importing_the_library_loads_no_heavy_package() -> None:
    assert not _loaded("import spmopt") & (HEAVY | {"numpy"})
    assert not _loaded("import formulations") & HEAVY


def test_a_schedule_needs_no_package_of_an_extra() -> None:
    line = "solve instances/residual.json --scheduler residency --quiet"
    loaded = _loaded(f"from spmopt.cli import main\nmain({line.split()!r})")
    assert "highspy" in loaded
    assert not loaded & {"cmaes", "onnx", "optuna", "pandas", "scipy", "sklearn", "torch"}
