"""The search: exact with and without proofs, reproducible, taken up again, constraints."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.objective import OBJECTIVES, Objective, ObjectiveEntry
from spmopt.core.solution import Solution
from spmopt.io.files import read_result, write_result
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import evaluate
from spmopt.search.findings import findings_of, require_feasible, why_no_front
from spmopt.search.samplers import NAMES, Seeded, require_sampler
from spmopt.search.setup import Setup
from spmopt.search.storage import open_storage
from spmopt.search.study import AS_BEFORE, PROOF, counts, look_up, schedules_of
from spmopt.search.trials import (
    candidate_of,
    front,
    network_named,
    record_of,
    result_for,
    tally,
    trial_numbered,
    trial_records,
)
from tests.search.study import (
    FIELDS,
    journal,
    machines,
    search,
    small_setup,
    small_space,
    states,
    values,
)
from tests.thorough import some

Figures = Callable[[Candidate], Mapping[str, float]]


def figures_of(setup: Setup) -> Figures:
    """Evaluate machines, each once."""
    known: dict[Machine, Mapping[str, float]] = {}

    def figures(candidate: Candidate) -> Mapping[str, float]:
        if candidate.machine not in known:
            answer = evaluate(setup, candidate, {}, False)
            spent = {name: one.spent for name, one in answer.networks.items() if one.spent}
            known[candidate.machine] = setup.figures(candidate, spent)
        return known[candidate.machine]

    return figures


def exact_front(setup: Setup, figures_on: Figures) -> set[tuple[float, ...]]:
    """Of every point of the space, by evaluating all of them."""
    found = []
    for point in setup.space.points():
        figures = figures_on(setup.space.candidate(point))
        if all(limit.excess(figures) <= 0 for limit in setup.space.constraints):
            found.append(tuple(figures[name] for name in setup.objectives))
    return {
        point
        for point in found
        if not any(
            other != point and all(a <= b for a, b in zip(other, point, strict=True))
            for other in found
        )
    }


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("limit", [None, "time_s <= 2e-6"])
def test_proofs_exclude_nothing_of_the_front(tmp_path: Path, limit: str | None) -> None:
    setup = small_setup(small_space(constraints=[] if limit is None else [limit]))
    figures = figures_of(setup)
    wanted = exact_front(setup, figures)
    assert wanted
    excluded = 0
    for sampler in some(("brute-force", "grid")):
        for prune in (True, False):
            url = journal(tmp_path, f"{sampler}{prune}")
            study = search(url, setup, sampler=sampler, prune=prune, trials=99)
            assert len({tuple(each.items()) for each in machines(study)}) == 9
            assert len(study.get_trials()) == 9
            assert {tuple(trial.values) for trial in front(study)} == wanted
            pruned = study.get_trials(states=(TrialState.PRUNED,))
            assert prune or not pruned
            excluded += len(pruned)
            for trial in pruned:
                check_proof(study, setup, trial, figures)
    assert excluded


def test_proofs_by_duals_of_solved_machines(tmp_path: Path) -> None:
    for scheduler in some(("residency", "bound"), 2):
        setup = small_setup(scheduler=scheduler, tolerance=1e-2)
        figures = figures_of(setup)
        wanted = exact_front(setup, figures)
        study = search(
            journal(tmp_path, scheduler), setup, sampler="brute-force", trials=99, seed=1
        )
        found = {tuple(trial.values) for trial in front(study)}
        # Dual values of neighbors lead to schedules that are others within the tolerance.
        assert all(any(near(a, b) for b in found) for a in wanted)
        assert all(any(near(a, b) for b in wanted) for a in found)
        pruned = study.get_trials(states=(TrialState.PRUNED,))
        assert pruned
        for trial in pruned:
            check_proof(study, setup, trial, figures)


def near(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    """Whether no value differs by more than what pages of a few bytes leave open."""
    return all(abs(a - b) <= 5e-3 * b for a, b in zip(left, right, strict=True))


def check_proof(study: Any, setup: Setup, trial: Any, figures_on: Figures) -> None:
    """Solve what was excluded, and see that the proof told the truth."""
    candidate, proof = candidate_of(setup, record_of(trial)), trial.user_attrs[PROOF]
    figures = figures_on(candidate)
    assert all(bound <= figures[name] for name, bound in proof["bounds"].items())
    if "constraint" in proof:
        assert any(limit.excess(figures) > 0 for limit in setup.space.constraints)
    else:
        assert study.get_trials()[proof["by"]].values == proof["values"]
        assert all(v <= b for v, b in zip(proof["values"], proof["bounds"].values(), strict=True))


@pytest.mark.usefixtures("quick")
def test_seeds_are_reproducible_and_differ(tmp_path: Path) -> None:
    setup = small_setup(small_space(space={**FIELDS, "spm": "256B:2048B:16B"}))
    found = [
        machines(search(journal(tmp_path, f"{k}"), setup, sampler=sampler, trials=6, seed=seed))
        for k, (sampler, seed) in enumerate(product(("random", "tpe"), (0, 0, 1)))
    ]
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4] != found[5]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sampler", some(["nsga2", "tpe", "random", "grid"]))
def test_a_study_taken_up_again_is_as_if_it_was_never_left(tmp_path: Path, sampler: str) -> None:
    setup = small_setup()
    run_parallel = search(journal(tmp_path, "one"), setup, sampler=sampler, trials=6)
    cut = str(tmp_path / "two.db") if sampler == "nsga2" else journal(tmp_path, "two")
    for trials in (3, 3, 6):
        study = search(cut, setup, sampler=sampler, trials=trials)
        assert sum(map(counts, study.get_trials())) == trials
    assert machines(study) == machines(run_parallel)
    assert values(study) == values(run_parallel)
    assert states(study) == states(run_parallel)


def test_samplers_that_cannot_be_had() -> None:
    endless = small_space(space={"energy.mac_pj": {"low": 1.0, "high": 2.0}})
    with pytest.raises(InputError, match="the space has infinitely many points"):
        require_sampler("grid", endless)
    wide = small_space(space={"spm": {"low": "1kB", "high": "1GB"}})
    with pytest.raises(InputError, match="the space has 999999001 points, at most 1000000"):
        require_sampler("brute-force", wide)
    with pytest.raises(InputError, match="did you mean tpe"):
        require_sampler("tpee", wide)
    assert set(NAMES) == {"tpe", "nsga2", "nsga3", "random", "grid", "brute-force"}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sampler", some(["tpe", "random", "nsga2"]))
def test_every_machine_is_proposed_once(tmp_path: Path, sampler: str) -> None:
    setup = small_setup()
    study = search(journal(tmp_path, "s"), setup, sampler=sampler, trials=99)
    assert len(study.get_trials()) == 9
    assert len({tuple(each.items()) for each in machines(study)}) == 9


@pytest.mark.usefixtures("quick")
def test_a_machine_is_evaluated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, setup = str(tmp_path / "s.db"), small_setup()
    study = search(url, setup, trials=2, prune=False)
    first = study.get_trials()[0]
    # As a sampler that repeats a point of a space too large to be listed.
    monkeypatch.setattr(RandomSampler, "sample_independent", lambda *each: first.params[each[3]])
    monkeypatch.setattr(Seeded, "_moves", False)
    study = search(url, setup, trials=3, prune=False)
    counted = tally(trial_records(study))
    assert (counted["solved"], counted["as_before"]) == (2, 1)
    again = study.get_trials()[2]
    assert again.user_attrs[AS_BEFORE] == first.number
    assert again.values == first.values
    assert len(front(study)) <= 2


@pytest.mark.usefixtures("quick")
def test_constraints_that_no_trial_holds(tmp_path: Path) -> None:
    setup = small_setup(small_space(constraints=["time_s <= 1e-9"]))
    study = search(journal(tmp_path, "s"), setup, trials=6, prune=False)
    assert front(study) == []
    assert why_no_front(findings_of(study, setup)).startswith(
        "none of 6 trials holds time_s <= 1e-09; the near"
    )
    pruned = search(journal(tmp_path, "p"), setup, trials=6)
    assert set(states(pruned)) == {TrialState.PRUNED}
    assert why_no_front(findings_of(pruned, setup)).startswith("none of 6 trials holds")


@pytest.mark.usefixtures("quick")
def test_machines_that_cannot_be_built(tmp_path: Path) -> None:
    fields = {**FIELDS, "spm": ["3MB", "4MB"], "technology": "deepnvm-stt"}
    setup = small_setup(small_space(space=fields), objectives=("time_s", "area_mm2"))
    study = search(journal(tmp_path, "s"), setup, sampler="brute-force", trials=99)
    counted = tally(trial_records(study))
    assert counted["impossible"] == 3
    assert all(trial.params["spm"] == 3_000_000 for trial in front(study))
    small = small_setup(
        small_space(space={**FIELDS, "spm": ["20MB", "21MB"], "technology": "nvsim-sram"})
    )
    other = search(journal(tmp_path, "t"), small, trials=1)
    require_feasible(findings_of(other, small))


@pytest.mark.usefixtures("quick")
def test_another_study_of_the_same_name_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "s.db")
    search(url, small_setup(), trials=1)
    for other, what in (
        (small_setup(scheduler="lru"), "scheduler lru, was belady"),
        (small_setup(small_space(cost={"gbps": 1})), "cost.spm_mb not given, was 1000"),
        (small_setup(objectives=("cost", "time_s")), "objectives cost and time_s, was time_s"),
    ):
        with pytest.raises(InputError, match=f"is another one, of {what}"):
            search(url, other, trials=1)
    with pytest.raises(InputError, match="no study called 't'"):
        look_up(open_storage(url), "t")


def test_schedules_are_kept_and_made_again(tmp_path: Path) -> None:
    url, setup = str(tmp_path / "s.db"), small_setup(scheduler="residency", tolerance=1e-2)
    study = search(url, setup, trials=3)
    study, again = look_up(open_storage(url), None)
    assert again == setup
    network = network_named(again, None)
    for trial in trial_records(study):
        kept = result_for(again, trial, network, schedules_of(study))
        assert kept.result.verified
        made = result_for(again, trial, network, schedules_of_nobody())
        assert made.problem == kept.problem
        if trial.values is not None:
            assert kept.result.totals is not None
            time_s = kept.result.totals.makespan_cycles / kept.problem.machine.clock_hz
            assert time_s == trial.values[0]
            record = (trial.networks or {})[network.label]
            assert record["gap"] == kept.result.gap
        check_file(tmp_path / "r.json", kept)
    with pytest.raises(InputError, match="the study has trials 0 to 2"):
        trial_numbered(study, 3)


def schedules_of_nobody() -> Any:
    from spmopt.search.study import Schedules

    return Schedules(None)


def check_file(path: Path, stored: Solution) -> None:
    write_result(path, stored)
    assert read_result(path).result.value == stored.result.value


def test_schedules_minimize_any_objective(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the user's own, and the replay."""
    reads = Objective(name="reads", unit="bytes", dram_in_byte=Fraction(1))
    monkeypatch.setitem(OBJECTIVES.added, "test-reads", ObjectiveEntry(of=reads))
    asked = [
        ("test-reads", "residency", True),
        ("replay", "belady", True),
        ("replay", "residency", True),
    ]
    for name, scheduler, bounded in asked:
        setup = small_setup(scheduler=scheduler, schedule_for=name)
        study = search(journal(tmp_path, f"{name}-{scheduler}"), setup, trials=2)
        records = [trial.user_attrs["networks"] for trial in front(study)]
        assert records
        for networks in records:
            (network,) = networks.values()
            assert network["verified"]
            assert (network["bound"] is not None) == bounded
            assert not bounded or network["bound"] <= network["value"]
    with pytest.raises(
        InputError, match="scheduler lp-bound: a search has no bounds on the replay"
    ):
        small_setup(scheduler="bound", schedule_for="replay")
