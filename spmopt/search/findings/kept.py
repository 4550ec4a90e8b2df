"""Results of trials that a study has kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.io.files import StoredResult
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import NETWORKS
from spmopt.search.study.schedules import Schedules
from spmopt.sweep.cases import Network
from spmopt.verify import require_legal


def kept_result(trial: FrozenTrial, network: Network, schedules: Schedules) -> StoredResult | None:
    """The verified result of a network in a trial; None where there is no file.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    records: dict[str, Any] = trial.user_attrs.get(NETWORKS) or {}
    file = records.get(network.label, {}).get("file")
    found = None if file is None else schedules.read(file)
    if found is not None and found.result.schedule is not None:
        require_legal(found.instance, found.result.schedule, found.result.totals)
    return found


def kept_results(
    setup: Setup, trials: Iterable[FrozenTrial], schedules: Schedules
) -> dict[tuple[int, str], StoredResult]:
    """Verified results by trial and network; without those whose files are gone.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    asked = ((trial, network) for trial in trials for network in setup.networks)
    found = (
        ((trial.number, network.label), kept_result(trial, network, schedules))
        for trial, network in asked
    )
    return {key: stored for key, stored in found if stored is not None}
