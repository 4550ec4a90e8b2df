"""A search drawn: the front among all trials, proofs, constraints, what matters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from spmopt.reporting.plots import fronts
from spmopt.reporting.plots.fronts import plot_front, save_front
from spmopt.reporting.search.front import Limit
from tests.reporting.search.fronts import AREA, NUMBER, TIME, front


def marks(ax: Axes) -> dict[str, list[list[float]]]:
    """Where the marks of each label are."""
    return {
        str(each.get_label()): np.asarray(each.get_offsets()).tolist()
        for each in ax.collections
        if isinstance(each, PathCollection)
    }


def test_every_kind_of_trial_has_its_mark() -> None:
    ax = plot_front(front())
    assert marks(ax) == {
        "front": [[1.0, 8.0], [2.0, 5.0]],
        "solved": [[2.5, 6.0]],
        "breaks a constraint": [[0.5, 10.0]],
        "excluded by proof, at best here": [[3.0, 7.0]],
    }
    said = [text.get_text() for text in ax.texts]
    assert said == ["0", "1"]
    assert ax.get_title("right") == "1 of 6 trials are not known by both figures"


def test_steps_gaps_and_limits_are_lines() -> None:
    ax = plot_front(front())
    steps, least, limit = ax.get_lines()
    assert steps.get_drawstyle() == "steps-post"
    assert np.asarray(steps.get_xdata()).tolist() == [1.0, 2.0]
    assert np.asarray(least.get_xdata()).tolist() == [1.6, 2.0, 2.0]
    assert np.asarray(least.get_ydata()).tolist() == [5.0, 5.0, 5.0]
    assert np.asarray(limit.get_ydata()).tolist() == [9.0, 9.0]
    assert limit.get_label() == "area_mm2 <= 9"


def test_constraints_beyond_the_trials_leave_the_axes_to_them() -> None:
    limits = (Limit(text="area_mm2 <= 1000", value=1e3), Limit(text="area_mm2 >= 1", value=1.0))
    found = replace(front(), axes=(TIME, replace(AREA, limits=limits), NUMBER))
    ax = plot_front(found)
    low, high = ax.get_ylim()
    assert 4 < low < 5
    assert 10 < high < 11
    said = [str(line.get_label()) for line in ax.get_lines()]
    assert {f"{limit.text} (beyond the axes)" for limit in limits} <= {*said}


def test_other_figures_have_no_steps() -> None:
    ax = plot_front(front(), "trial", "time")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("trial", "time")
    assert all(line.get_drawstyle() == "default" for line in ax.get_lines())
    assert marks(ax)["front"] == [[0.0, 1.0], [1.0, 2.0]]


def test_bounds_are_called_bounds() -> None:
    ax = plot_front(replace(front(), bounds_only=True))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time ≥", "area_mm2")
    assert "front of lower bounds" in marks(ax)


def test_a_file_is_the_same_again(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_front(front("$x^$<&🙂" * 90), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    save_front(front(), tmp_path / "c.png", "trial", "time")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_long_conditions_are_not_clipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headings: list[str] = []
    monkeypatch.setattr(fronts, "finish", lambda *some: headings.append(some[1]))
    text = " ".join(f"network-{number}" for number in range(60))
    save_front(replace(front(), lines=("6 trials", text)), tmp_path / "front.png")
    assert "…" not in headings[0]
    assert "network-59" in headings[0]
