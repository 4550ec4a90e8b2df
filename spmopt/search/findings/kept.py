"""Results of trials that a study has kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.io.result import StoredResult
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import NETWORKS
from spmopt.search.study.schedules import Schedules
from spmopt.verify import require_legal


def kept_results(
    setup: Setup, trials: Iterable[FrozenTrial], schedules: Schedules
) -> dict[tuple[int, str], StoredResult]:
    """Verified results by trial and network; without those whose files are gone.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    found = {}
    for trial in trials:
        records: dict[str, Any] = trial.user_attrs.get(NETWORKS) or {}
        for network in setup.networks:
            file = records.get(network.label, {}).get("file")
            stored = None if file is None else schedules.read(file)
            if stored is None:
                continue
            if stored.result.schedule is not None:
                require_legal(stored.instance, stored.result.schedule, stored.result.totals)
            found[trial.number, network.label] = stored
    return found
