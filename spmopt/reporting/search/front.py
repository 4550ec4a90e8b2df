"""What there is to see of a search of machines, as plain data: trials, front, what matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spmopt.core.errors import unknown
from spmopt.reporting.plain import HEADS, Json, column, plain, table

if TYPE_CHECKING:  # a page of schedules loads nothing of searches
    from spmopt.search.records import ResourceDuals

TRIAL = "trial"
"""The axis of the trials themselves, in the order in which they were proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint on a figure, in words, and where it lies."""

    text: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A figure that trials may be drawn by.

    Attributes
    ----------
    key
        Its name among the figures of trials.
    label
        As people read it; has the unit where ``unit`` is empty.
    unit
        Of its values, which take decimal prefixes.
    is_objective
        Whether it is minimized.
    of_schedules
        Whether schedules decide it, else the machine alone.
    limits
        Constraints on it.
    """

    key: str
    label: str
    unit: str = ""
    is_objective: bool = False
    of_schedules: bool = False
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One machine that was proposed.

    Attributes
    ----------
    number, state
        As ``spmopt tune show`` has them.
    is_feasible
        Whether it was solved and holds every constraint.
    fields
        What was chosen of the space, in words.
    figures
        By the key of an axis; of what was not solved those that the machine alone says.
    least
        What any schedule takes at least: of what was solved, or of what a proof excluded.
    texts
        Figures and bounds in words.
    gap
        Largest relative gap of its schedules; None without one.
    said
        Sentences on it: its proof, its error, whose lead is doubtful, fits beyond their points.
    machine, networks
        All settings, and what each network comes to, in words; of members of the front only.
    """

    number: int
    state: str
    is_feasible: bool
    fields: Mapping[str, str]
    figures: Mapping[str, float]
    least: Mapping[str, float]
    texts: Mapping[str, str]
    gap: float | None = None
    said: tuple[str, ...] = ()
    machine: Mapping[str, str] | None = None
    networks: tuple[str, ...] = ()

    def place(self, x: Axis, y: Axis) -> tuple[float, float] | None:
        """Return its place in a plane: by its figures, else by what any schedule takes at least."""
        known = {**self.least, **self.figures}
        return (known[x.key], known[y.key]) if x.key in known and y.key in known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Parts of the variance of an objective by field, the most first; ``rests`` says on what."""

    objective: str
    rests: str
    parts: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Front:
    """All that is shown of a search.

    Attributes
    ----------
    name, subject
        Of the study, and what its machines run.
    lines
        What it is of, and how many trials came to what, in sentences.
    axes
        Objectives first, the trials' numbers last.
    trials
        All that were begun, by number.
    members
        Numbers of the front, the best in the first objective first; with ``top`` so many of the
        best in it.
    shares
        What objectives vary with.
    shadow_prices
        Number of a trial, network, and how much its bound falls for more of each resource.
    bounds_only
        Whether figures of schedules are lower bounds, and there are no schedules.
    hints
        What to install to learn more; a page shows them, a picture does not.
    """

    name: str
    subject: str
    lines: tuple[str, ...]
    axes: tuple[Axis, ...]
    trials: tuple[Trial, ...]
    members: tuple[int, ...]
    top: int | None = None
    shares: tuple[Share, ...] = ()
    shadow_prices: tuple[tuple[int, str, ResourceDuals], ...] = ()
    bounds_only: bool = False
    hints: tuple[str, ...] = ()

    @property
    def objectives(self) -> tuple[Axis, ...]:
        """Axes of what is minimized."""
        return tuple(axis for axis in self.axes if axis.is_objective)

    def axis(self, name: str) -> Axis:
        """Return the axis of that key or label; raise :class:`~spmopt.core.errors.InputError`."""
        for each in self.axes:
            if name in (each.key, each.label):
                return each
        raise unknown("figure of the study", name, [each.label for each in self.axes])

    def pair(self, x: str | None = None, y: str | None = None) -> tuple[Axis, Axis]:
        """Return what to draw over what: by default the second objective over the first.

        A single objective is drawn over the first other figure.

        Raises
        ------
        InputError
            No such figure.
        """
        if x is None and y is None:
            first, second, *_ = self.axes
            return (first, second) if len(self.objectives) > 1 else (second, first)
        known = self.axis(x or y or "")
        other = next(each for each in self.axes if each != known)
        if x is None:
            return other, known
        return known, other if y is None else self.axis(y)

    def is_plane(self, x: Axis, y: Axis) -> bool:
        """Whether x and y are all objectives, so that the front is a line of steps."""
        return self.top is None and len(self.objectives) == 2 and {x, y} == {*self.objectives}


def front_record(front: Front) -> Json:
    """Return all that is shown of a search; rows of the table are the trials."""
    return {
        "title": f"{front.name}: {front.subject}",
        "lines": [*front.lines, *front.hints],
        "axes": plain(front.axes),
        "begin": [axis.key for axis in front.pair()],
        "bounds_only": front.bounds_only,
        "top": front.top,
        "members": list(front.members),
        "trials": plain(front.trials),
        "shares": _shares(front),
        "table": _trials(front),
        "duals": _duals(front),
    }


def _trials(front: Front) -> Json:
    fields = list(dict.fromkeys(key for trial in front.trials for key in trial.fields))
    figures = [axis for axis in front.axes if axis.key not in (TRIAL, *fields)]
    bounded = {axis.key: " ≥" * (front.bounds_only and axis.of_schedules) for axis in figures}
    units = {axis.key: "change" if axis.unit == "part" else axis.unit for axis in figures}
    columns = [
        column("trial"),
        column("state", None),
        *(column(name, None, help=_field_help(name)) for name in fields),
        *(
            column(
                *(a.key, units[a.key], f"{a.label}{bounded[a.key]}"),
                help=HEADS.get(a.key, f"{a.label} of the machine."),
            )
            for a in figures
        ),
        column("gap", "change"),
        column("said", None, "proof or remark"),
    ]
    rows = [
        (
            trial.number,
            trial.state,
            *(trial.fields.get(name) for name in fields),
            *(trial.figures.get(axis.key) for axis in figures),
            trial.gap,
            "; ".join(trial.said),
        )
        for trial in front.trials
    ]
    return table("Trials", "trials.csv", columns, rows)


def _field_help(name: str) -> str:
    return f"Setting of the machine that is searched: {name}."


def _shares(front: Front) -> Json:
    """Return the part of the variance of each objective that each setting explains."""
    columns = [
        column("objective", None, help="Figure that was minimized."),
        column("setting", None, help="Setting of the machine that was searched."),
        column("share", "part", help="Part of the variance of the objective that it explains."),
        column("basis", None, help="Machines on which that rests."),
    ]
    labels = {axis.key: axis.label for axis in front.axes}
    rows = [
        (labels.get(each.objective, each.objective), field, part, each.rests)
        for each in front.shares
        for field, part in each.parts.items()
    ]
    return table("Importance of settings", "importance.csv", columns, rows)


def _duals(front: Front) -> Json:
    """Say by how much a little more of each resource lowers the bound."""
    unit = front.shadow_prices[0][2].unit if front.shadow_prices else ""
    titles = {
        "bound": "bound",
        "per_mb": "falls per extra MB of SPM",
        "per_gbps": "per extra GB/s of DRAM",
        "per_pe": "per extra PE",
    }
    columns = [column("trial"), column("network", None)]
    columns += [column(name, unit, title) for name, title in titles.items()]
    rows = [
        (trial, network, *(getattr(duals, name) for name in titles))
        for trial, network, duals in front.shadow_prices
    ]
    return table("Shadow prices at the bound of each trial", "duals.csv", columns, rows)
