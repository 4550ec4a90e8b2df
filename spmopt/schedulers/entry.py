"""A scheduler in the registry: what it is, what it supports, where its code is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from spmopt.core.errors import InputError, unknown
from spmopt.core.objective import Objective, spoken_name
from spmopt.schedulers.options import Options

if TYPE_CHECKING:  # it would load numpy, and lists of names should not
    from spmopt.core.scheduler import Scheduler


class Kind(StrEnum):
    """How a scheduler works."""

    POLICY = "policy"  # greedy, no bound of its own
    FORMULATION = "formulation"  # optimises from the best policy on, with a bound
    RELAXATION = "relaxation"  # a bound only, no schedule


class Banks(StrEnum):
    """Whether a scheduler knows scratchpads of several banks."""

    NONE = "none"  # a uniform scratchpad only
    ONLY = "only"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A scheduler.

    Attributes
    ----------
    name
        Of the scheduler; with its options, where some were chosen.
    target
        ``module:callable`` of a :class:`~spmopt.core.scheduler.Scheduler`.
    granularity
        What may be resident of a tensor: ``whole``, ``page``, ``contiguous`` or ``fluid``.
    objectives
        Names of the objectives that it minimises; a policy takes all and heeds none.
    banks
        Scratchpads that it knows; a policy takes all, and does not see which bank is which.
    summary, source
        One line on what it does, and where it is from.
    options
        Of :mod:`spmopt.schedulers.options`; the callable takes them as keyword arguments.
    chosen
        What was chosen of them; the callable's own defaults hold for the rest.
    backends
        Families of other solvers, each with the target that takes one as ``solver``.
    alone
        Target that decides some instances without a plan to start from, and gives no plan for
        the others; empty for none.
    """

    name: str
    kind: Kind
    target: str
    summary: str
    source: str
    granularity: str = "whole"
    objectives: tuple[str, ...] = ("makespan", "traffic", "energy")
    banks: Banks = Banks.NONE
    options: Options = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    backends: Mapping[str, str] = field(default_factory=dict)
    alone: str = ""

    def load(self) -> Scheduler:
        """Import the callable; it is called with the options chosen."""
        module, _, name = self.target.partition(":")
        scheduler = getattr(import_module(module), name)
        return cast("Scheduler", partial(scheduler, **self.chosen) if self.chosen else scheduler)

    def choose(self, choices: Mapping[str, str]) -> Entry:
        """Return this scheduler with options chosen, named in full, in the order of the entry.

        Raises
        ------
        InputError
            No such option, or no such choice.
        """
        for option, choice in choices.items():
            if not self.options:
                raise InputError(f"scheduler {self.name}: has no options, so no {option!r}")
            if option not in self.options:
                raise unknown(f"option of scheduler {self.name}", option, self.options)
            if choice not in self.options[option]:
                raise unknown(
                    f"choice of {option} of scheduler {self.name}", choice, self.options[option]
                )
        chosen = {option: choices[option] for option in self.options if option in choices}
        name = ":".join((self.name, *(f"{key}={value}" for key, value in chosen.items())))
        granularity = chosen.get("granularity", self.granularity)
        return replace(self, name=name, chosen=chosen, granularity=granularity)

    def on(self, backend: str) -> Entry:
        """Return this scheduler with another solver, as ``pulp:cbc``: a family and a name in it.

        Raises
        ------
        InputError
            No solver is named, or there is no such family; the scheduler must have some.
        """
        family, _, solver = backend.lower().partition(":")
        if not solver:
            choices = " or ".join(f"{known}:NAME" for known in self.backends)
            raise InputError(f"backend {backend!r}: write {choices}, as pulp:cbc")
        if family not in self.backends:
            raise unknown(f"family of backends of scheduler {self.name}", family, self.backends)
        return replace(
            self,
            name=f"{self.name}@{family}:{solver}",
            target=self.backends[family],
            chosen={"solver": solver},
        )

    def takes(self, objective: Objective) -> bool:
        """Whether ``objective`` is supported."""
        return self.kind is Kind.POLICY or objective.name in self.objectives

    def takes_banks(self, banks: bool) -> bool:
        """Whether it schedules machines with banks, or without."""
        if self.kind is Kind.POLICY or self.banks is Banks.BOTH:
            return True
        return banks == (self.banks is Banks.ONLY)

    def require_banks(self, banks: bool) -> None:
        """Raise :class:`InputError` if it does not take a machine with banks, or without."""
        if self.takes_banks(banks):
            return
        if banks:
            raise InputError(
                f"scheduler {self.name}: knows no banks; use banks, fluid (the bound), or any "
                "policy, as belady"
            )
        raise InputError(
            f"scheduler {self.name}: the machine has no banks; give some by --bank, or use page"
        )

    def require(self, objective: Objective, able: str = "") -> None:
        """Raise :class:`InputError` if ``objective`` is not supported; ``able`` names who does."""
        if not self.takes(objective):
            choices = ", ".join(map(spoken_name, self.objectives))
            wanted = spoken_name(objective.name)
            others = f", or another scheduler: {able}" if able else ""
            raise InputError(f"scheduler {self.name}: no objective {wanted}; use {choices}{others}")
