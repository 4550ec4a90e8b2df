"""Records, files and tables of rows."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.gradients.records import Counted, RowsFile, csv_text, record
from spmopt.gradients.run import run
from spmopt.gradients.spent import MATRICES, total
from spmopt.gradients.view import sums, table
from spmopt.tiles.layer import Layer
from tests.gradients.cases import LAYER, case

SMALL = Layer(name="small", m=60, k=70, n=80)


def counted() -> list[Counted]:
    return [
        Counted(row=run(case(layer=layer, order=order)), count=count)
        for layer, count in ((LAYER, 1), (SMALL, 3))
        for order in ("sequential", "dx-major")
    ]


def test_a_record_adds_up() -> None:
    for each in counted():
        values = record(each)
        read = sum(int(str(values[f"{name}_read_bytes"])) for name in MATRICES)
        written = sum(int(str(values[f"{name}_written_bytes"])) for name in MATRICES)
        assert (read, written) == (values["dram_in_bytes"], values["dram_out_bytes"])
        assert read + written == values["traffic_bytes"]
        assert values["time_s"] == each.row.spent.makespan_cycles / 1e9
        assert values["tile_given"] is False
        assert values["order_gap"] is None


def test_sums_count_layers() -> None:
    rows = counted()
    found = sums(rows)
    assert [each.way[0] for each in found] == ["sequential", "dx-major"]
    for number, each in enumerate(found):
        first, second = rows[number].row.spent, rows[number + 2].row.spent
        assert each.spent == total([first, second, second, second])
        assert each.spent.makespan_cycles == first.makespan_cycles + 3 * second.makespan_cycles


def test_the_table_compares_with_the_first_of_a_layer() -> None:
    rows = counted()
    shown = table(rows, sums(rows))
    assert "partition" not in shown.columns
    assert "gap of order" not in shown.columns
    lines = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    assert [line["layer"] for line in lines] == ["a", "a", "small x3", "small x3", "total", "total"]
    assert [line["vs first"] == "-" for line in lines] == [True, False] * 3
    a = rows[1].row.spent.makespan_cycles / rows[0].row.spent.makespan_cycles - 1
    assert float(lines[1]["vs first"].removesuffix(" %")) == pytest.approx(100 * a, abs=0.06)


def test_a_file_gets_rows_at_once_and_order_at_the_end(tmp_path: Path) -> None:
    rows, path = counted(), tmp_path / "rows.csv"
    file = RowsFile(path)
    file.add([])
    assert not path.exists()
    file.add(rows[2:])
    file.add(rows[:1])
    assert len(path.read_text().splitlines()) == 4
    file.close(rows)
    assert path.read_text() == csv_text(rows)
    found = list(csv.DictReader(StringIO(path.read_text())))
    assert [(each["layer"], each["count"]) for each in found] == [
        ("a", "1"),
        ("a", "1"),
        ("small", "3"),
        ("small", "3"),
    ]
    assert found[0]["order_bound"] == ""
    assert found[0]["input_gradient"] == "true"


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        RowsFile(tmp_path / "none" / "rows.csv").add(counted()[:1])
