"""What is known of a machine before it is solved: proofs, prices nearby, results of duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.hardware.settings import BANK, Setting
from spmopt.search.candidate import Candidate
from spmopt.search.cuts import Cut
from spmopt.search.evaluation import cut_of, problem_of
from spmopt.search.figures import NOT_BOUNDED, static_figures
from spmopt.search.proofs import CutPool, ExclusionProof, KnownTrial, dominated, excluded, least_of
from spmopt.search.setup import Setup
from spmopt.search.space import Space
from spmopt.search.study import AS_BEFORE, NETWORKS, Schedules, is_feasible, values_of


class Pruner:
    """Proofs about the machines of a study.

    Parameters
    ----------
    setup
        The study.
    pool
        Cuts of what was solved.
    prune
        Whether machines are excluded that would have to be scheduled to know their figures.
    """

    def __init__(self, setup: Setup, pool: CutPool, prune: bool) -> None:
        self._setup, self._prune = setup, prune
        # Cuts hold for the listed order. A bound has nothing that it could not be below.
        self._cuts = pool if setup.in_listed_order and not setup.bound_only else None

    def excesses(self, candidate: Candidate) -> dict[str, float]:
        """Static constraints, each with how far ``candidate`` is beyond it.

        Raises
        ------
        InputError
            The area of a scratchpad without technology.
        """
        static = self._static(candidate)
        limits = (each for each in self._setup.space.constraints if each.is_static)
        return {str(limit): limit.excess(static) for limit in limits}

    def proof(self, candidate: Candidate, solved: Sequence[FrozenTrial]) -> ExclusionProof | None:
        """Why ``candidate`` need not be solved; None if it must be.

        Raises
        ------
        InputError
            A network that cannot be lowered.
        """
        setup, limits = self._setup, self._setup.space.constraints
        proof = excluded(limits, self._static(candidate))
        if proof is not None or not self._prune:
            return proof
        least = self.least(candidate)
        known = (
            KnownTrial(number=trial.number, values=tuple(trial.values))
            for trial in solved
            if is_feasible(trial)
        )
        return excluded(limits, least) or dominated(setup.objectives, least, known)

    def least(self, candidate: Candidate) -> dict[str, float]:
        """Figures that no schedule on ``candidate`` is below."""
        spent = {}
        for network in self._setup.networks:
            instance = candidate.instance(network)
            spent[network.label] = least_of(instance, self._cuts).spent(instance.machine)
        found = self._setup.figures(candidate, spent)
        return {name: value for name, value in found.items() if name not in NOT_BOUNDED}

    def _static(self, candidate: Candidate) -> dict[str, float]:
        return static_figures(self._setup.names, candidate, self._setup.space.cost)


class Neighbors:
    """Cuts by trial and network, those of other processes from the files that they keep."""

    def __init__(self, space: Space, schedules: Schedules) -> None:
        self.pool = CutPool()
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


_UNSEEN = ("technology", BANK, "energy.", "area.")
"""Fields whose values schedules may not see."""


class Duplicates:
    """Results of solved machines, of twins the first one's.

    See :mod:`spmopt.search.evaluation`.
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
