"""The sampler of Gaussian processes; what models propose is tested where torch is installed."""

from pathlib import Path

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from spmopt.core import errors
from spmopt.core.errors import InputError
from spmopt.search.axes import SpaceAxis
from spmopt.search.gaussian import Gaussian, beside, is_wide
from spmopt.search.samplers import require_sampler
from spmopt.search.space import Space
from spmopt.search.study import is_feasible
from spmopt.search.trials import front
from tests.search.study import machines, search, small_setup, small_space, states, values
from tests.solving.fakes import bounds_only, install

MIXED = {
    "spm": {"low": 256, "high": 65536},
    "bandwidth": "250MB/s:1750MB/s:250MB/s",
    "page": [16, 32],
    "energy.mac_pj": {"low": 0.5, "high": 2.0, "log": True},
}
ENDLESS = {"energy.mac_pj": {"low": 0.0, "high": 1.0}}
MODELED = 13
"""Trials of which the last three are of a model: ten others come first."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove the cost of computation in place of solving the relaxation."""
    install(monkeypatch, fluid=bounds_only)


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs torch, which .* pip install 'spmopt\[gp\]'$"):
        require_sampler("gp", small_space(), ("time_s",))
    require_sampler("tpe", small_space(), ("time_s",))


def test_what_counts_as_wide_and_as_the_same() -> None:
    small, large = SpaceAxis(key="spm", low=0, high=9_999), SpaceAxis(key="spm", low=0, high=10_000)
    endless = SpaceAxis(key="energy.mac_pj", low=1.0, high=1000.0, log=True)
    choice = SpaceAxis(key="technology", choices=("a", "b"))
    assert [is_wide(axis) for axis in (small, large, endless, choice)] == [
        False,
        True,
        False,
        False,
    ]
    assert (beside(large, 500, 510), beside(large, 500, 511)) == (True, False)
    assert (beside(endless, 1.0, 1.0069), beside(endless, 1.0, 1.007)) == (True, False)
    assert (beside(endless, 900.0, 906.0), beside(endless, 900.0, 907.0)) == (True, False)
    assert (beside(choice, "a", "a"), beside(choice, "a", "b")) == (True, False)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("objectives", [("time_s",), ("time_s", "cost")])
def test_choices_ranges_and_constraints(tmp_path: Path, objectives: tuple[str, ...]) -> None:
    pytest.importorskip("torch")
    space = small_space(space=MIXED, constraints=["power_w <= 1e-3"])
    setup = small_setup(space, objectives=objectives)
    url = str(tmp_path / "s.db")
    study = search(url, setup, sampler="gp", trials=MODELED, prune=False)
    trials = study.get_trials()
    assert states(study) == [TrialState.COMPLETE] * MODELED
    for point in machines(study):
        for axis in space.axes:
            value = point[axis.key]
            if axis.size is None:
                assert axis.low <= value <= axis.high
            else:
                assert axis.value(axis.position(value)) == pytest.approx(value)
    assert all(trial.constraints for trial in trials)
    assert all(is_feasible(trial) for trial in front(study))
    # Proposed by a model, which notes what it proposes.
    modeled = [any(key.startswith("gp:") for key in trial.system_attrs) for trial in trials]
    assert modeled == [number >= 10 for number in range(MODELED)]
    cut = str(tmp_path / "cut.db")
    for count in (11, MODELED):
        again = search(cut, setup, sampler="gp", trials=count, prune=False)
    assert machines(again) == machines(study)
    assert values(again) == values(study)


@pytest.mark.usefixtures("quick")
def test_several_workers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    setup = small_setup(small_space(space=MIXED))
    url = str(tmp_path / "s.db")
    study = search(url, setup, sampler="gp", trials=MODELED + 2, prune=False, workers=2)
    assert states(study) == [TrialState.COMPLETE] * (MODELED + 2)
    assert len({tuple(point.values()) for point in machines(study)}) == MODELED + 2


def solved(space: Space, distribution: BaseDistribution, points: list[float]) -> optuna.Study:
    """A study of one field that is to be small."""
    study = optuna.create_study()
    (axis,) = space.axes
    for point in points:
        study.add_trial(
            create_trial(
                params={axis.key: point}, distributions={axis.key: distribution}, value=point
            )
        )
    return study


def test_beside_an_excluded_point_one_is_drawn() -> None:
    pytest.importorskip("torch")
    space, ends = small_space(space=ENDLESS), FloatDistribution(0.0, 1.0)
    (axis,) = space.axes
    study = solved(space, ends, [0.2 + 0.08 * number for number in range(10)])

    def proposed(seed: int, draws: bool) -> float | None:
        asked = study.ask()
        sampler = Gaussian(seed, space, draws=draws)
        found = sampler.sample_relative(study, study.get_trials()[-1], {axis.key: ends})
        study.tell(asked, state=TrialState.FAIL)
        return found.get(axis.key)

    first = proposed(0, draws=True)
    assert first is not None
    assert first < 0.2
    study.add_trial(
        create_trial(
            state=TrialState.PRUNED, params={axis.key: first}, distributions={axis.key: ends}
        )
    )
    # The model has learnt nothing, and comes to the same point again.
    assert proposed(1, draws=False) == pytest.approx(first, abs=1e-3)
    assert proposed(1, draws=True) is None


def test_a_range_of_a_billion_values_is_not_listed() -> None:
    pytest.importorskip("torch")
    space = small_space(space={"spm": {"low": 1, "high": 10**9}})
    ends = IntDistribution(1, 10**9)
    study = solved(space, ends, [2 * 10**8 + 8 * 10**7 * number for number in range(10)])
    study.ask()
    trial = study.get_trials()[-1]
    found = Gaussian(0, space, draws=False).sample_relative(study, trial, {"spm": ends})
    assert isinstance(found["spm"], int)
    assert 1 <= found["spm"] < 2 * 10**8
