"""Files: every picture in every format, the same bytes each time, whatever the names are."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.image
import pytest

from spmopt.core.errors import InputError
from spmopt.reporting.plots.schedule import PICTURES, addresses, save_picture
from spmopt.reporting.plots.style import legible
from spmopt.reporting.schedule_view import ScheduleView
from tests.reporting.samples import AWKWARD, awkward, picture
from tests.reporting.schedule_view.small import result_of
from tests.thorough import THOROUGH, some
from tests.verifier.random_plans import random_schedule


@pytest.mark.parametrize("name", [name for name in PICTURES if THOROUGH or name != "all"])
def test_every_picture_is_1200_pixels_wide(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.PNG"  # in either case
    chosen = (
        [picture("belady"), picture("residency")] if name == "compare" else [picture("residency")]
    )
    save_picture(name, chosen, path)
    height, width, _ = matplotlib.image.imread(path).shape
    assert width == 1200
    assert height > 250


@pytest.mark.parametrize("suffix", some(["svg", "png", "pdf"], 2))
def test_bytes_are_the_same_each_time(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        save_picture("map", [picture("residency")], path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    "file",
    some(["all.svg", "roofline.png", "roofline.pdf", "all.png", "all.pdf", "roofline.svg"], 3),
)
def test_names_are_text_whatever_they_are(file: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = tmp_path / file
        save_picture(path.stem, [awkward("residency")], path)
        assert b"<script" not in path.read_bytes()
        if path.suffix == ".png":
            assert matplotlib.image.imread(path).shape[1] == 1200


def test_long_names_keep_both_ends_and_lines_become_one() -> None:
    assert legible("a\nb\tc") == "a b c"
    assert legible("first" + 1000 * "-" + "last", 20).startswith("first")
    assert legible("first" + 1000 * "-" + "last", 20).endswith("last")
    assert [len(legible(name, 20)) for name in ("n" * 1000, "n" * 21, "n" * 20)] == [19, 19, 20]
    assert legible(AWKWARD[3]) == "□ ∑ □□"
    assert legible("$x_{") == "$x_{"


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_many_rectangles_become_an_image(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "MOST_SHAPES", 10)
    path = tmp_path / f"p.{suffix}"
    save_picture("map", [picture("residency")], path)
    assert (b"<image" if suffix == "svg" else b"/Subtype /Image") in path.read_bytes()


def test_refusals(tmp_path: Path) -> None:
    one, path = picture("residency"), tmp_path / "p.png"
    problem, residency_plan = random_schedule(0)
    other = ScheduleView.of(result_of(problem, residency_plan))
    for name, chosen, target, text in (
        ("compare", [one], path, "picture compare: takes 2 schedules, not 1"),
        ("map", [one, other], path, "name two schedules of one problem"),
        ("map", [one, picture("residency", "async")], path, "timing step and async"),
        ("map", [one], tmp_path / "p.gif", r"p.gif: not a picture format.*\.png, \.svg, \.pdf"),
        ("map", [one], tmp_path / "none" / "p.png", "cannot be written"),
    ):
        with pytest.raises(InputError, match=text):
            save_picture(name, chosen, target)
    assert list(tmp_path.iterdir()) == []
