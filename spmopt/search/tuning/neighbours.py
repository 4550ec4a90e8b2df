"""Cuts of solved trials: which one is nearest to start from, and what all of them prove."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.hardware.settings import Setting
from spmopt.search.evaluation.evaluate import cut_of
from spmopt.search.proofs.cuts import Cut
from spmopt.search.proofs.pool import Pool
from spmopt.search.space.space import Space
from spmopt.search.study.record import AS_BEFORE, NETWORKS, values_of
from spmopt.search.study.schedules import Schedules


class Neighbours:
    """Cuts by trial and network, those of other processes from the files that they keep."""

    def __init__(self, space: Space, schedules: Schedules) -> None:
        self.pool = Pool()
        self._space, self._schedules = space, schedules
        self._known: dict[int, tuple[dict[str, Setting], dict[str, Cut]]] = {}

    def add(self, trial: int, values: Mapping[str, Setting], cuts: Mapping[str, Cut]) -> None:
        """Take up the cuts of a trial."""
        if trial in self._known:
            return
        self._known[trial] = dict(values), dict(cuts)
        for cut in cuts.values():
            self.pool.put(cut)

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Take up the schedules that others have kept."""
        for trial in trials:
            if trial.number in self._known or AS_BEFORE in trial.user_attrs:
                continue
            networks: Mapping[str, Any] = trial.user_attrs.get(NETWORKS, {})
            found = {name: self._cut(record.get("file")) for name, record in networks.items()}
            cuts = {name: cut for name, cut in found.items() if cut is not None}
            self.add(trial.number, values_of(self._space, trial.params), cuts)

    def nearest(self, values: Mapping[str, Setting]) -> dict[str, Cut]:
        """Cuts of the trial that differs least, the first of several."""
        priced = [number for number, (_, cuts) in self._known.items() if cuts]
        if not priced:
            return {}
        number = min(priced, key=lambda each: (_distance(self._known[each][0], values), each))
        return self._known[number][1]

    def _cut(self, file: str | None) -> Cut | None:
        stored = None if file is None else self._schedules.read(file)
        return None if stored is None else cut_of(stored)


def _distance(left: Mapping[str, Setting], right: Mapping[str, Setting]) -> float:
    """Of numbers by their ratios; of others whether they differ."""
    return sum(_apart(left[key], right[key]) for key in right)


def _apart(left: Setting, right: Setting) -> float:
    if isinstance(left, str) or isinstance(right, str) or min(left, right) <= 0:
        return float(left != right)
    return abs(log(left / right))
