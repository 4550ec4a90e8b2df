"""The registry: every scheduler by name, of the program and of installed packages.

``name:option=choice:option=choice`` names a scheduler with its options chosen, ``name@backend``
one with another solver for its program. In place of a name a policy itself may be given.

Nothing here imports a scheduler: a solver library loads only when its scheduler runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import RETENTION
from spmopt.core.objective import OBJECTIVES, REPLAY, Objective, option_name
from spmopt.core.plugins import Registry
from spmopt.io.renames import rename_scheduler

if TYPE_CHECKING:  # it would load numpy, and lists of names should not
    from spmopt.core.problem import Problem
    from spmopt.core.scheduler import Policy, Scheduler

Options = Mapping[str, Mapping[str, str]]
"""A phrase for each choice of each option, the default first."""


class Kind(StrEnum):
    """How a scheduler works."""

    POLICY = "policy"  # greedy, no bound of its own
    FORMULATION = "formulation"  # optimizes from the best policy on, with a bound
    RELAXATION = "relaxation"  # a bound only, no schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerEntry:
    """A scheduler: its kind, its features, the place of its code.

    Attributes
    ----------
    name
        Of the scheduler; with its options, where some were chosen.
    kind
        A policy takes every objective and minimizes none.
    target
        The callable, or ``module:callable``: a :class:`~spmopt.core.scheduler.Scheduler`; of a
        policy any :data:`~spmopt.core.scheduler.Policy`.
    summary, source
        One line on its method, and its source.
    granularity
        Granularity of residency: ``tensor``, ``page``, ``contiguous`` or ``fluid``.
    replayed
        It minimizes time of the replay, and not the sum of the durations of steps; of those that
        do not, optimizers are compared by it all the same (:mod:`spmopt.solving.barriers`).
    weights
        Weights that an objective may have; None for any.
    knows, needs
        Features of machines that it takes into account
        (:attr:`~spmopt.core.machine.Machine.features`), and those that a machine must have, with
        the option that gives them; a policy takes all machines, and sees no features.
    options
        Of the callable, as keyword arguments.
    chosen
        Choices among them; the callable's own defaults hold for the rest.
    starts
        Policies from whose best residency plan a formulation starts; one that is ``replayed``
        starts from others too.
    backends
        Families of other solvers, each with the target that takes one as ``solver``.
    compared
        Whether it is one of a comparison that names none.
    fusion_plans
        Whether it chooses a fusion plan of the tileable graph too, starting from ``page`` layer by
        layer; its bounds are of all fusion plans.
    rewrite
        ``module:callable`` of another problem of the same network, which it schedules, and which
        its bound is of.
    """

    name: str
    kind: Kind = Kind.POLICY
    target: str | Callable[..., object]
    summary: str = ""
    source: str = ""
    granularity: str = "tensor"
    replayed: bool = False
    weights: frozenset[str] | None = None
    knows: frozenset[str] = frozenset()
    needs: Mapping[str, str] = field(default_factory=dict)
    options: Options = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    starts: tuple[str, ...] = ()
    backends: Mapping[str, str] = field(default_factory=dict)
    compared: bool = True
    fusion_plans: bool = False
    variants: bool = False
    rewrite: str = ""

    def rewrite_problem(self, problem: Problem) -> Problem:
        """Return the problem that it schedules in place of the one asked for."""
        return cast("Problem", _import_target(self.rewrite)(problem)) if self.rewrite else problem

    def load(self) -> Scheduler:
        """Import the callable; it is called with the options chosen."""
        found = _import_target(self.target) if isinstance(self.target, str) else self.target
        scheduler = partial(found, **self.chosen) if self.chosen else found
        if self.kind is Kind.POLICY:
            # A policy returns a residency plan; scheduler_of wraps it to a scheduler of results.
            scheduler = cast(
                "Any", _import_target("spmopt.policies.policy:scheduler_of")(scheduler)
            )
        return cast("Scheduler", scheduler)

    def choose(self, choices: Mapping[str, str]) -> SchedulerEntry:
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
        if self.variants:
            # The default choice has no entry of its own: it is this one.
            return SCHEDULERS.find(name) or self
        granularity = chosen.get("granularity", self.granularity)
        return replace(self, name=name, chosen=chosen, granularity=granularity)

    def on(self, backend: str) -> SchedulerEntry:
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
        """Whether it schedules for ``objective``: it knows its weights, and time of its kind.

        An optimizer of time with barriers between steps is taken for the replay, which has none,
        and so is a relaxation of it.
        """
        if self.kind is Kind.POLICY:
            return True
        known = self.weights is None or objective.weighted <= self.weights
        by_steps = objective.replayed and self.kind in (Kind.FORMULATION, Kind.RELAXATION)
        return known and (by_steps or objective.replayed == self.replayed)

    def takes_features(self, features: frozenset[str]) -> bool:
        """Whether it schedules machines with these features, and no others."""
        if self.kind is Kind.POLICY:  # they let pages lie in any bank, for as long as they like
            return RETENTION not in features
        return self.needs.keys() <= features <= self.knows

    @property
    def is_own(self) -> bool:
        """Whether it is one of the program itself, and not of a package or a user."""
        name = self.name.partition("@")[0]
        # Names may have options and a backend; the source tells a foreign entry of the same name.
        known = SCHEDULERS.own.get(name) or SCHEDULERS.own.get(name.partition(":")[0])
        return known is not None and known.source == self.source

    def require_features(self, features: frozenset[str]) -> None:
        """Raise :class:`InputError` if it does not take a machine with these features."""
        if self.takes_features(features):
            return
        known = features - {RETENTION} if self.kind is Kind.POLICY else self.knows
        for name in sorted(features - known):
            raise InputError(
                f"scheduler {self.name}: knows no {name}; use {able(features=features)}"
            )
        lacking, option = next(each for each in self.needs.items() if each[0] not in features)
        raise InputError(
            f"scheduler {self.name}: the machine has no {lacking}; give some by {option}, or "
            "use residency"
        )

    def require(
        self,
        objective: Objective,
        features: frozenset[str] = frozenset(),
        *,
        bounders: bool = True,
    ) -> None:
        """Raise :class:`InputError` if ``objective`` is not supported; name those that do."""
        if self.takes(objective):
            return
        known = (
            "timing async" if name == REPLAY.name else name
            for name, each in OBJECTIVES.items()
            if each.replayed == self.replayed
        )
        others = able(objective, features=features, bounders=bounders)
        others = f", or another scheduler: {others}" if others else ""
        raise InputError(
            f"scheduler {self.name}: no objective {option_name(objective.name)}; "
            f"use {', '.join(known)}{others}"
        )


def _import_target(target: str) -> Callable[..., object]:
    """Return the callable of ``module:callable``."""
    module, _, name = target.partition(":")
    return cast("Callable[..., object]", getattr(import_module(module), name))


def _entry(name: str, found: object) -> SchedulerEntry:
    """Record of a scheduler that a package or a user gave."""
    if isinstance(found, SchedulerEntry):
        return found if found.name == name else replace(found, name=name)
    if not callable(found):
        raise InputError(f"scheduler {name}: is no policy, which is called with a problem")
    summary = (getattr(found, "__doc__", None) or "").strip().partition("\n")[0]
    source = str(getattr(found, "__module__", ""))
    return SchedulerEntry(name=name, target=found, summary=summary, source=source)


def _own_entries() -> dict[str, SchedulerEntry]:
    """Read ``schedulers.toml``."""
    text = files("spmopt.schedulers").joinpath("schedulers.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    options = tables.pop("options")
    entries = {
        name: SchedulerEntry(
            **{
                **table,
                "name": name,
                "kind": Kind(table["kind"]),
                "knows": frozenset(table.get("knows", ())),
                "options": options.get(table.get("options", ""), {}),
                "starts": tuple(table.get("starts", ())),
                "weights": frozenset(table["weights"]) if "weights" in table else None,
            }
        )
        for name, table in tables.items()
    }
    policies = tuple(
        name
        for entry in entries.values()
        if entry.kind is Kind.POLICY and not entry.rewrite
        for name in (entry.name, f"{entry.name}:granularity=page")
        if name in entries or "granularity" in entry.options
    )
    return {
        name: replace(entry, starts=(*policies, *entry.starts[1:]))
        if entry.starts[:1] == ("policies",)
        else entry
        for name, entry in entries.items()
    }


SCHEDULERS: Registry[SchedulerEntry] = Registry(
    group="spmopt.schedulers", make=_entry, own=_own_entries()
)
BEST_RULE = "belady-size:granularity=page"
"""The policy that is mostly the best one."""
COMPARED = tuple(
    name
    for entry in SCHEDULERS.values()
    if entry.compared
    for name in (
        (BEST_RULE, entry.name) if entry.name == "residency:granularity=tensor" else (entry.name,)
    )
)
"""Those of a comparison without banks: all that know time, with pages anywhere and not for tiles,
and the best policy."""
COMPARED_BANKS = (
    "stream",
    "lru",
    "belady",
    "belady-size",
    "static",
    BEST_RULE,
    "banks",
    "lp-bound",
)
"""Those of a comparison with banks."""
BOUNDER = "lp-bound"
"""Proves the bound when no other scheduler of a run does."""


def register_scheduler(name: str, scheduler: SchedulerEntry | Policy) -> None:
    """Add a scheduler by name, for options too.

    Parameters
    ----------
    name
        Name in options.
    scheduler
        A policy (:data:`spmopt.core.scheduler.Policy`), or the record of a scheduler.

    Raises
    ------
    InputError
        The name is taken.
    """
    SCHEDULERS.register(name, scheduler)


def compare_with(features: frozenset[str]) -> list[str]:
    """Those of a comparison on machines with these features that names none."""
    usual = COMPARED_BANKS if "banks" in features else COMPARED
    return [name for name in usual if find(name).takes_features(features)]


def able(
    objective: Objective | None = None,
    *,
    features: frozenset[str] = frozenset(),
    bounders: bool = True,
) -> str:
    """Name the schedulers that take ``objective``, or some, in words.

    ``features``: on machines that have these; ``bounders``: a bound is enough.
    """
    kinds = (Kind.FORMULATION, Kind.RELAXATION) if bounders else (Kind.FORMULATION,)
    names = [
        entry.name
        for entry in SCHEDULERS.values()
        if entry.kind in kinds and (objective is None or entry.takes(objective))
        if entry.takes_features(features)
    ]
    if RETENTION not in features:
        names.append("or any policy, as belady")
    return ", ".join(names).removeprefix("or ")


def kind_of(name: str) -> Kind:
    """Kind of the scheduler of a result; one that is not known here counts as a policy."""
    try:
        return find(name).kind
    except InputError:
        return Kind.POLICY


def find(scheduler: str | SchedulerEntry | Policy) -> SchedulerEntry:
    """Return a scheduler by name, with options and a backend, or as it is.

    As ``tsai:prefetch=next`` or ``residency:granularity=tensor@pulp:cbc``.

    Raises
    ------
    InputError
        No such scheduler, option, choice or backend, with the nearest; an option without a
        choice, or named twice; a package that cannot be imported.
    """
    if isinstance(scheduler, SchedulerEntry):
        return scheduler
    if not isinstance(scheduler, str):
        return _entry(_name_of(scheduler), scheduler)
    name, at, backend = scheduler.partition("@")
    if at:
        entry = find(name)
        if not entry.backends:
            names = ", ".join(each.name for each in SCHEDULERS.values() if each.backends)
            raise InputError(f"scheduler {entry.name}: has no backends; {names} has")
        return entry.on(backend)
    plain, *words = name.split(":")
    found = SCHEDULERS.find(plain)
    if found is None:
        replaced = rename_scheduler(name)  # one of the version before
        if replaced != name:
            return find(replaced)
        raise unknown("scheduler", plain, SCHEDULERS.names())
    choices: dict[str, str] = {}
    for word in words:
        option, equals, choice = word.partition("=")
        if not (option and equals and choice):
            raise InputError(f"scheduler {name}: {word!r} is not an option; write option=choice")
        if option in choices:
            raise InputError(f"scheduler {name}: option {option} twice; choose it once")
        choices[option] = choice
    return found.choose(choices) if choices else found


def by_name(schedulers: Iterable[str | SchedulerEntry | Policy]) -> dict[str, SchedulerEntry]:
    """Return schedulers by name, each once.

    Raises
    ------
    InputError
        None are given, two bear one name, or as :func:`find` says.
    """
    found: dict[str, SchedulerEntry] = {}
    for entry in map(find, schedulers):
        # Two lambdas share one name, and results are told apart by names alone.
        if found.setdefault(entry.name, entry).target != entry.target:
            raise InputError(
                f"schedulers: two are called {entry.name}; name them, by SchedulerEntry(name=..., "
                "target=...)"
            )
    if not found:
        raise InputError("schedulers: name at least one")
    return found


def _name_of(policy: object) -> str:
    """Name of a policy that is given itself; with its module where a scheduler bears the name."""
    name = str(getattr(policy, "__name__", type(policy).__name__)).strip("<>")
    return f"{getattr(policy, '__module__', 'own')}.{name}" if name in SCHEDULERS.names() else name
