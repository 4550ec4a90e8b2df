"""Knowledge of a machine before it is solved: proofs, dual values of near machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from optuna.trial import FrozenTrial

from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.cuts import Cut
from spmopt.search.evaluation import cut_of
from spmopt.search.figures import NOT_BOUNDED, static_figures
from spmopt.search.proofs import (
    CutPool,
    ExclusionProof,
    dominate,
    exclude,
    least_of,
    least_of_fusion_plans,
)
from spmopt.search.setup import Setup
from spmopt.search.study import AS_BEFORE, NETWORKS, Schedules, is_feasible, values_of


class SolvedMachines:
    """Cuts of the solved trials of a study, applied to other machines.

    Their cuts exclude machines and are dual values to start from. Trials of other processes are
    known by the files that they keep.
    """

    def __init__(self, setup: Setup, schedules: Schedules) -> None:
        self._setup, self._schedules = setup, schedules
        self._pool = CutPool()
        self._cuts: dict[int, tuple[Mapping[str, Setting], Mapping[str, Cut]]] = {}

    def add(self, number: int, values: Mapping[str, Setting], cuts: Mapping[str, Cut]) -> None:
        """Take up a trial: its cuts by network."""
        self._cuts[number] = values, cuts
        for cut in cuts.values():
            self._pool.add(cut)

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Add the cuts of trials that other processes stored."""
        for trial in trials:
            # A repeated trial has the files of its original, which was read already.
            if trial.number in self._cuts or AS_BEFORE in trial.user_attrs:
                continue
            networks: Mapping[str, Any] = trial.user_attrs.get(NETWORKS) or {}
            files = {name: record.get("file") or "" for name, record in networks.items()}
            stored = {name: self._schedules.read(file) for name, file in files.items() if file}
            found = {name: cut_of(each) for name, each in stored.items() if each is not None}
            cuts = {name: cut for name, cut in found.items() if cut is not None}
            values = values_of(self._setup.space, trial.params)
            self.add(trial.number, values, cuts)

    def nearest(self, values: Mapping[str, Setting]) -> Mapping[str, Cut]:
        """Return cuts of the trial that differs least, the first of several."""
        priced = ((_distance(own, values), k) for k, (own, cuts) in self._cuts.items() if cuts)
        # Equal distances: the smallest number, so that runs repeat.
        _, number = min(priced, default=(0.0, None))
        return {} if number is None else self._cuts[number][1]

    def excesses(self, candidate: Candidate) -> dict[str, float]:
        """Measure how far ``candidate`` is beyond each static constraint.

        Raises
        ------
        InputError
            The area of a scratchpad without technology.
        """
        static = self._static(candidate)
        limits = (each for each in self._setup.space.constraints if each.is_static)
        return {str(limit): limit.excess(static) for limit in limits}

    def proof(
        self, candidate: Candidate, solved: Sequence[FrozenTrial], *, prune: bool
    ) -> ExclusionProof | None:
        """Find why ``candidate`` need not be solved; None if it must be.

        Parameters
        ----------
        solved
            Trials that may dominate it.
        prune
            Whether machines are excluded that would have to be scheduled to know their figures.

        Raises
        ------
        InputError
            A network that cannot be lowered.
        """
        setup, limits = self._setup, self._setup.space.constraints
        # Static limits come first: they need neither a lowered network nor a bound.
        proof = exclude(limits, self._static(candidate))
        if proof is not None or not prune:
            return proof
        least = self._least(candidate)
        known = {trial.number: trial.values for trial in solved if is_feasible(trial)}
        return exclude(limits, least) or dominate(setup.objectives, least, known)

    def _least(self, candidate: Candidate) -> dict[str, float]:
        """Bound the figures of all schedules on ``candidate``."""
        setup, spent = self._setup, {}
        # Cuts hold for the listed order. A bound has nothing that it could not be below.
        cuts = self._pool if setup.in_listed_order and not setup.bound_only else None
        for network in setup.networks:
            problem = candidate.problem(network)
            if setup.chooses_fusion_plan:
                least = least_of_fusion_plans(problem, tileable_graph_of(problem))
            else:
                least = least_of(problem, cuts)
            spent[network.label] = least.spend(problem.machine)
        found = setup.figures(candidate, spent)
        return {name: value for name, value in found.items() if name not in NOT_BOUNDED}

    def _static(self, candidate: Candidate) -> dict[str, float]:
        return static_figures(self._setup.names, candidate, self._setup.space.cost)


def _distance(left: Mapping[str, Setting], right: Mapping[str, Setting]) -> float:
    """Measure numbers by their ratios, others by whether they differ."""
    return sum(_apart(left[key], right[key]) for key in right)


def _apart(left: Setting, right: Setting) -> float:
    if isinstance(left, str) or isinstance(right, str) or min(left, right) <= 0:
        return float(left != right)
    return abs(log(left / right))
