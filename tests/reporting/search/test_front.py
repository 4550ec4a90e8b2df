"""A search as view data: which figures are drawn over which, where trials are."""

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.reporting.search.words import LABELS
from tests.reporting.search.fronts import AREA, NUMBER, TIME, front


def test_two_objectives_are_a_plane() -> None:
    found = front()
    assert found.pair() == (TIME, AREA)
    assert found.is_plane(TIME, AREA)
    assert found.is_plane(AREA, TIME)
    assert not found.is_plane(TIME, NUMBER)
    assert not replace(found, top=2).is_plane(TIME, AREA)


def test_figures_are_chosen_by_key_or_label() -> None:
    found = front()
    assert found.pair("trial") == (NUMBER, TIME)
    assert found.pair("time") == (TIME, AREA)
    assert found.pair(y="time_s") == (AREA, TIME)
    assert found.pair("area_mm2", "time") == (AREA, TIME)
    with pytest.raises(InputError, match="no figure of the study called 'are'"):
        found.pair("are")


def test_a_single_objective_is_drawn_over_another_figure() -> None:
    found = replace(front(), axes=(TIME, replace(AREA, is_objective=False), NUMBER))
    assert [axis.key for axis in found.pair()] == ["area_mm2", "time_s"]


def test_what_was_excluded_is_at_its_bounds() -> None:
    places = [each.place(TIME, AREA) for each in front().trials]
    assert places == [(1.0, 8.0), (2.0, 5.0), (2.5, 6.0), (0.5, 10.0), (3.0, 7.0), None]


def test_figures_have_labels_not_field_names() -> None:
    assert {"gbps", "area_mm2", "spm_mb", "tflops"} <= {*LABELS}
    for key, label in LABELS.items():
        assert key != label
        assert "_" not in label
