"""``spmopt compare``: which schedulers, by the objective."""

from __future__ import annotations

from spmopt.schedulers.registry import COMPARED
from tests.cli.run import Run
from tests.cli.test_failures import refused

MLP = "instances/mlp.json"


def test_the_replay_is_compared_with_its_bound(run: Run) -> None:
    ran = run(f"compare {MLP} --timing async --json")
    assert ran.code == 0
    results = ran.record["results"]
    assert [result["scheduler"] for result in results] == [*COMPARED]
    listed = [result for result in results if result["own_order"]]
    (proved,) = {result["bound"] for result in listed}
    values = [result["value"] for result in listed if result["value"] is not None]
    assert 0 < proved <= min(values)


def test_who_does_not_know_an_objective_is_refused(run: Run) -> None:
    error = refused(run(f"compare {MLP} --objective time -s belady,joint"))
    assert "scheduler joint: no objective time; use timing async" in error


def test_an_optimizer_of_steps_is_valued_by_the_replay(run: Run) -> None:
    ran = run(f"solve {MLP} --scheduler residency --timing async --json")
    (result,) = ran.record["results"] if "results" in ran.record else (ran.record["result"],)
    assert ran.code == 0
    assert 0 < result["bound"] <= result["value"]
    assert result["value"] == result["replay_cycles"] <= result["makespan_cycles"]
    assert "optimizes time with barriers between steps; compared by async time" in result["notes"]
