"""Members of a front whose lead is within the gaps are marked, and no others."""

import csv
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from spmopt.search.evaluation import LEAST
from spmopt.search.findings import possible_ties
from spmopt.search.records import PossibleTie
from spmopt.search.setup import Setup
from spmopt.search.study import AS_BEFORE, NETWORKS, distributions
from spmopt.search.trials import front, record_of, trial_records
from tests.cli.run import Run, runner
from tests.search.study import MLP, SPACE, small_setup
from tests.search.test_command import TUNE

LABEL = str(MLP)


def study_of(setup: Setup, rows: list[tuple[int, tuple[float, ...], float | None]]) -> Study:
    """Trials of a capacity each, with objectives and the least time (s); None: not known."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * len(setup.objectives))
    for number, (spm, values, least_s) in enumerate(rows):
        least = {"time_s": least_s, "energy_j": 0.0, "traffic_bytes": 0.0}
        attrs: dict[str, Any] = {NETWORKS: {LABEL: {} if least_s is None else {LEAST: least}}}
        if number and rows[number - 1][0] == spm:
            attrs[AS_BEFORE] = number - 1
        study.add_trial(
            create_trial(
                params={"spm": spm, "bandwidth": 250_000_000},
                distributions=distributions(setup.space),
                values=values,
                user_attrs=attrs,
                state=TrialState.COMPLETE,
            )
        )
    return study


def ties_of(setup: Setup, study: Study) -> dict[int, PossibleTie]:
    return possible_ties(setup, trial_records(study), map(record_of, front(study)))


def test_a_lead_within_the_gap_of_a_cheaper_machine() -> None:
    setup = small_setup(objectives=("time_s", "spm_mb"))
    rows = [
        (256, (10.0, 256e-6), 9.5),  # cheapest: nothing ties it
        (640, (9.6, 640e-6), 9.4),  # at least 9.5 on trial 0
        (1024, (9.3, 1024e-6), 9.3),  # no bound is below
    ]
    study = study_of(setup, [(spm, values, least) for spm, values, least in rows])
    assert ties_of(setup, study) == {1: PossibleTie(of=0, values={"time_s": (9.6, 10.0, 9.5)})}


def test_the_least_lead_is_named_and_repeats_are_not() -> None:
    setup = small_setup(objectives=("time_s", "spm_mb"))
    rows = [
        (256, (10.0, 256e-6), 1.0),
        (256, (10.0, 256e-6), 1.0),
        (640, (9.0, 640e-6), 1.0),
        (1024, (8.0, 1024e-6), None),
    ]
    found = ties_of(setup, study_of(setup, [*rows]))
    assert {number: lead.of for number, lead in found.items()} == {2: 0, 3: 2}


def test_dominated_machines_may_tie_too() -> None:
    setup = small_setup(objectives=("time_s",))
    study = study_of(setup, [(256, (10.0,), 9.8), (640, (9.9,), 9.7), (1024, (9.75,), 9.75)])
    assert ties_of(setup, study) == {2: PossibleTie(of=1, values={"time_s": (9.75, 9.9, 9.7)})}


def test_a_figure_without_bounds_counts_as_found() -> None:
    setup = small_setup(objectives=("time_s", "power_w"))
    study = study_of(setup, [(256, (10.0, 3.0), 1.0), (640, (9.0, 4.0), 1.0)])
    found = ties_of(setup, study)
    assert list(found) == [1]  # trial 0 leads in power, which no bound says anything of


@pytest.mark.parametrize("scheduler", ["belady", "page"])
def test_marks_are_shown(
    scheduler: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run: Run = runner(capsys)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE)
    shown = run(f"{TUNE} --no-prune -s {scheduler} --tolerance 1e-6")
    record = run("tune show --json").record
    marked = [trial for trial in record["front"] if trial["within_gap"]]
    assert shown.out.count("within the gap of trial") == len(marked)
    for trial in marked:
        lead = trial["within_gap"]
        other = run(f"tune show --trial {lead['trial']} --json").record
        (least,) = (one["least"] for one in other["networks"].values())
        assert least["time_s"] <= trial["values"]["time_s"] < other["values"]["time_s"]
        assert other["values"]["cost"] <= trial["values"]["cost"]
        assert f"{trial['trial']}~" in shown.out
        assert f"~ {trial['trial']}: within the gap of trial {lead['trial']}: time_s" in shown.out
    assert marked or scheduler == "page"
    run("tune show -o front.csv")
    rows = list(csv.DictReader((tmp_path / "front.csv").open()))
    named = {row["trial"]: row["within_gap"] for row in rows if row["within_gap"]}
    assert named == {str(each["trial"]): str(each["within_gap"]["trial"]) for each in marked}
    assert "~" not in run("tune show --top 3").out
