"""View of a search of machines, as plain data: axes, trials, front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spmopt.core.errors import unknown
from spmopt.reporting.plain import HEADS, Json, column, table
from spmopt.reporting.quantities import PART

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
        Chosen values of the space, in words.
    figures
        By the key of an axis; without a schedule the figures of the machine alone.
    least
        Least figures of any schedule: of a solved trial, or by the proof that excluded it.
    gap
        Largest relative gap of its schedules; None without one.
    said
        Sentences on it: its proof, its error, whose lead is doubtful, fits beyond their points.
    """

    number: int
    state: str
    is_feasible: bool
    fields: Mapping[str, str]
    figures: Mapping[str, float]
    least: Mapping[str, float]
    gap: float | None = None
    said: tuple[str, ...] = ()

    def place(self, x: Axis, y: Axis) -> tuple[float, float] | None:
        """Return its place in a plane: by its figures, else by its least ones."""
        # Measured figures win over bounds.
        known = {**self.least, **self.figures}
        return (known[x.key], known[y.key]) if x.key in known and y.key in known else None


@dataclass(frozen=True, kw_only=True)
class Front:
    """All that is shown of a search.

    Attributes
    ----------
    name, subject
        Names of the study, and of its networks.
    lines
        Subject of the study, and counts of trials, in sentences.
    axes
        Objectives first, the trials' numbers last.
    trials
        All that were begun, by number.
    members
        Numbers of the front, the best in the first objective first; with ``top`` so many of the
        best in it.
    bounds_only
        Whether figures of schedules are lower bounds, and there are no schedules.
    """

    name: str
    subject: str
    lines: tuple[str, ...]
    axes: tuple[Axis, ...]
    trials: tuple[Trial, ...]
    members: tuple[int, ...]
    top: int | None = None
    bounds_only: bool = False

    @property
    def objectives(self) -> tuple[Axis, ...]:
        """Axes of the objectives."""
        return tuple(axis for axis in self.axes if axis.is_objective)

    def axis(self, name: str) -> Axis:
        """Return the axis of that key or label; raise :class:`~spmopt.core.errors.InputError`."""
        for each in self.axes:
            if name in (each.key, each.label):
                return each
        raise unknown("figure of the study", name, [each.label for each in self.axes])

    def pair(self, x: str | None = None, y: str | None = None) -> tuple[Axis, Axis]:
        """Return the axes x and y: by default the first and the second objective.

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


def front_table(front: Front) -> Json:
    """Return the table of trials of a page."""
    fields = list(dict.fromkeys(key for trial in front.trials for key in trial.fields))
    figures = [axis for axis in front.axes if axis.key not in (TRIAL, *fields)]
    columns = [column("trial"), column("state", None)]
    for name in fields:
        columns.append(column(name, None, help=f"Setting of the machine that is searched: {name}."))
    for axis in figures:
        unit = "change" if axis.unit == PART else axis.unit
        title = axis.label + " ≥" * (front.bounds_only and axis.of_schedules)
        about = HEADS.get(axis.key, f"{axis.label} of the machine.")
        columns.append(column(axis.key, unit, title, help=about))
    columns += [column("gap", "change"), column("said", None, "proof or remark")]
    rows = [
        (
            trial.number,
            "front" if trial.number in front.members else trial.state,
            *(trial.fields.get(name) for name in fields),
            *(trial.figures.get(axis.key) for axis in figures),
            trial.gap,
            "; ".join(trial.said),
        )
        for trial in front.trials
    ]
    return table("Trials", "trials.csv", columns, rows)
