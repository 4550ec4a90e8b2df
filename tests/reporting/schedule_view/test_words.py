"""Names that tell schedules apart, and what is said of two objectives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.machine import Energy
from spmopt.core.objective import TRAFFIC
from spmopt.metrics import metrics
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.plots.schedule import save, save_picture
from spmopt.reporting.quantities import share, si
from spmopt.reporting.results import figures
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import conditions, headings, names
from tests.reporting.samples import picture


def _for_traffic(one: ScheduleView, **fields: Any) -> ScheduleView:
    """The same schedule, as if it had been made for its traffic."""
    value = Fraction(one.totals.traffic_bytes)
    result = replace(one.result, objective=TRAFFIC, value=value, bound=value)
    return replace(one, result=result, **fields)


def test_schedulers_tell_schedules_apart_if_they_can() -> None:
    both = [replace(picture(name), source=name * 2) for name in ("belady", "residency")]
    assert names(both) == ("belady", "residency")
    assert names(both[:1]) == headings(both[:1]) == ("belady",)
    assert headings(both) == ("A: belady", "B: residency")


def test_two_of_one_scheduler_are_told_by_file_else_by_objective() -> None:
    one = replace(picture("residency"), source="fast")
    other = _for_traffic(one, source="lean")
    assert names([one, other]) == ("residency, fast", "residency, lean")
    assert names([replace(one, source=""), replace(other, source="")]) == (
        "residency, objective time",
        "residency, objective traffic",
    )
    assert names([one, one]) == ("residency", "residency")
    record: Any = contrast_record(one, other)
    assert record["names"] == ["residency, fast", "residency, lean"]


def test_nothing_is_compared_across_objectives() -> None:
    one = picture("residency")
    other = _for_traffic(one)
    record: Any = contrast_record(one, other)
    assert "objectives time of A and traffic of B" in record["subtitle"]
    found = {figure["key"]: figure for figure in record["figures"]}
    for key in ("objective", "bound", "gap"):
        assert found[key]["change"] is None
        assert "time" in found[key]["text_a"]
        assert "traffic" in found[key]["text_b"]
    assert found["makespan"]["change"] == found["traffic"]["change"] == 0
    alike: Any = contrast_record(one, one)
    assert {each["key"]: each for each in alike["figures"]}["bound"]["change"] == 0


def test_the_headline_has_objective_and_energy_by_parts() -> None:
    one = _for_traffic(picture("residency"))
    machine = replace(one.problem.machine, energy=Energy(dram_pj_per_byte=3, mac_pj=5))
    problem = replace(one.problem, machine=machine)
    found = {each.key: each for each in figures(problem, one.result, one.totals)}
    moved, total = one.totals.traffic_bytes, one.totals
    assert found["objective"].text == f"traffic {si(moved, 'B')}"
    part = 3 * moved / (3 * moved + 5 * total.macs)
    assert found["energy"].note.startswith(f"DRAM {share(part)}, SPM reads 0 %")


def test_times_of_the_replay_are_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, replay = picture("residency"), picture("residency", "async")
    assert "barriers" not in conditions([steps])
    assert conditions([replay]).endswith("async time, without barriers between steps")
    said: list[str] = []
    monkeypatch.setattr(save, "finish", lambda _figure, heading, _path: said.append(heading))
    for one in (steps, replay, _for_traffic(steps)):
        save_picture("map", [one], tmp_path / "p.png")
    spent = metrics(steps.problem.machine, steps.totals)
    time, moved = si(spent.time_s, "s"), si(steps.totals.traffic_bytes, "B")
    assert f"time {time} (objective), traffic {moved}" in said[0]
    assert (
        f"time {time} (objective), traffic {moved}, async time {si(spent.replay_s, 's')}" in said[1]
    )
    assert "without barriers" in said[1]
    assert f"traffic {moved} (objective), time {time}" in said[2]
