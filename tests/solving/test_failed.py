"""Faulty policies of users and packages: each is a failed row, and the others run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import spmopt
from spmopt.audit import audit
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.schedulers.registry import SCHEDULERS, find
from tests.cli.run import runner
from tests.policies.owed import random_problems
from tests.solving.fakes import bounds_only, free, install

MLP = "instances/mlp.json"
FAULTS = {
    "greedy": r"schedule of .* is not legal: R1 step",
    "broken": r"raised ZeroDivisionError: .*division by zero \(test_failed.py, line \d+\)",
    "silent": r"raised RuntimeError \(test_failed.py, line",
    "empty": "a policy returned NoneType; return",
    "mistaken": "a certificate is for another objective than the one asked for",
}


def greedy(problem: Problem) -> list[tuple[str, int, int]]:
    return [(tensor.name, 0, len(problem.operations)) for tensor in problem.tensors]


def broken(problem: Problem) -> Any:
    return len(problem.tensors) / 0


def silent(problem: Problem) -> Any:
    raise RuntimeError


def empty(problem: Problem) -> Any:
    return None


def mistaken(problem: Problem, request: Request) -> Result:
    return replace(belady(problem, request), certificate=free(problem, TRAFFIC))


POLICIES = (greedy, broken, silent, empty, mistaken)


def small() -> Problem:
    return next(random_problems(1))


def test_a_faulty_policy_is_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    problem = small()
    alone = spmopt.compare(problem, ["belady", "lru"])
    found = spmopt.compare(problem, ["belady", *POLICIES, "lru"])
    assert [each.result.scheduler for each in found] == ["belady", *FAULTS, "lru"]
    for name in ("belady", "lru"):
        assert found[name].result.value == alone[name].result.value
        assert found[name].result.bound == alone[name].result.bound
    for name in FAULTS:
        result = found[name].result
        assert (result.status, result.schedule, result.bound) == (Status.FAILED, None, None)
        assert not audit(problem, result).violations


@pytest.mark.parametrize("policy", POLICIES)
def test_its_row_says_why(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    found = spmopt.compare(small(), ["belady", policy])
    (note,) = found[policy.__name__].result.notes
    assert re.match(FAULTS[policy.__name__], note)
    assert f"{policy.__name__}: {note}" in str(found)
    assert "failed" in str(found)
    with pytest.raises(spmopt.InputError, match="its scheduler failed: "):
        _ = found[policy.__name__].schedule


@pytest.mark.parametrize("policy", POLICIES)
def test_alone_it_is_an_error(policy: Any) -> None:
    with pytest.raises(spmopt.SpmoptError, match=FAULTS[policy.__name__]) as raised:
        spmopt.solve(small(), policy)
    assert "\n" not in str(raised.value)


def test_if_all_fail_the_error_names_each() -> None:
    with pytest.raises(ScheduleError, match=r"scheduler broken: .*; scheduler silent: raised"):
        spmopt.compare(small(), [broken, silent])


def test_faults_of_the_program_itself_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(problem: Problem, request: Request) -> Any:
        raise KeyError(problem.name)

    install(monkeypatch, lru=fault)
    with pytest.raises(KeyError):
        spmopt.compare(small(), ["belady", "lru"])


def test_who_is_of_the_program() -> None:
    assert all(find(name).is_own for name in SCHEDULERS)
    assert find("belady:granularity=page").is_own
    assert find("residency:granularity=tensor@pulp:cbc").is_own
    assert not any(find(policy).is_own for policy in POLICIES)


def test_the_command_shows_the_others_and_says_so_by_its_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spmopt.schedulers.registry.SCHEDULERS", replace(SCHEDULERS, added={}))
    spmopt.register_scheduler("broken", broken)
    run = runner(capsys)
    ran = run(f"compare {MLP} -s belady,broken --json")
    assert ran.code == 1
    known, failed = ran.record["results"]
    assert (known["status"], failed["status"]) == ("feasible", "failed")
    assert failed["notes"][0].startswith("raised ZeroDivisionError: ")
    ran = run(f"solve {MLP} -s broken")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
