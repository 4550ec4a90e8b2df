"""Points of rooflines: under the roof, and in sum what the schedule spends."""

from __future__ import annotations

import pytest

from spmopt.core.instance import Instance
from spmopt.core.result import Result
from spmopt.reporting.story.roofline import ceilings, measured, roofline_points
from tests.in_pieces import perceptron
from tests.reporting.schedule_view.small import result_of
from tests.stories import told
from tests.verifier.random_plans import rich_schedule


def cases() -> list[tuple[Instance, Result]]:
    """Schedules of a network, of one in pieces, and random ones, duplex ones among them."""
    found = [(each.instance, each.result) for each in told().decisions]
    stored = [perceptron(), *(result_of(*rich_schedule(seed)) for seed in range(30))]
    return [*found, *((each.instance, each.result) for each in stored)]


def test_no_point_is_above_the_roof() -> None:
    for instance, result in cases():
        roofs = ceilings(instance.machine)
        rates: list[dict[str, float]] = roofs["rates"]  # type: ignore[assignment]
        slopes: list[dict[str, float]] = roofs["slopes"]  # type: ignore[assignment]
        widest = max(each["bytes_per_s"] for each in slopes)
        points = roofline_points(measured(instance, result))
        for intensity, attained in zip(points["intensity"], points["attained"], strict=True):  # type: ignore[call-overload]
            if intensity is not None:
                assert attained <= intensity * widest * (1 + 1e-9)
        if all(operation.modes[0].macs == 0 for operation in instance.operations):
            fastest = max(each["ops_per_s"] for each in rates)
            assert all(each <= fastest * (1 + 1e-9) for each in points["attained"])  # type: ignore[attr-defined]


def test_points_add_up_to_the_schedule() -> None:
    for instance, result in cases():
        assert result.totals is not None
        figures = measured(instance, result)
        points = roofline_points(figures)
        shown = (figures.flop > 0) & (figures.cycles > 0)
        names = {
            instance.piece_of.get(name, name)
            for name in (
                instance.operations[index].name
                for index in figures.view.timeline.order[shown].tolist()
            )
        }
        assert set(points["name"]) == names  # type: ignore[call-overload]
        if points["left_out"] == 0:
            clock, totals = instance.machine.clock_hz, result.totals
            assert sum(points["bytes"]) == totals.traffic_bytes  # type: ignore[call-overload]
            time_s = totals.makespan_cycles / clock
            assert sum(points["time_s"]) == pytest.approx(time_s)  # type: ignore[call-overload]
            waits_s = time_s - totals.compute_cycles / clock
            assert sum(points["waits_s"]) == pytest.approx(waits_s)  # type: ignore[call-overload]


def test_pieces_of_an_operation_are_one_point() -> None:
    stored = perceptron()
    names = roofline_points(measured(stored.instance, stored.result))["name"]
    assert isinstance(names, list)
    assert len(names) == len({*names}) < len(stored.instance.operations)
