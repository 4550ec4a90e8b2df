"""Several configurations of one capacity: the least energy-delay-area product is taken."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.hardware.technologies import load_technology, names
from spmopt.hardware.technology import Basis, Interpolation, Point, Technology

POINT = Point(
    capacity_bytes=2**20,
    read_latency_ns=1,
    write_latency_ns=2,
    read_energy_pj=10,
    write_energy_pj=20,
    leakage_mw=5,
    area_mm2=4,
    configuration="a",
)
# EDAP by hand: 30 pJ x 3 ns x 4 mm2, and so on.
QUICK = replace(POINT, read_latency_ns=0.5, area_mm2=6, configuration="quick")  # 30 x 2.5 x 6
SMALL = replace(POINT, area_mm2=2, read_energy_pj=20, configuration="small")  # 40 x 3 x 2
TOML = """cell = "SRAM"
source = "me"
access = "64B"
between = "nothing"
"""
TABLE = """[[point]]
capacity = "1MiB"
{}read_latency = "1ns"
write_latency = "2ns"
read_energy = "10pJ"
write_energy = "20pJ"
leakage = "5mW"
area = "{}mm2"
"""


def made(*points: Point, between: Interpolation = Interpolation.NOTHING) -> Technology:
    return Technology(
        name="t", cell="c", source="s", access_bytes=64, between=between, points=points
    )


def test_products_by_hand() -> None:
    assert [point.edap for point in (POINT, QUICK, SMALL)] == [360, 450, 240]


@pytest.mark.parametrize("points", list(permutations((POINT, QUICK, SMALL))))
def test_the_least_product_is_taken_in_any_order(points: tuple[Point, ...]) -> None:
    technology = made(*points)
    assert technology.best == (SMALL,)
    assert technology.points == (SMALL, POINT, QUICK)
    pad = technology.at(2**20)
    assert (pad.point, pad.basis) == (SMALL, Basis.PUBLISHED)


def test_a_fit_goes_through_those_taken() -> None:
    sizes = [2**20, 2**21, 2**22]
    taken = [replace(SMALL, capacity_bytes=size) for size in sizes]
    others = [replace(POINT, capacity_bytes=size) for size in sizes]
    fitted = made(*others, *taken, between=Interpolation.FIT)
    assert fitted.fits == made(*taken, between=Interpolation.FIT).fits
    assert fitted.capacities_bytes == tuple(sizes)


@given(st.lists(st.tuples(*[st.floats(1e-3, 1e3)] * 6), min_size=1, max_size=8))
def test_the_choice_is_exhaustive(figures: list[tuple[float, ...]]) -> None:
    points = [_point(number, each) for number, each in enumerate(figures)]
    (best,) = made(*points).best
    assert all(best.edap <= point.edap for point in points)
    assert best in points


def _point(number: int, figures: tuple[float, ...]) -> Point:
    read, write, read_pj, write_pj, leakage, area = figures
    return Point(
        capacity_bytes=2**20,
        read_latency_ns=read,
        write_latency_ns=write,
        read_energy_pj=read_pj,
        write_energy_pj=write_pj,
        leakage_mw=leakage,
        area_mm2=area,
        configuration=str(number),
    )


def test_a_file_names_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    first = TABLE.format('configuration = "read EDP"\n', 4)
    path.write_text(TOML + first + TABLE.format('configuration = "area"\n', 2))
    technology = load_technology(str(path))
    assert [point.configuration for point in technology.points] == ["area", "read EDP"]
    assert technology.at(2**20).point.area_mm2 == 2


def test_two_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOML + 2 * TABLE.format("", 4))
    with pytest.raises(InputError, match="1048576 bytes and the configuration ''; name the"):
        load_technology(str(path))
    path.write_text(TOML + TABLE.format("configuration = 3\n", 4))
    with pytest.raises(InputError, match="point 1: configuration = 3: must be a text in quotes"):
        load_technology(str(path))


def test_the_data_has_one_configuration_a_capacity() -> None:
    for name in names():
        technology = load_technology(name)
        assert technology.best == technology.points
        targets = {point.configuration for point in technology.points}
        assert targets == ({"ReadEDP"} if name.startswith("nvsim") else {""})
