"""Members of a front whose lead is within the tolerance stand for each other."""

import csv
from pathlib import Path

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from spmopt.search.setup import Setup
from spmopt.search.study import distributions
from spmopt.search.trials import front, merge
from tests.cli.run import Run
from tests.search.study import small_setup
from tests.search.test_command import TUNE

WIDE = IntDistribution(0, 10**9)


def study_of(setup: Setup, rows: list[tuple[float, ...]]) -> Study:
    """Trials of a capacity each, with these objectives."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * len(setup.objectives))
    for number, values in enumerate(rows):
        study.add_trial(
            create_trial(
                params={"spm": (256, 640, 1024)[number % 3], "bandwidth": 250_000_000 + number},
                distributions={**distributions(setup.space), "bandwidth": WIDE},
                values=values,
                state=TrialState.COMPLETE,
            )
        )
    return study


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(10.0, 1.0), (9.0, 2.0), (8.0, 3.0)], {0: (), 1: (), 2: ()}),
        # A lead of half a tolerance in time does not pay for a machine of twice the cost.
        ([(10.0, 1.0), (9.995, 2.0), (8.0, 3.0)], {0: (1,), 2: ()}),
        # Of equals in time the cheaper one stays, whichever came first.
        ([(9.995, 2.0), (10.0, 1.0)], {1: (0,)}),
        ([(10.0, 1.0), (9.995, 1.0005), (9.0, 5.0), (8.995, 6.0)], {1: (0,), 2: (3,)}),
        ([(0.0, 1.0), (1.0, 0.0)], {0: (), 1: ()}),
    ],
)
def test_members_within_the_tolerance_are_merged(
    rows: list[tuple[float, ...]], expected: dict[int, tuple[int, ...]]
) -> None:
    setup = small_setup(objectives=("time_s", "cost"))
    assert merge(front(study_of(setup, rows)), 1e-3) == expected


def test_merged_members_are_shown(run: Run, tmp_path: Path) -> None:
    fine = run(f"{TUNE} --no-prune --tolerance 0 --json").record["front"]
    shown = run(f"{TUNE} --no-prune --tolerance 0.5 --study t --storage t.db")
    front = run("tune show --storage t.db --json").record["front"]
    assert len(front) < len(fine)
    assert sum(1 + len(each["merged"]) for each in front) == len(fine)
    for each in (one for one in front if one["merged"]):
        assert f"as good: {', '.join(map(str, each['merged']))}" in shown.out
    run("tune show --storage t.db -o front.csv")
    rows = list(csv.DictReader((tmp_path / "front.csv").open()))
    assert [row["merged"] for row in rows] == [" ".join(map(str, x["merged"])) for x in front]
    assert "as good" not in run("tune show --storage t.db --top 3").out
