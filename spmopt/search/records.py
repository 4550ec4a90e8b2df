"""Findings of a study as plain records, for programs and plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.setup import Setup

_ENDED = ("solved", "as_before", "excluded", "impossible", "failed")
STATES = (*_ENDED, "running", "lost", "put_back")
"""States of trials; ``running`` are those of other processes.

``lost`` are those of processes of this machine that have ended. Optuna takes them for running
until a search goes on with the study: it fails them and begins their points again, and
``put_back`` are those that it has failed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """A trial that was begun.

    Attributes
    ----------
    state
        One of :data:`STATES`.
    parameters
        Its point of the space.
    values
        Of the objectives; None unless it was solved.
    is_feasible
        Whether it was solved, and holds every constraint.
    constraints
        How far beyond each it is, 0 or less where it holds.
    figures, networks, machine, seconds, proof, error, as_before
        As the storage has them; None where it has none.
    process
        Who runs it; empty where that is not known.
    """

    number: int
    state: str
    parameters: Mapping[str, Setting]
    values: tuple[float, ...] | None
    is_feasible: bool
    constraints: Mapping[str, float]
    figures: Mapping[str, float] | None
    networks: Mapping[str, Mapping[str, Any]] | None
    machine: Mapping[str, Setting | None] | None
    seconds: float | None
    proof: Mapping[str, Any] | None
    error: str | None
    as_before: int | None
    process: str

    @property
    def gap(self) -> float | None:
        """The largest gap of its networks' schedules."""
        gaps = (one.get("gap") for one in (self.networks or {}).values())
        return max((gap for gap in gaps if gap is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Findings of a study.

    Attributes
    ----------
    name, setup
        Of the study.
    trials
        All that were begun.
    members
        The front, or with ``top`` so many of the best in the first objective.
    top
        How many were asked for; None: the front.
    counts
        How many trials are in which state.
    built
        Machines of the members, by number; None where there is no such machine.
    merged
        Numbers of the trials that a member of the front stands for, by its own number.
    """

    name: str
    setup: Setup
    trials: tuple[TrialRecord, ...]
    members: tuple[TrialRecord, ...]
    top: int | None
    counts: Mapping[str, int]
    built: Mapping[int, Candidate | None]
    merged: Mapping[int, tuple[int, ...]]
