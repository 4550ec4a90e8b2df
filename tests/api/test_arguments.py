"""Arguments of wrong types: each is one clear line that begins with the argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spmopt
from spmopt.io.files import read_problem
from tests.solving.fakes import bounds_only, install

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"
BUFFERS = (spmopt.Buffer(name="a", lower=0, upper=2, size_bytes=8),)


def solution() -> spmopt.Solution:
    return spmopt.solve(read_problem(MLP), "lru")


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "load",
        {"source": 5},
        "source 5: must be str | Path | Graph | Problem (spmopt.lower makes one)",
    ),
    ("load", {"batch": "two"}, "batch 'two': must be int"),
    ("load", {"batch": 2.5}, "batch 2.5: must be int"),
    ("load", {"batch": True}, "batch True: must be int"),
    ("load", {"training": "yes"}, "training 'yes': must be bool"),
    ("load", {"parameters": {"steps": "x"}}, "parameters {'steps': 'x'}: must be Mapping[str"),
    ("load", {"callbacks": print}, "callbacks is of type builtin_function_or_method: must be"),
    ("machine", {"bank": "2MB:nvsim-sram"}, "bank '2MB:nvsim-sram': must be Sequence[str]"),
    ("lower", {"machine": "tpu"}, "machine 'tpu': must be Machine (spmopt.machine makes one)"),
    ("solve", {"problem": "mlp"}, "problem 'mlp': must be Problem (spmopt.lower makes one)"),
    ("solve", {"scheduler": 7}, "scheduler 7: must be str | Policy"),
    ("solve", {"time_limit": "60"}, "time_limit '60': must be float"),
    (
        "compare",
        {"schedulers": ["lru", 5]},
        "schedulers ['lru', 5]: must be Sequence[str | SchedulerEntry | Policy]",
    ),
    ("verify", {"result": 1}, "result 1: must be str | Path | Solution (spmopt.solve makes one)"),
    ("read", {"path": None}, "path None: must be str | Path"),
    ("sweep", {"batch": [1, None]}, "batch [1, None]: must be str | int | Sequence[str | int]"),
    ("tune", {"prune": None}, "prune None: must be bool"),
    ("place", {"buffers": [3]}, "buffers [3]: must be str | Path | Sequence[Buffer]"),
    ("plot", {"subject": []}, "subject: has 0 solutions; give one, or two"),
    ("plot", {"picture": "foo"}, "no picture called 'foo'; choose one of all, compare"),
    ("report", {"timing": 1}, "timing 1: must be str"),
    ("trace", {"solution": "a.json"}, "solution 'a.json': must be Solution (spmopt.solve makes"),
    ("export", {"format": 1}, "format 1: must be str"),
    ("explain", {"per": "foo"}, "no choice for per called 'foo'"),
    ("explain", {"top": "all"}, "top 'all': must be int"),
    ("gradients", {"cores": "4"}, "cores '4': must be int"),
    ("read_sweep", {"path": 1}, "path 1: must be str | Path"),
    ("read_search", {"top": "3"}, "top '3': must be int"),
    ("list_machines", {"names": "small-npu"}, "names 'small-npu': must be Sequence[str]"),
    ("list_technologies", {"names": 1}, "names 1: must be Sequence[str]"),
]
RIGHT: dict[str, Callable[[], dict[str, Any]]] = {
    "load": lambda: {"source": "bert-tiny"},
    "lower": lambda: {"workload": read_problem(MLP)},
    "solve": lambda: {"problem": read_problem(MLP)},
    "compare": lambda: {"problem": read_problem(MLP)},
    "export": lambda: {"problem": read_problem(MLP)},
    "sweep": lambda: {"networks": "bert-tiny"},
    "tune": lambda: {"networks": "bert-tiny", "space": "none.toml"},
    "place": lambda: {"buffers": BUFFERS, "capacity": 8},
    **dict.fromkeys(("plot", "report"), lambda: {"subject": solution()}),
    **dict.fromkeys(("explain", "trace"), lambda: {"solution": solution()}),
}
"""Arguments that are required, but for the wrong one."""


@pytest.mark.parametrize(("name", "wrong", "said"), WRONG)
def test_a_wrong_argument_is_one_clear_line(
    name: str, wrong: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    right = RIGHT.get(name, dict)()
    with pytest.raises(spmopt.InputError) as raised:
        getattr(spmopt, name)(**{**right, **wrong})
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", sorted({name for name, *_ in WRONG}))
def test_every_argument_of_every_function_is_checked(name: str) -> None:
    """An object that is nothing known is refused wherever it is given."""
    parameters = inspect.signature(getattr(spmopt, name)).parameters
    right = {"result": MLP, "path": MLP, **RIGHT.get(name, dict)()}
    right = {key: value for key, value in right.items() if key in parameters}
    for parameter in parameters:
        with pytest.raises(spmopt.InputError, match=f"^{parameter} is of type object: must be "):
            getattr(spmopt, name)(**{**right, parameter: object()})


def test_missing_and_unknown_arguments_are_said_by_python() -> None:
    with pytest.raises(TypeError, match=r"load\(\) got an unexpected keyword argument 'bach'"):
        spmopt.load("bert-tiny", bach=2)  # type: ignore[call-arg]


def test_numbers_of_numpy_generators_and_sets_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    workload = spmopt.load("bert-tiny", batch=np.int64(2), training=np.bool_(False))  # type: ignore[arg-type]
    assert workload.title == "bert-tiny, batch 2"
    problem = read_problem(MLP)
    found = spmopt.compare(problem, (n for n in ("lru", "belady")), time_limit=np.float64(5))  # type: ignore[arg-type]
    assert len(found) == 2
    assert len(spmopt.compare(problem, {"lru": 1}.keys())) == 1  # type: ignore[arg-type]
