"""``spmopt compare``: which schedulers, by the objective."""

from __future__ import annotations

from spmopt.schedulers.registry import COMPARED
from tests.cli.run import Run
from tests.cli.test_failures import refused

MLP = "instances/mlp.json"
UNABLE = ("fluid",)


def test_those_that_do_not_know_the_replay_are_left_out(run: Run) -> None:
    ran = run(f"compare {MLP} --objective replay --json")
    assert ran.code == 0
    names = [result["scheduler"] for result in ran.record["results"]]
    assert names == [name for name in COMPARED if name not in UNABLE]
    assert ran.err.startswith("left out, for they do not minimize replay: fluid; ")


def test_named_ones_are_refused_with_those_that_do(run: Run) -> None:
    error = refused(run(f"compare {MLP} --objective replay -s belady,fluid"))
    assert "scheduler fluid: no objective replay; use time, traffic, energy" in error
    assert error.strip().endswith("contiguous, joint, or any policy, as belady")


def test_an_optimizer_of_steps_is_valued_by_the_replay(run: Run) -> None:
    ran = run(f"solve {MLP} --scheduler page --objective replay --json")
    (result,) = ran.record["results"] if "results" in ran.record else (ran.record["result"],)
    assert (ran.code, result["status"], result["bound"]) == (0, "feasible", None)
    assert result["value"] == result["replay_cycles"] <= result["makespan_cycles"]
    assert "optimizes time with barriers between steps; compared by the replay" in result["notes"]
