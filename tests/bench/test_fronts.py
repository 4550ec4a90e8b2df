"""The measure of a search for a front, on a small one."""

from __future__ import annotations

from dataclasses import asdict

from spmopt.bench.suite import Case, Options
from spmopt.bench.suites import find
from spmopt.bench.worker import measure

CASE = Case(network="bert-tiny", spm="600kB", parameters={"batch": 2, "sequence": 8, "layers": 1})
OPTIONS: Options = {
    "steps": 3,
    "bandwidth": "300GB/s",
    "technology": "nvsim-sram",
    "mm2_per_gbps": 0.01,
    "tolerance": 1e-2,
    "limit_s": 20.0,
    "exhaustive": True,
}


def test_the_front_of_nine_machines() -> None:
    figures = measure({"case": asdict(CASE), "measure": "front", "options": OPTIONS})
    assert figures["machines"] == 9
    assert figures["proved"] is True
    assert figures["equal"] is True
    numbers = {name: value for name, value in figures.items() if isinstance(value, int | float)}
    assert numbers["solves"] == numbers["front"] + numbers["undecided"] + numbers["beyond"]
    assert numbers["solves"] <= 9
    assert 0 < numbers["overhead"] < 1


def test_what_must_be_reached() -> None:
    rows = {row.name: row for row in find("front").rows}
    wanted = {target.figure: target.value for target in rows["resnet50 20 x 20"].targets}
    assert wanted == {"beyond": 20, "undecided": 0, "overhead": 0.05, "proved": 1}
