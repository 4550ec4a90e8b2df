"""Why a machine need not be solved: no schedule of it can be on the front, or hold a constraint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spmopt.search.space.constraint import Constraint


@dataclass(frozen=True, kw_only=True)
class Known:
    """A solved trial that holds all constraints, with its objectives."""

    number: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Bounds that exclude a machine.

    Attributes
    ----------
    bounds
        Figures that no schedule on it is below.
    by
        The trial that is better in one objective and as good in all others than the bounds;
        None where a constraint excludes it.
    values
        Objectives of that trial.
    constraint, excess
        What no schedule holds, and how far it is beyond it at least.
    """

    bounds: Mapping[str, float]
    by: int | None = None
    values: tuple[float, ...] = ()
    constraint: str = ""
    excess: float = 0.0

    def record(self) -> dict[str, object]:
        """For the storage of a study."""
        if self.constraint:
            return {"bounds": dict(self.bounds), "constraint": self.constraint}
        return {"bounds": dict(self.bounds), "by": self.by, "values": list(self.values)}


def excluded(constraints: Iterable[Constraint], least: Mapping[str, float]) -> Proof | None:
    """A constraint that no schedule holds whose figures are at least ``least``."""
    for constraint in constraints:
        if constraint.excluded(least):
            bound = {constraint.figure: least[constraint.figure]}
            excess = constraint.excess(least)
            return Proof(bounds=bound, constraint=str(constraint), excess=excess)
    return None


def dominated(
    objectives: Sequence[str], least: Mapping[str, float], known: Iterable[Known]
) -> Proof | None:
    """A trial that every schedule is worse than whose objectives are at least ``least``.

    It is as good in every objective and better in one, so that a point of the front, and one
    equal to such a point, is never excluded. An objective without a bound excludes nothing.
    """
    if any(name not in least for name in objectives):
        return None
    bounds = tuple(least[name] for name in objectives)
    for each in known:
        if _below(each.values, bounds):
            named = dict(zip(objectives, bounds, strict=True))
            return Proof(bounds=named, by=each.number, values=each.values)
    return None


def _below(values: tuple[float, ...], bounds: tuple[float, ...]) -> bool:
    pairs = list(zip(values, bounds, strict=True))
    return all(value <= bound for value, bound in pairs) and any(v < b for v, b in pairs)
