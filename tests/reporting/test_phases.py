"""Phases of a training step, and layers by how their names begin."""

from __future__ import annotations

import spmopt
from spmopt.reporting.phases import PHASES, layer_groups, phases
from spmopt.reporting.schedule_view import ScheduleView


def test_updates_come_after_the_gradients_that_they_need() -> None:
    workload = spmopt.load("squeezenet", training=True, batch=1, optimizer="adam")
    problem = spmopt.lower(workload, spmopt.machine("small-npu"))
    picture = ScheduleView.of(spmopt.solve(problem, "belady").stored)
    operations = [problem.operations[k] for k in picture.view.timeline.order.tolist()]
    found = [PHASES[phase] for phase in phases(picture.analysis).tolist()]
    assert {*found} == {*PHASES}
    for operation, phase in zip(operations, found, strict=True):
        assert (phase == "update") == (operation.kind == "Adam")
        assert (phase == "forward") or "forward" in found
    assert "forward" not in found[found.index("backward") :]


def test_layers_are_grouped_as_deep_as_tells_three_apart() -> None:
    names = ["stem.conv", "stage1.0.conv", "stage1.1.conv", "stage2.0.conv", "fc"]
    heads, group = layer_groups(names)
    assert heads == ["stem", "stage1", "stage2", "fc"]
    assert group.tolist() == [0, 1, 1, 2, 3]
    heads, group = layer_groups(["net/a/x", "net/a/y", "net/b/x", "/net/c/x", "out"])
    assert heads == ["net.a", "net.b", "net.c", "out"]
    assert group.tolist() == [0, 0, 1, 2, 3]


def test_groups_are_not_more_than_can_be_read() -> None:
    heads, group = layer_groups([f"net.layer{k}" for k in range(100)])
    assert heads == ["net"]
    assert group.tolist() == [0] * 100
    assert layer_groups(["", "/", "a"])[0] == ["", "/", "a"]
    assert layer_groups([])[0] == []
