"""The registry: what each scheduler is, what it supports, where its code is.

``name:option=choice:option=choice`` names a scheduler with its options chosen, ``name@backend``
one with another solver for its program.

Nothing here imports a scheduler: a solver library loads only when its scheduler runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from spmopt.core.errors import InputError
from spmopt.core.objective import Objective, spoken_name
from spmopt.core.suggest import unknown
from spmopt.schedulers.options import GRANULARITY, MSA, TSAI, Options

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
    name
        Of the scheduler; with its options, where some were chosen.
    target
        ``module:callable`` of a :class:`~spmopt.core.scheduler.Scheduler`.
    granularity
        What may be resident of a tensor: ``whole``, ``page``, ``contiguous`` or ``fluid``.
    objectives
        Names of the objectives that it minimises; a policy takes all and heeds none.
    summary, source
        One line on what it does, and where it is from.
    options
        Of :mod:`spmopt.schedulers.options`; the callable takes them as keyword arguments.
    chosen
        What was chosen of them; the callable's own defaults hold for the rest.
    backends
        Families of other solvers, each with the target that takes one as ``solver``.
    """

    name: str
    kind: Kind
    target: str
    summary: str
    source: str
    granularity: str = "whole"
    objectives: tuple[str, ...] = ("makespan", "traffic", "energy")
    options: Options = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    backends: Mapping[str, str] = field(default_factory=dict)

    @property
    def starts(self) -> tuple[str, ...]:
        """Policies to start from."""
        return STARTS[self.name.partition("@")[0]]

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
            It has none, no such family, or no solver is named.
        """
        family, _, solver = backend.lower().partition(":")
        if not self.backends:
            able = ", ".join(entry.name for entry in _ENTRIES if entry.backends)
            raise InputError(f"scheduler {self.name}: has no backends; {able} has")
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

    def require(self, objective: Objective) -> None:
        """Raise :class:`InputError` when ``objective`` is not supported."""
        if self.kind is not Kind.POLICY and objective.name not in self.objectives:
            choices = ", ".join(map(spoken_name, self.objectives))
            wanted = spoken_name(objective.name)
            raise InputError(f"scheduler {self.name}: no objective {wanted}; use {choices}")


_ENTRIES = (
    Entry(
        name="stream",
        kind=Kind.POLICY,
        target="spmopt.policies:stream",
        summary="keeps nothing: every operand streams every time",
        source="Tsai, minimum caching scheme",
    ),
    Entry(
        name="lru",
        kind=Kind.POLICY,
        target="spmopt.policies:lru",
        summary="evicts the tensor used longest ago; prefetches where DMA time is idle",
        source="Belady 1966, as its baseline",
        options=GRANULARITY,
    ),
    Entry(
        name="belady",
        kind=Kind.POLICY,
        target="spmopt.policies:belady",
        summary="evicts the tensor used furthest ahead; prefetches where DMA time is idle",
        source="Belady 1966; Tsai, section 4",
        options=GRANULARITY,
    ),
    Entry(
        name="belady-size",
        kind=Kind.POLICY,
        target="spmopt.policies:belady_size",
        summary="evicts what loses the fewest bytes per step of absence; prefetches as belady",
        source="Belady 1966, with sizes and write-backs",
        options=GRANULARITY,
    ),
    Entry(
        name="frequency",
        kind=Kind.POLICY,
        target="spmopt.policies:frequency",
        summary="evicts the tensor used least often so far; prefetches where DMA time is idle",
        source="Tabbassum et al., dynamic allocation",
        options=GRANULARITY,
    ),
    Entry(
        name="static",
        kind=Kind.POLICY,
        target="spmopt.policies:static",
        summary="keeps the same tensors for the whole run, best bytes saved per byte",
        source="Tabbassum et al., static allocation",
    ),
    Entry(
        name="msa",
        kind=Kind.POLICY,
        target="spmopt.policies.msa:msa",
        summary="gives room to what operations wait for most; copies in windows of elapsed time",
        source="XLA, memory space assignment",
        options=MSA,
    ),
    Entry(
        name="tsai",
        kind=Kind.POLICY,
        target="spmopt.policies.tsai:tsai",
        summary="belady in depth-first order; prefetches by latency, offloads ahead of need",
        source="Tsai, chapter 4, Listing 1",
        options=TSAI,
    ),
    Entry(
        name="next-layer",
        kind=Kind.POLICY,
        target="spmopt.policies.next_layer:next_layer",
        summary="belady; prefetches for the next operation only, offloads when full",
        source="Tsai, Figures 4.1a and 4.2a",
    ),
    Entry(
        name="autotm",
        kind=Kind.POLICY,
        target="spmopt.policies.autotm:autotm",
        summary="belady; moves at uses, or whole under one operation that hides them",
        source="Hildebrand et al., AutoTM, ASPLOS 2020",
    ),
    Entry(
        name="whole",
        kind=Kind.FORMULATION,
        target="formulations.residency.whole:schedule",
        summary="optimises which tensors stay, all or nothing (integer program)",
        source="problem statement, section 2",
        backends={"pulp": "formulations.second.schedule:schedule"},
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
        name="contiguous",
        kind=Kind.FORMULATION,
        target="formulations.contiguous.schedule:schedule",
        granularity="contiguous",
        summary="gives each tensor one range of addresses (page's plan, repaired by programs)",
        source="problem statement, section 3, rule R8",
    ),
    Entry(
        name="joint",
        kind=Kind.FORMULATION,
        target="formulations.joint:schedule",
        summary="optimises order, transfer times and addresses too, of small instances (CP-SAT)",
        source="problem statement, section 3, replay",
        objectives=("replay",),
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
BEST_RULE = "belady-size:granularity=page"
"""The policy that is mostly the best one."""
COMPARED = tuple(
    name
    for entry in _ENTRIES
    if "makespan" in entry.objectives and entry.granularity != "contiguous"
    for name in ((BEST_RULE, entry.name) if entry.name == "whole" else (entry.name,))
)
"""Those of a comparison: all that know time, with pages anywhere; and the best policy."""
STARTS: Mapping[str, tuple[str, ...]] = {
    "whole": ("belady", "belady-size", "stream"),
    "page": ("belady", BEST_RULE, "stream"),
    "contiguous": ("belady", "belady-size", BEST_RULE, "stream"),
    "joint": tuple(entry.name for entry in _ENTRIES if entry.kind is Kind.POLICY),
}
"""Policies whose best plan an optimiser starts from, by its name."""
BOUNDER = "fluid"
"""Proves the bound when no other scheduler of a run does."""


def find(name: str) -> Entry:
    """The scheduler called ``name``, as ``tsai:prefetch=next:offload=full`` or ``whole@pulp:cbc``.

    Raises
    ------
    InputError
        No such scheduler, option, choice or backend, with the nearest; an option without a
        choice, or named twice.
    """
    name, at, backend = name.partition("@")
    if at:
        return find(name).on(backend)
    plain, *words = name.split(":")
    if plain not in SCHEDULERS:
        raise unknown("scheduler", plain, SCHEDULERS)
    choices: dict[str, str] = {}
    for word in words:
        option, equals, choice = word.partition("=")
        if not (option and equals and choice):
            raise InputError(f"scheduler {name}: {word!r} is not an option; write option=choice")
        if option in choices:
            raise InputError(f"scheduler {name}: option {option} twice; choose it once")
        choices[option] = choice
    entry = SCHEDULERS[plain]
    return entry.choose(choices) if choices else entry
