"""The public names: lazy, documented, and as the command line has them."""

import inspect
import re
import subprocess
import sys
from inspect import Parameter
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.io.files import read_problem
from tests.solving.fakes import bounds_only, install

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"
NAMES = [name for name in dir(spmopt) if not name.startswith("_") and name[0].islower()]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(spmopt, name))]
HEAVY = ("numpy", "optuna", "matplotlib", "highspy", "ortools", "pulp", "pandas", "rich", "onnx")


def in_a_process(code: str) -> str:
    line = [sys.executable, "-c", code]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = f"import sys, spmopt; print(sorted(set({HEAVY}) & set(sys.modules)))"
    assert in_a_process(code) == "[]"
    code = f"import sys, spmopt; spmopt.tune, spmopt.plot; print(set({HEAVY}) & set(sys.modules))"
    assert in_a_process(code) == "set()"


def test_testing_is_there_when_it_is_used() -> None:
    code = "import sys, spmopt; print('spmopt.testing' in sys.modules, spmopt.testing.CHECKS != ())"
    assert in_a_process(code) == "False True"


def test_formulations_load_in_a_fresh_interpreter() -> None:
    assert in_a_process("import formulations; print(1)") == "1"


def test_no_public_name_is_that_of_a_package() -> None:
    packages = {path.name for path in Path(spmopt.__file__).parent.iterdir() if path.is_dir()}
    assert not packages & set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_documented(name: str) -> None:
    function = getattr(spmopt, name)
    text = inspect.getdoc(function) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(\n\n\w+\n-+|\Z)", text, re.DOTALL)
    named = re.findall(r"^(\S.*)$", section[1], re.MULTILINE) if section else []
    known = [each for line in named for each in line.split(", ")]
    parameters = inspect.signature(function).parameters
    if name != "show":
        assert sorted(known) == sorted(parameters)
        gives = inspect.signature(function).return_annotation
        assert gives in (None, "None") or "Returns\n-------" in text
    for parameter in parameters.values():
        assert parameter.annotation is not Parameter.empty


def test_a_notebook_gets_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    compared = spmopt.compare(read_problem(MLP), ["lru", "belady"])
    frame = compared.to_frame()
    assert list(frame["scheduler"]) == ["lru", "belady"]
    solution = compared["lru"]
    assert frame["time_s"][0] == solution.makespan_s
    assert frame["traffic_bytes"][0] == solution.traffic_bytes
    assert frame["energy_j"][0] == solution.energy_j
    assert solution.peak_spm_bytes is not None
    assert solution.gap == frame["gap"][0]
    assert len(spmopt.list_networks().to_frame()) > 10
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'pandas>=2.2.2'"):
        compared.to_frame()


def test_graphs_and_problems_of_ones_own() -> None:
    workload = spmopt.load("bert-tiny", batch=2)
    assert workload.graph is not None
    step = spmopt.lower(spmopt.load(workload.graph, training=True), spmopt.machine(spm="2MB"))
    assert len(step.operations) > len(workload.graph.nodes)
    small = spmopt.machine(step.machine, spm=1_000_000)
    assert spmopt.lower(step, small).machine.spm_bytes == 1_000_000
    with pytest.raises(InputError, match=r"clock: .* is lowered already, its cycles are fixed"):
        spmopt.lower(step, spmopt.machine(step.machine, clock="2GHz"))
    with pytest.raises(InputError, match=r"batch: .* is built already"):
        spmopt.load(workload.graph, batch=3)


@pytest.mark.parametrize("bandwidth", ["1.7GB/s", "44GB/s"])
def test_a_problem_waits_for_the_channel_of_its_machine(bandwidth: str) -> None:
    """Tiles of one buffer: on another channel it is the problem that is lowered for it."""
    machine = spmopt.machine("small-npu", spm="64KiB")
    workload = spmopt.load("alexnet", batch=1)
    problem = spmopt.lower(workload, machine)
    other = spmopt.machine("small-npu", spm="64KiB", bandwidth=bandwidth)
    assert problem.waits
    assert spmopt.lower(problem, other) == spmopt.lower(workload, other) != problem
