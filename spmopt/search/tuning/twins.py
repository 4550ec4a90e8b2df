"""Results by what schedules see of the machine: one that looks the same is not solved again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.hardware.settings import BANK
from spmopt.search.evaluation.problem import problem_of
from spmopt.search.space.candidate import Candidate
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import AS_BEFORE, NETWORKS, values_of
from spmopt.search.study.schedules import Schedules

_UNSEEN = ("technology", BANK, "energy.", "area.")
"""Fields whose values schedules may not see."""


class Twins:
    """Results of solved machines, of twins the first one's.

    See :mod:`spmopt.search.evaluation.problem`.
    """

    def __init__(self, setup: Setup, schedules: Schedules) -> None:
        self._setup, self._schedules = setup, schedules
        self._known: dict[Candidate, Mapping[str, bytes | str]] = {}
        self._read: set[int] = set()

    @property
    def possible(self) -> bool:
        """Whether machines of the space may be twins."""
        return any(axis.key.startswith(_UNSEEN) for axis in self._setup.space.axes)

    def alike(self, left: Candidate, right: Candidate) -> bool:
        """Whether schedules of the study cannot tell them apart."""
        return self.possible and self._problem(left) == self._problem(right)

    def add(self, number: int, candidate: Candidate, results: Mapping[str, bytes | str]) -> None:
        """Take up the results of a trial, by network: compressed, or names of their files."""
        self._read.add(number)
        if self.possible and all(results.values()):
            self._known.setdefault(self._problem(candidate), results)

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Take up what others have kept."""
        for trial in trials if self.possible else ():
            if trial.number in self._read or AS_BEFORE in trial.user_attrs:
                continue
            networks: Mapping[str, Any] = trial.user_attrs.get(NETWORKS) or {}
            files = {name: record.get("file") or "" for name, record in networks.items()}
            point = values_of(self._setup.space, trial.params)
            self.add(trial.number, self._setup.space.candidate(point), files)

    def of(self, candidate: Candidate) -> dict[str, bytes]:
        """Compressed results of a twin by network; of those that are still to be had."""
        if not self.possible:
            return {}
        known = self._known.get(self._problem(candidate), {})
        found = {name: self._packed(result) for name, result in known.items()}
        return {name: result for name, result in found.items() if result is not None}

    def _problem(self, candidate: Candidate) -> Candidate:
        return problem_of(candidate, self._setup.schedule_for)

    def _packed(self, result: bytes | str) -> bytes | None:
        return result if isinstance(result, bytes) else self._schedules.packed(result)
