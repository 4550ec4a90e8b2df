"""Definition of a study: networks, space, objectives and options of its schedulers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from msgspec import convert

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import FEATURES
from spmopt.core.objective import OBJECTIVES
from spmopt.schedulers.registry import BEST_RULE, BOUNDER, SCHEDULERS, Kind, find
from spmopt.search.candidate import Candidate
from spmopt.search.figures import NOT_BOUNDED, Spent, figures, needs
from spmopt.search.space import Space, space_of
from spmopt.sweeps.cases import Network

_OPTIONAL = ("dtype", "operators", "costs")
_OPTIONS = ("scheduler", "schedule_for", "tolerance", "time_limit_s")
FUSION, RESIDENCY = "fusion", "residency"
"""Default schedulers: of networks that can be fused, and of all others."""
BOUND, BEST_POLICY = "bound", "best-policy"
"""Schedulers of a search beside those of the registry."""
_OTHER_ORDER = {"tsai": "tsai:order=listed"}
_OF_CYCLES = ("throughput", "clock", "array", "blocks", "vector", "banks", "batch", "cores")
"""Fields, or tables of them, that have no effect on cycles which a file states."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A study.

    Attributes
    ----------
    networks
        Networks that run on every machine.
    objectives
        Names of figures, all minimized.
    scheduler
        One of the registry, ``bound`` or ``best-policy``.
    schedule_for
        Name of the objective that schedules minimize.
    tolerance, time_limit_s
        Of each scheduler run.
    """

    networks: tuple[Network, ...]
    space: Space
    objectives: tuple[str, ...]
    scheduler: str = "residency"
    schedule_for: str = "time"
    tolerance: float = 1e-3
    time_limit_s: float = 60.0

    def __post_init__(self) -> None:
        self._require_objectives()
        labels = [network.label for network in self.networks]
        for label in self.space.weights:
            if label not in labels:
                raise unknown("network with a weight", label, labels)
        if not any(self.space.weights.get(label, 1.0) for label in labels):
            whose = f"{labels[0]} has" if len(labels) == 1 else "all networks have"
            raise InputError(f"weights: {whose} weight 0, so that nothing counts; give one more")
        known = {*self.space.fixed, *(axis.key for axis in self.space.axes)}
        # Fields may give a machine features that the base machine has not, as banks.
        found = {name for key, name in FEATURES.items() if key in known}
        for name in self.schedulers:
            find(name).require_features(self.space.machine.features | found)
        self._require_listings(known)
        self._require_cycles(known)

    @property
    def names(self) -> tuple[str, ...]:
        """Figures of objectives and constraints, each once."""
        limited = (each.figure for each in self.space.constraints)
        return tuple(dict.fromkeys((*self.objectives, *limited)))

    @property
    def bound_only(self) -> bool:
        """Whether there are bounds in place of schedules."""
        return self.scheduler == BOUND or (
            self.scheduler != BEST_POLICY and find(self.scheduler).kind is Kind.RELAXATION
        )

    @property
    def energy_aside(self) -> tuple[str, ...]:
        """Objectives with energy in them, where schedules minimize something else."""
        if self.bound_only or self.schedule_for == "energy":
            return ()
        return tuple(name for name in self.objectives if "energy" in needs(name))

    @property
    def in_listed_order(self) -> bool:
        """Whether schedules run the operations as listed, so that bounds of that order hold."""
        entries = [find(name) for name in self.schedulers]
        return all(
            "order" not in entry.options or entry.chosen.get("order") == "listed"
            for entry in entries
        )

    @property
    def chooses_fusion_plan(self) -> bool:
        """Whether schedules may be in fusion tiles, so that bounds layer by layer do not hold."""
        return any(find(name).fusion_plans for name in self.schedulers)

    @property
    def needs(self) -> tuple[str, ...]:
        """Objectives of schedules that the figures depend on."""
        found = (need for name in self.names for need in needs(name))
        return tuple(dict.fromkeys(found)) or (self.schedule_for,)

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Names in the registry; of several the best schedule counts."""
        if self.scheduler != BEST_POLICY:
            return () if self.scheduler == BOUND else (self.scheduler,)
        rules = (
            entry.name
            for entry in SCHEDULERS.values()
            if entry.kind is Kind.POLICY and entry.name != "double-buffer" and not entry.rewrite
        )
        return (*(_OTHER_ORDER.get(name, name) for name in rules), BEST_RULE)

    def figures(self, candidate: Candidate, spent: Mapping[str, Spent]) -> dict[str, float]:
        """Compute figures of objectives and constraints from the totals of each network."""
        return figures(self.names, candidate, self.space.cost, self.total(candidate, spent))

    def total(self, candidate: Candidate, spent: Mapping[str, Spent]) -> Spent:
        """Sum totals of networks by weight, for one sample where the batch is a field."""
        total = [0.0, 0.0, 0.0]
        for network in self.networks:
            weight, own = self.space.weights.get(network.label, 1.0), spent[network.label]
            for place, value in enumerate((own.time_s, own.energy_j, own.traffic_bytes)):
                total[place] += weight * value
        time_s, energy_j, traffic_bytes = (value / candidate.samples for value in total)
        return Spent(time_s=time_s, energy_j=energy_j, traffic_bytes=traffic_bytes)

    def record(self) -> dict[str, object]:
        """Write all that the figures of a point depend on, for a file."""
        return {
            "networks": [_network(network) for network in self.networks],
            "space": self.space.record(),
            "objectives": list(self.objectives),
            **{name: getattr(self, name) for name in _OPTIONS},
        }

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> Setup:
        """Read the result of :meth:`record`."""
        return Setup(
            networks=convert(record["networks"], tuple[Network, ...]),
            space=space_of(record["space"], "space of the study"),
            objectives=tuple(record["objectives"]),
            **{name: record[name] for name in _OPTIONS},
        )

    def _require_listings(self, known: Collection[str]) -> None:
        """Refuse networks that cannot be fused, if the scheduler fuses."""
        if not self.chooses_fusion_plan:
            return
        for network in (each for each in self.networks if each.is_lowered):
            raise InputError(
                f"scheduler {self.scheduler}: the operations of {network.label} are fixed; name a "
                "network or an ONNX file, or take the scheduler residency"
            )
        if "cores" in known:
            raise InputError(
                f"cores: scheduler {self.scheduler} does not divide fusion tiles among cores; "
                "take cores "
                "out of the space, or take the scheduler residency"
            )

    def _require_cycles(self, known: Collection[str]) -> None:
        """Refuse fields that would change cycles which a file states."""
        for network in self.networks:
            lowered, fixed = network.is_lowered, network.is_lowered or network.costs is not None
            keys = _OF_CYCLES * fixed
            for key in (key for key in sorted(known) if key.partition(".")[0] in keys):
                source = f"{network.label} is lowered already" if lowered else str(network.costs)
                raise InputError(
                    f"{key}: {source}: its cycles are fixed; take {key} out of the space, or "
                    f"{'name a network' if lowered else 'leave the costs out'} instead"
                )

    def _require_objectives(self) -> None:
        if not self.objectives:
            raise InputError("objectives: name at least one")
        aimed = OBJECTIVES.find(self.schedule_for)
        if aimed is None:
            raise unknown("objective of schedules", self.schedule_for, OBJECTIVES.names())
        for name in self.schedulers or (BOUNDER,):
            aim = aimed.on(self.space.machine)
            find(name).require(aim)
            if aim.replayed and find(name).kind is Kind.RELAXATION:
                raise InputError(f"scheduler {name}: a search has no bounds on the replay")
        if "cost" in self.names and not self.space.cost:
            raise InputError("cost: the space has no prices; add cost = { area_mm2 = 1.0 }")
        if self.scheduler not in (BOUND, BEST_POLICY):
            find(self.scheduler)
        if self.bound_only:
            for name in (name for name in self.names if name in NOT_BOUNDED):
                limits = [str(each) for each in self.space.constraints if each.figure == name]
                is_objective = name in self.objectives
                which = f"objective {name}:" if is_objective else f"constraint {limits[0]}: {name}"
                raise InputError(
                    f"{which} has no bound; name a scheduler that gives schedules, as page"
                )


def setup_by(scheduler: str | None, **options: Any) -> tuple[Setup, str]:
    """Return the study of a scheduler (default: as ``solve``), and a warning."""
    if scheduler is None and any(network.is_lowered for network in options["networks"]):
        scheduler = RESIDENCY
    if scheduler is not None:
        return Setup(scheduler=scheduler, **options), ""
    try:
        return Setup(scheduler=FUSION, **options), ""
    # Networks that cannot be fused are a reason for a warning, not for an error, by default.
    except InputError as error:
        return Setup(scheduler=RESIDENCY, **options), f"nothing is fused: {error}"


def _network(network: Network) -> dict[str, object]:
    """Return a network as it is stored; fields that older studies lack only if given."""
    found = asdict(network)
    return {k: found[k] for k in found if found[k] is not None or k not in _OPTIONAL}
