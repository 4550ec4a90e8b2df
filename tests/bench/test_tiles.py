"""Measures of a layer in tiles, on a small one."""

from __future__ import annotations

import pytest

from spmopt.bench.suite import Case, Options
from spmopt.bench.suites import find
from spmopt.bench.tiles import LAYER, SCALESIM
from spmopt.bench.worker import build, measure

SIZES = {"m": 10, "k": 6, "n": 12, "tile": 4}
CASE = Case(
    network=LAYER, spm="64kB", parameters=SIZES, lowering="interleaved", machine="small-npu"
)
OPTIONS: Options = {
    "scheduler": "page",
    "objective": "traffic",
    "tolerance": 1e-4,
    "limit_s": 20.0,
}


def job(case: Case, name: str, options: Options) -> dict[str, object]:
    fields = {slot: getattr(case, slot) for slot in Case.__slots__}
    return {"case": fields, "measure": name, "options": options}


def test_a_layer_is_built_in_its_order() -> None:
    instance = build(CASE)
    # 3 x 2 x 3 tiles, each with a product for both gradients; these take turns.
    assert len(instance.operations) == 36
    results = [operation.name.split("(")[0] for operation in instance.operations]
    assert results == ["dX", "dW"] * 18


def test_the_whole_way() -> None:
    figures = measure(job(CASE, "solved", OPTIONS))
    assert figures["operations"] == 36
    assert figures["verified"] is True
    assert isinstance(figures["gap"], float)
    assert isinstance(figures["wall_s"], float)
    assert isinstance(figures["solve_s"], float)
    assert 0 <= figures["gap"] < 10
    assert 0 < figures["solve_s"] <= figures["wall_s"]


def test_every_run_of_scalesim_is_equal() -> None:
    figures = measure(job(Case(network=SCALESIM, spm="1MB", machine="small-npu"), "cycles", {}))
    assert (figures["operations"], figures["equal"]) == (110, 1.0)


@pytest.mark.parametrize(
    ("layer", "limit_s"), [("4096 x 1024 x 4096", 10), ("3999 x 999 x 3999", 30)]
)
def test_what_must_be_reached(layer: str, limit_s: int) -> None:
    rows = [row for row in find("tiles").rows if row.cells[0] == layer and row.targets]
    assert len(rows) == 6
    for row in rows:
        assert {target.figure: target.value for target in row.targets}["wall_s"] == limit_s
        sizes = row.case.parameters
        tiles = [-(-sizes[side] // sizes["tile"]) for side in "mkn"]
        assert 2 * tiles[0] * tiles[1] * tiles[2] == 16_384
