"""Which machines need not be solved: the proofs for one candidate, from all that is known."""

from __future__ import annotations

from collections.abc import Sequence

from optuna.trial import FrozenTrial

from spmopt.search.proofs.least import least_of
from spmopt.search.proofs.pool import Pool
from spmopt.search.proofs.proof import Known, Proof, dominated, excluded
from spmopt.search.space.candidate import Candidate
from spmopt.search.space.figures import NOT_BOUNDED, static_figures
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import is_feasible


class Judge:
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

    def __init__(self, setup: Setup, pool: Pool, prune: bool) -> None:
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

    def proof(self, candidate: Candidate, solved: Sequence[FrozenTrial]) -> Proof | None:
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
            Known(number=trial.number, values=tuple(trial.values))
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
