"""The fits: residuals recomputed, no better curve nearby, nothing falls with the capacity."""

import csv
import itertools
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.hardware.fit import fit, through
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import FIGURES, FURTHEST, Basis

LABELS = {
    "nvsim-sram": "SRAM",
    "nvsim-stt": "STT-MRAM",
    "nvsim-sot": "SOT-MRAM(assumed cell)",
}
COLUMNS = dict(
    zip(
        FIGURES,
        (
            "read_latency_ns",
            "write_latency_ns",
            "read_energy_pJ_per_access",
            "write_energy_pJ_per_access",
            "leakage_mW",
            "area_mm2",
        ),
        strict=True,
    )
)
# Largest relative residual, in percent.
WORST = {
    "nvsim-sram": (4.0, 6.3, 0.7, 0.7, 4.9, 2.4),
    "nvsim-stt": (4.9, 1.4, 2.6, 0.7, 27.6, 2.7),
    "nvsim-sot": (6.6, 3.8, 2.4, 1.1, 23.7, 4.6),
}
MIB = 2**20
CASES = [(name, figure) for name in LABELS for figure in FIGURES]


def runs(name: str) -> list[dict[str, str]]:
    text = (files("spmopt.hardware") / "nvsim_ppa.csv").read_text(encoding="utf-8")
    return [run for run in csv.DictReader(text.splitlines()) if run["tech"] == LABELS[name]]


def points(name: str, figure: str) -> tuple[list[int], list[float]]:
    found = runs(name)
    sizes = [int(run["capacity_MB"]) * MIB for run in found]
    return sizes, [float(run[COLUMNS[figure]]) for run in found]


def loss(sizes: list[int], values: list[float], curve: tuple[float, float, float]) -> float:
    constant, factor, exponent = curve
    modeled = constant + factor * (np.array(sizes) / 1e6) ** exponent
    return float(((modeled / np.array(values) - 1) ** 2).sum())


@pytest.mark.parametrize(("name", "figure"), CASES)
def test_residuals_are_those_of_the_file(name: str, figure: str) -> None:
    sizes, values = points(name, figure)
    of = load_technology(name).fits[figure]
    c = of.curve
    expected = [
        (c.constant + c.factor * (size / 1e6) ** c.exponent) / value - 1
        for size, value in zip(sizes, values, strict=True)
    ]
    assert of.residuals == pytest.approx(expected, abs=1e-5)
    assert round(100 * max(map(abs, of.residuals)), 1) == WORST[name][FIGURES.index(figure)]


@pytest.mark.parametrize(("name", "figure"), CASES)
def test_no_curve_nearby_is_better(name: str, figure: str) -> None:
    sizes, values = points(name, figure)
    c = load_technology(name).fits[figure].curve
    assert c.constant >= 0
    assert c.factor > 0
    best = loss(sizes, values, (c.constant, c.factor, c.exponent))
    for constant in (c.constant - 0.001 * values[0], c.constant + 0.001 * values[0]):
        if constant >= 0:
            assert loss(sizes, values, (constant, c.factor, c.exponent)) > best
    for factor in (0.999 * c.factor, 1.001 * c.factor):
        assert loss(sizes, values, (c.constant, factor, c.exponent)) > best


def test_the_exponent_is_the_best_of_all_tried() -> None:
    # By elimination instead of least squares: the normal equations of each exponent.
    sizes, values = points("nvsim-stt", "write_latency_ns")
    losses = {}
    for hundredths in range(1, 151):
        columns = np.array(
            [
                [1 / y, (x / 1e6) ** (hundredths / 100) / y]
                for x, y in zip(sizes, values, strict=True)
            ]
        )
        a, b = np.linalg.solve(columns.T @ columns, columns.sum(axis=0))
        if a >= 0 and b >= 0:
            losses[hundredths] = loss(sizes, values, (float(a), float(b), hundredths / 100))
    curve = load_technology("nvsim-stt").fits["write_latency_ns"].curve
    assert round(100 * curve.exponent) == min(losses, key=losses.__getitem__)


def test_megabytes_of_nvsim_are_mebibytes() -> None:
    # The cells of SRAM take 146 F^2 each; area x efficiency is what they take together.
    run = runs("nvsim-sram")[0]
    cells_mm2 = float(run["area_mm2"]) * float(run["area_efficiency_pct"]) / 100
    assert cells_mm2 == pytest.approx(8 * MIB * 146 * 22e-6**2, rel=1e-4)


def test_whether_there_are_points_on_both_sides_is_told() -> None:
    technology = load_technology("nvsim-stt")
    basis = {size: technology.at(size).basis for size in (MIB - 1, MIB, 32 * MIB, 32 * MIB + 1)}
    assert list(basis.values()) == [
        Basis.EXTRAPOLATED,
        Basis.FITTED,
        Basis.FITTED,
        Basis.EXTRAPOLATED,
    ]


@pytest.mark.parametrize("name", sorted(LABELS))
def test_a_fit_is_not_used_far_beyond_its_points(name: str) -> None:
    technology = load_technology(name)
    assert technology.most_bytes == FURTHEST * 32 * MIB
    last = technology.at(FURTHEST * 32 * MIB)
    assert last.basis is Basis.EXTRAPOLATED
    with pytest.raises(InputError, match=r"too far .* 8 times the last one, 268\.435456 MB"):
        technology.at(FURTHEST * 32 * MIB + 1)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 2**30), st.floats(1e-3, 1e6)),
        min_size=3,
        max_size=8,
        unique_by=lambda pair: pair[0],
    )
)
def test_a_fit_of_anything_never_falls(found: list[tuple[int, float]]) -> None:
    sizes, values = zip(*found, strict=True)
    curve = fit(sizes, values).curve
    assert min(curve.constant, curve.factor) >= 0
    along = [curve.at(size) for size in sorted((*sizes, 1, 2**35))]
    assert along == sorted(along)
    assert along[-1] > 0


def test_a_curve_of_the_form_is_found_again() -> None:
    sizes = [10**6 * 2**k for k in range(6)]
    of = fit(sizes, [3 + 0.5 * 2 ** (0.75 * k) for k in range(6)])
    assert (of.curve.constant, of.curve.factor, of.curve.exponent) == pytest.approx((3, 0.5, 0.75))
    assert of.residuals == pytest.approx([0.0] * 6, abs=1e-5)


def test_what_falls_is_taken_for_constant() -> None:
    curve = fit([10**6, 2 * 10**6, 4 * 10**6], [4.0, 2.0, 1.0]).curve
    # Least sum of (a / y - 1)^2: a = sum(1 / y) / sum(1 / y^2).
    assert curve.factor == 0
    assert curve.constant == pytest.approx(1.75 / 1.3125, rel=1e-5)


def test_two_points_are_too_few() -> None:
    with pytest.raises(InputError, match="at least 3 points, there are 2"):
        fit([1, 2], [1.0, 2.0])


SCALED = ("scaled-sram", "scaled-stt", "scaled-sot")


@pytest.mark.parametrize("name", SCALED)
def test_a_power_law_goes_through_table_ii(name: str) -> None:
    technology, plain = load_technology(name), load_technology(name.replace("scaled", "deepnvm"))
    for point in technology.points:
        found = technology.at(point.capacity_bytes).point
        for figure in FIGURES:
            assert getattr(found, figure) == pytest.approx(getattr(point, figure), rel=1e-5)
    assert {*plain.points} <= {*technology.points}
    assert len(technology.points) == 2


@pytest.mark.parametrize("name", SCALED)
def test_a_power_law_grows_by_the_same_factor_with_each_doubling(name: str) -> None:
    points = [load_technology(name).at(10**6 * 2**k).point for k in range(6)]
    for figure in FIGURES:
        values = [getattr(point, figure) for point in points]
        factors = [after / before for before, after in itertools.pairwise(values)]
        assert min(factors) >= 1
        assert factors == pytest.approx([factors[0]] * 5, rel=1e-4)


def test_a_power_law_by_hand() -> None:
    # From 1 to 9 at a capacity 4 times as large: the power of log 9 / log 4.
    curve = through([10**6, 4 * 10**6], [1.0, 9.0]).curve
    assert [curve.at(10**6 * size) for size in (1, 2, 4, 16)] == [1, 3, 9, 81]
    with pytest.raises(InputError, match=r"must not fall with the capacity, from 2 to 1"):
        through([1, 2], [2.0, 1.0])
    with pytest.raises(InputError, match="needs 2 points, there are 3"):
        through([1, 2, 3], [1.0, 1.0, 1.0])
