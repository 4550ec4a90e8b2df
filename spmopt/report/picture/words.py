"""What pictures are called, and under which conditions they hold."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.report.picture.picture import Picture
from spmopt.report.view import describe, spoken

MARKS = ("A", "B")
"""Of the first and of the second schedule where there are two."""
TIMINGS_SAID = {
    "steps": "time, step after step",
    "replay": "time of the replay, without barriers between steps",
}
LANES_SAID = {
    "steps": "within a step transfers are drawn one after the other from its start, as the "
    "channel is counted; rows stream as they are made",
    "replay": "transfers are drawn when the replay runs them",
}
"""What the lanes show, by timing."""


def names(pictures: Sequence[Picture]) -> tuple[str, ...]:
    """Schedulers; what tells two of one scheduler apart follows: the file, else the objective."""
    schedulers = [picture.result.scheduler for picture in pictures]
    columns = [schedulers]
    if _differ(instances := [picture.instance.name for picture in pictures]):
        columns.insert(0, instances)
    if len(pictures) > 1 and not _differ(schedulers):
        sources = [picture.source for picture in pictures]
        goals = [f"objective {spoken(picture.result.objective)}" for picture in pictures]
        columns += [each for each in (sources, goals) if _differ(each) and all(each)][:1]
    return tuple(", ".join(parts) for parts in zip(*columns, strict=True))


def headings(pictures: Sequence[Picture]) -> tuple[str, ...]:
    """The same, marked A and B where there are two."""
    found = names(pictures)
    if len(found) < 2:
        return found
    return tuple(f"{mark}: {name}" for mark, name in zip(MARKS, found, strict=True))


def conditions(pictures: Sequence[Picture]) -> str:
    """Machine, lowering, objectives and times of pictures of one instance, in a line."""
    first, goals = pictures[0], [spoken(picture.result.objective) for picture in pictures]
    goal = f"objective {goals[0]}"
    if _differ(goals):
        each = (f"{name} of {mark}" for mark, name in zip(MARKS, goals, strict=True))
        goal = f"objectives {' and '.join(each)}"
    parts = [describe(first.instance.machine), f"lowering {first.instance.lowering}", goal]
    if first.times.timing != "steps":
        parts.append(TIMINGS_SAID[first.times.timing])
    return "; ".join(parts)


def _differ(texts: Sequence[str]) -> bool:
    return len({*texts}) > 1
