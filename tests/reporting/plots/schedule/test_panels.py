"""What each panel draws is what the picture has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import StepPatch

from spmopt.core.errors import InputError
from spmopt.metrics import metrics
from spmopt.reporting.contrast import bytes_kept_more
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.palette import CAUSE_COLORS, KIND_COLORS
from spmopt.reporting.plots.schedule import (
    Boxes,
    addresses,
    over_time,
    plot_dual,
    plot_gain,
    plot_lanes,
    plot_map,
    plot_occupancy,
    plot_roofline,
)
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView, schedule_record
from tests import banks_by_hand
from tests.reporting.samples import picture
from tests.reporting.schedule_view.small import result_of
from tests.verifier.random_plans import random_schedule


def stairs(ax: Axes) -> dict[tuple[int, str], Any]:
    """Areas by the unit that they begin in and their color: (edges, heights) of each."""
    found = {}
    for patch in ax.patches:
        if isinstance(patch, StepPatch) and patch.get_fill():
            values, edges, below = patch.get_data()
            color = to_hex(patch.get_facecolor())
            found[int(np.min(below)), color] = (edges, values - below)
    return found


def by_kind(ax: Axes) -> list[Any]:
    """Areas of occupancy by kinds; None: there is none."""
    found = {color: area for (_, color), area in stairs(ax).items()}
    return [found.get(color.lower()) for color in KIND_COLORS]


def pixels(ax: Axes) -> Callable[[float, float], list[float]]:
    """Draw, and give a function from coordinates to the color there."""
    figure, buffer = ax.figure, BytesIO()
    assert isinstance(figure, Figure)
    figure.savefig(buffer, format="png")
    buffer.seek(0)
    image = np.asarray(imread(buffer)) * 255

    def at(x: float, y: float) -> list[float]:
        column, row = ax.transData.transform((x, y))
        found: list[float] = image[int(image.shape[0] - row), int(column), :3].tolist()
        return found

    return at


@pytest.mark.parametrize("panel", [plot_map, plot_occupancy, plot_lanes, plot_dual])
def test_nothing_is_drawn_after_the_end(panel: Callable[[ScheduleView, Axes], Axes]) -> None:
    """On the longer time axis of another schedule."""
    one = picture("residency")
    end = one.times.cycles / one.problem.machine.clock_hz
    ax = Figure().subplots()
    ax.set_xlim(0.0, 1.2 * end)
    panel(one, ax)
    ax.grid(visible=False)
    at, (low, high) = pixels(ax), ax.get_ylim()
    for up in np.linspace(0.02, 0.98, 97):
        for part in (1.02, 1.1, 1.18):
            assert at(part * end, low + up * (high - low)) == [255] * 3


@pytest.mark.parametrize("most", [0, 4000])
@pytest.mark.parametrize("timing", TIMINGS)
def test_a_map_has_each_rectangle_where_it_lies(
    monkeypatch: pytest.MonkeyPatch, timing: str, most: int
) -> None:
    """As drawn: one by one, and as an image."""
    monkeypatch.setattr(addresses, "MOST_DRAWN", most)
    one = picture("residency", timing)
    boxes, ax = Boxes.of(one), plot_map(one)
    for text in ax.texts:
        text.set_visible(False)
    drawn = [c for c in ax.collections if isinstance(c, PolyCollection)]
    assert sum(len(c.get_paths()) for c in drawn) == (boxes.tensor.size if most else 0)
    at, kinds = pixels(ax), boxes.kind != KINDS.index("scratch")
    large = (boxes.right - boxes.left) * (boxes.high - boxes.low) * kinds
    for row in np.argsort(-large)[:12]:
        x, y = (boxes.left + boxes.right)[row] / 2, (boxes.low + boxes.high)[row] / 2
        expected = np.array(to_rgba(KIND_COLORS[boxes.kind[row]])[:3]) * 255
        np.testing.assert_allclose(at(x, y), expected, atol=4)


def test_marked_rectangles_are_strong_and_others_pale() -> None:
    one, other = picture("residency"), picture("belady")
    more = bytes_kept_more(one, other)
    marked, ax = Boxes.of(one, more), plot_map(one, marked=more)
    for text in ax.texts:
        text.set_visible(False)
    at = pixels(ax)
    row = int(np.argmax((marked.right - marked.left) * (marked.high - marked.low)))
    x, y = (marked.left + marked.right)[row] / 2, (marked.low + marked.high)[row] / 2
    strong = np.array(to_rgba(KIND_COLORS[marked.kind[row]])[:3]) * 255
    np.testing.assert_allclose(at(x, y), strong, atol=4)
    plain = plot_map(one, marked=bytes_kept_more(one, one))
    pale = pixels(plain)(x, y)
    assert np.mean(pale) > np.mean(strong) + 40


def test_occupancy_is_that_of_every_step() -> None:
    one = picture("residency")
    ax, clock = plot_occupancy(one), one.problem.machine.clock_hz
    for held, area in zip(one.occupied, by_kind(ax), strict=True):
        assert (area is not None) == held.any()
        if area is None:
            continue
        edges, heights = area
        np.testing.assert_allclose(edges[:-1], np.unique(one.times.start) / clock)
        np.testing.assert_allclose(heights, held[one.times.duration > 0])
    assert ax.get_ylim()[1] > one.problem.machine.spm_bytes


def test_occupancy_in_bins_keeps_areas_and_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_time, "MOST_BINS", 7)
    one = picture("residency")
    ax, clock = plot_occupancy(one), one.problem.machine.clock_hz
    for held, area in zip(one.occupied, by_kind(ax), strict=True):
        if area is not None:
            edges, heights = area
            assert edges.size == 8
            expected = (held * one.times.duration).sum() / clock
            np.testing.assert_allclose((heights * np.diff(edges)).sum(), expected)
    (line,) = [p for p in ax.patches if isinstance(p, StepPatch) and not p.get_fill()]
    values, edges, _ = line.get_data()
    ends = one.times.start + one.times.duration
    for value, low, high in zip(values, edges[:-1] * clock, edges[1:] * clock, strict=True):
        here = (one.times.start < high - 1e-6) & (ends > low + 1e-6)
        assert value == one.occupied.sum(axis=0)[here].max()


@pytest.mark.parametrize("most", [9, 540])
@pytest.mark.parametrize("timing", TIMINGS)
def test_lanes_add_up_to_the_totals(
    monkeypatch: pytest.MonkeyPatch, timing: str, most: int
) -> None:
    monkeypatch.setattr(over_time, "MOST_BINS", most)
    one = picture("residency", timing)
    ax, times = plot_lanes(one), one.times
    clock = one.problem.machine.clock_hz
    found = stairs(ax)
    busy = dict.fromkeys(range(4), 0.0)
    for (base, _), (edges, heights) in found.items():
        busy[base] += (heights / 0.86 * np.diff(edges)).sum() * clock
        assert heights.max() <= 0.86 + 1e-9
    stalled, outward, inward, computed = busy.values()
    np.testing.assert_allclose(computed, one.totals.compute_cycles)
    np.testing.assert_allclose(inward + outward, one.totals.dma_cycles)
    np.testing.assert_allclose(stalled, times.cycles - one.totals.compute_cycles)
    for cause, stall in enumerate(times.stall_by_cause.sum(axis=1)):
        edges, heights = found.get((0, CAUSE_COLORS[cause]), (np.zeros(2), 0))
        np.testing.assert_allclose((heights / 0.86 * np.diff(edges)).sum() * clock, stall)


def test_lanes_say_how_busy_the_machine_is() -> None:
    one = picture("residency")
    labels = [text.get_text() for text in plot_lanes(one).get_yticklabels()]
    busy = metrics(one.problem.machine, one.totals)
    assert labels[0] == f"compute\n{round(100 * busy.compute_busy, 1):g} %"
    assert labels[3] == f"stall\n{round(100 * (1 - busy.compute_busy), 1):g} %"


@pytest.mark.parametrize(
    ("timing", "spm", "amount", "words"),
    [
        ("steps", 1024, 1, "1 B"),
        ("replay", 10_000, 1000, "1 kB"),
        ("replay", 10_000_000, 10**6, "1 MB"),
    ],
)
def test_the_price_ends_at_what_a_little_more_saves(
    timing: str, spm: int, amount: int, words: str
) -> None:
    one = picture("residency", timing)
    assert one.problem.machine.spm_bytes == 1024
    worth: Any = schedule_record(one)["shadow_prices"]
    larger = replace(one.problem, machine=replace(one.problem.machine, spm_bytes=spm))
    ax = plot_dual(replace(one, problem=larger))
    (line,) = ax.get_lines()
    y = np.asarray(line.get_ydata(), float)
    assert y[-1] == pytest.approx(worth["per_mb"] * amount / 10**6, rel=0.01)
    assert ax.get_title("left").startswith(f"SPM shadow price: {words} more lowers the bound by ")
    assert (np.diff(y) >= 0).all()


def test_without_duals_there_is_no_such_picture() -> None:
    problem, residency_plan = random_schedule(1)
    with pytest.raises(InputError, match="has no dual values of the scratchpad"):
        plot_dual(ScheduleView.of(result_of(problem, residency_plan)))


def test_the_roofline_has_the_layers_of_the_record() -> None:
    one = picture("residency")
    roofline: Any = schedule_record(one)["roofline"]
    ax = plot_roofline(one)
    clouds = [c for c in ax.collections if isinstance(c, PathCollection)]
    drawn = np.concatenate([np.asarray(c.get_offsets()) for c in clouds])
    expected = [
        pair
        for pair in zip(
            roofline["points"]["intensity"], roofline["points"]["attained"], strict=True
        )
        if pair[0] is not None
    ]
    np.testing.assert_allclose(sorted(drawn.tolist()), sorted(expected))
    (roof,) = [line for line in ax.get_lines() if len(np.asarray(line.get_xdata())) == 3]
    assert np.asarray(roof.get_xdata())[1] == pytest.approx(roofline["roof"]["ridge"])
    assert np.asarray(roof.get_ydata())[1] == pytest.approx(one.problem.machine.fastest)


@pytest.mark.parametrize("timing", TIMINGS)
def test_the_lead_ends_at_the_difference(timing: str) -> None:
    first, second = picture("belady", timing), picture("residency", timing)
    ax = plot_gain(first, second)
    y = np.asarray(ax.get_lines()[-1].get_ydata(), float)
    expected = (first.times.cycles - second.times.cycles) / first.problem.machine.clock_hz
    assert y[-1] == pytest.approx(expected)


def test_axes_that_are_given_are_drawn_into() -> None:
    ax = plot_map(picture("residency"))
    assert plot_occupancy(picture("residency"), ax) is ax


def test_banks_are_named_and_parted_by_a_line() -> None:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    ax = plot_map(ScheduleView.of(stored))
    names = {text.get_text().split(":")[0]: text.get_position()[1] for text in ax.texts}
    assert names["bank 0"] == 0
    assert names["bank 1"] == banks_by_hand.BANKS[0].spm_bytes
    levels = [line[0][1] for lines in ax.collections for line in _fused_groups(lines)]
    assert banks_by_hand.BANKS[0].spm_bytes in levels


def _fused_groups(drawn: Any) -> list[Any]:
    return list(drawn.get_segments()) if isinstance(drawn, LineCollection) else []
