"""The registry: what each scheduler is, what it supports, where its code is.

Nothing here imports a scheduler: a solver library loads only when its scheduler runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from spmopt.core.errors import InputError
from spmopt.core.objective import Objective
from spmopt.core.suggest import unknown

if TYPE_CHECKING:  # it would load numpy, and lists of names should not
    from spmopt.core.scheduler import Scheduler


class Kind(StrEnum):
    """How a scheduler works."""

    POLICY = "policy"  # greedy, no bound of its own
    FORMULATION = "formulation"  # optimises from the best policy on, with a bound
    RELAXATION = "relaxation"  # a bound only, no schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A scheduler.

    Attributes
    ----------
    target
        ``module:callable`` of a :class:`~spmopt.core.scheduler.Scheduler`.
    granularity
        What may be resident of a tensor: ``whole``, ``page`` or ``fluid``.
    objectives
        Names of the objectives that it minimises; a policy takes all and heeds none.
    summary, source
        One line on what it does, and where it is from.
    """

    name: str
    kind: Kind
    target: str
    granularity: str
    summary: str
    source: str
    objectives: tuple[str, ...] = ("makespan", "traffic", "energy")

    def load(self) -> Scheduler:
        """Import the callable."""
        module, _, name = self.target.partition(":")
        return cast("Scheduler", getattr(import_module(module), name))

    def require(self, objective: Objective) -> None:
        """Raise :class:`InputError` when ``objective`` is not supported."""
        if objective.name not in self.objectives:
            choices = ", ".join(self.objectives)
            raise InputError(f"scheduler {self.name}: no objective {objective.name}; use {choices}")


_ENTRIES = (
    Entry(
        name="stream",
        kind=Kind.POLICY,
        target="spmopt.policies:stream",
        granularity="whole",
        summary="keeps nothing: every operand streams every time",
        source="Tsai, minimum caching scheme",
    ),
    Entry(
        name="lru",
        kind=Kind.POLICY,
        target="spmopt.policies:lru",
        granularity="whole",
        summary="evicts the tensor used longest ago; prefetches where DMA time is idle",
        source="Belady 1966, as its baseline",
    ),
    Entry(
        name="belady",
        kind=Kind.POLICY,
        target="spmopt.policies:belady",
        granularity="whole",
        summary="evicts the tensor used furthest ahead; prefetches where DMA time is idle",
        source="Belady 1966; Tsai, section 4",
    ),
    Entry(
        name="whole",
        kind=Kind.FORMULATION,
        target="formulations.residency.whole:schedule",
        granularity="whole",
        summary="optimises which tensors stay, all or nothing (integer program)",
        source="problem statement, section 2",
    ),
    Entry(
        name="page",
        kind=Kind.FORMULATION,
        target="formulations.residency.page:schedule",
        granularity="page",
        summary="optimises how many pages of each tensor stay (priced columns, rounded)",
        source="problem statement, sections 2 and 5",
    ),
    Entry(
        name="fluid",
        kind=Kind.RELAXATION,
        target="formulations.residency.fluid:schedule",
        granularity="fluid",
        summary="bounds all of the above: bytes may stay one by one (linear program)",
        source="problem statement, section 5",
    ),
)

SCHEDULERS: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
STARTS = ("belady", "lru", "stream")
"""Policies whose best plan an optimiser starts from."""
BOUNDER = "fluid"
"""Proves the bound when no other scheduler of a run does."""


def find(name: str) -> Entry:
    """The scheduler called ``name``; raises :class:`InputError` with the nearest name."""
    if name not in SCHEDULERS:
        raise unknown("scheduler", name, SCHEDULERS)
    return SCHEDULERS[name]
