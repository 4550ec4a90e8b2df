"""The study of banks: designs of one area, rows, and what is said of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from spmopt.hardware.technologies import load_technology
from spmopt.studies.banks import designs as designed
from spmopt.studies.banks import measure
from spmopt.studies.banks.designs import BUDGET_BYTES, SRAM, Design, designs, largest
from spmopt.studies.banks.measure import COLUMNS
from spmopt.studies.banks.shown import labels, leaders
from spmopt.studies.banks.study import STUDY
from spmopt.studies.page import lines
from spmopt.studies.rows import Rows
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Row, Value


def test_designs_take_the_area_and_no_more() -> None:
    budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
    assert len(designs()) == 1 + 2 * 4
    for design in designs():
        pads = [each.technology.at(each.spm_bytes) for each in design.banks()]
        area = sum(pad.point.area_mm2 for pad in pads)
        assert 0.99 * budget < area <= budget
        assert len(pads) == (2 if 0 < design.share < 1 else 1)
        assert all(each.spm_bytes % 4096 == 0 for each in design.banks())


def test_the_largest_memory_of_an_area() -> None:
    technology = load_technology("nvsim-stt")
    size = largest(technology, 2.0)
    assert technology.at(size).point.area_mm2 <= 2.0
    assert technology.at(size + 4096).point.area_mm2 > 2.0


def test_labels_tell_designs_apart() -> None:
    labels = [design.label for design in designs()]
    assert len(set(labels)) == len(labels)
    assert Design(share=0.25, mram="nvsim-sot").label == "25.0 % SRAM, SOT"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    monkeypatch.setattr(measure, "NETWORKS", ("bert-tiny",))
    monkeypatch.setattr(designed, "SHARES", (1.0, 0.5, 0.0))
    monkeypatch.setattr(designed, "MRAMS", ("nvsim-stt",))
    monkeypatch.setattr(measure, "BATCH", 1)
    with Pool(1) as pool:
        parts = list(measure.run(pool, lambda message: None, lambda about: None))
        again = list(measure.run(pool, lambda message: None, partial(_row, parts)))
    assert again == parts
    return Rows([row for part in parts for row in part])


def _row(parts: Sequence[Sequence[Row]], about: Mapping[str, Value]) -> Row:
    """The row of a killed run."""
    (found,) = (row for part in parts for row in part if about.items() <= row.items())
    return found


def test_rows_are_verified_and_told_of(rows: Rows) -> None:
    assert len(rows) == 2 * 3
    for row in rows:
        assert row["verified"] is True
        assert COLUMNS.row(COLUMNS.texts(row)) == row
        assert rows_number(row, "value") >= rows_number(row, "bound")
        assert 0 <= rows_number(row, "sram_touched") <= 1
    found = STUDY.find(rows, {})
    assert [len(sheet.rows) for sheet in found.sheets] == [3, 3, 3, 6]
    text = "\n".join(line for sheet in found.sheets for line in lines(sheet))
    assert "50.0 % SRAM, STT" in text
    assert "against the best single memory: bert-tiny " in found.sentences[0]


def rows_number(row: Any, column: str) -> float:
    return float(row[column])


def test_what_rests_on_figures_beyond_a_fit_is_marked() -> None:
    """SRAM of a quarter of the area is below the least point of its fit, 1 MiB."""
    made: list[Row] = []
    for share, value in ((1.0, 4.0), (0.5, 2.0), (0.25, 1.0), (0.0, 3.0)):
        design = Design(share=share, mram="nvsim-stt")
        sizes = [each.spm_bytes for each in design.banks()]
        about: dict[str, Value] = {"objective": "energy", "network": "n", "scheduler": "banks"}
        sram = sizes[0] if share else 0
        row = {**about, "scratchpad": design.label, "share": share, "mram": design.mram}
        made.append({**row, "spm_bytes": sum(sizes), "sram_bytes": sram, "value": value})
    shown = list(labels(Rows(made)).values())
    assert shown == ["SRAM", "50.0 % SRAM, STT", "25.0 % SRAM, STT *", "STT"]
    told = leaders(Rows(made), "energy")
    assert told == (
        "n 25.0 % SRAM, STT * (-66.7 %; without those marked 50.0 % SRAM, STT, -33.3 %)"
    )
    assert leaders(Rows([made[0], made[1], made[3]]), "energy").endswith("STT (-33.3 %)")
