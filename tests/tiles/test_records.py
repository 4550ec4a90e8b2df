"""Records, files and tables of rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spmopt.api.gradient_tables import sums, table
from spmopt.core.errors import InputError
from spmopt.experiments.store import RowTable
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.records import COLUMNS, Record, about, cost_of, record
from spmopt.tiles.run import MATRICES, LayerResult, run, total
from tests.tiles.asked import LAYER, case

SMALL = Layer(name="small", m=60, k=70, n=80)


def counted() -> list[tuple[LayerResult, int]]:
    return [
        (run(case(layer=layer, order=order)), count)
        for layer, count in ((LAYER, 1), (SMALL, 3))
        for order in ("sequential", "dx-major")
    ]


def records() -> list[Record]:
    return [record(row, count) for row, count in counted()]


def test_a_record_adds_up() -> None:
    for row, count in counted():
        values = record(row, count)
        read = sum(int(str(values[f"{name}_read_bytes"])) for name in MATRICES)
        written = sum(int(str(values[f"{name}_written_bytes"])) for name in MATRICES)
        assert (read, written) == (values["dram_in_bytes"], values["dram_out_bytes"])
        assert read + written == values["traffic_bytes"]
        assert values["time_s"] == row.cost.makespan_cycles / 1e9
        assert values["tile_given"] is False
        assert values["order_gap"] is None


def test_sums_count_layers() -> None:
    rows = counted()
    found = sums([record(row, count) for row, count in rows])
    assert [each.way[0] for each in found] == ["sequential", "dx-major"]
    for number, each in enumerate(found):
        first, second = rows[number][0].cost, rows[number + 2][0].cost
        assert each.cost == total([(1, first), (3, second)])
        assert each.cost.makespan_cycles == first.makespan_cycles + 3 * second.makespan_cycles


def test_the_table_compares_with_the_first_of_a_layer() -> None:
    rows = records()
    shown = table(rows, sums(rows))
    assert "partition" not in shown.columns
    assert "gap of order" not in shown.columns
    lines = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    assert [line["layer"] for line in lines] == ["a", "a", "small x3", "small x3", "total", "total"]
    assert [line["vs first"] == "-" for line in lines] == [True, False] * 3
    first, second = (cost_of(row).makespan_cycles for row in rows[:2])
    shown_ratio = float(lines[1]["vs first"].removesuffix(" %"))
    assert shown_ratio == pytest.approx(100 * (second / first - 1), abs=0.06)


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        ("dx-major:dx=kij", "dx-major:dx=kij"),
        ("sequential:dx=ikj", "sequential:dx=ikj"),
        ("algorithm-1", "algorithm-1: interleaved"),
        ("algorithm-1:dw=kij", "algorithm-1:dw=kij: interleaved:dx=ikj:dw=kij"),
    ],
)
def test_an_order_is_shown_as_given_unless_one_was_chosen(order: str, shown: str) -> None:
    rows = [record(run(case(layer=SMALL, order=order)))]
    line = dict(zip(table(rows, ()).columns, table(rows, ()).rows[0], strict=True))
    assert line["order"] == shown


@pytest.mark.parametrize("replacement", ["double-buffer", "residency"])
def test_a_record_can_be_read_again(replacement: str) -> None:
    asked = case(
        layer=SMALL,
        order="best",
        replacement=replacement,
        tile=Tile(m=30, k=35, n=40),
        time_limit_s=0.1,  # of each order; any schedule will do
    )
    row = run(asked)
    before = record(row, 3)
    after = COLUMNS.row(COLUMNS.texts(before))
    assert after == before
    found = cost_of(after)
    assert found.read_bytes == row.cost.read_bytes
    assert found.written_bytes == row.cost.written_bytes
    assert table([after], sums([after])) == table([before], sums([before]))


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    rows, path = counted(), tmp_path / "rows.csv"
    keys = [COLUMNS.key_about(about(row.case, count)) for row, count in rows]
    first = RowTable(path, COLUMNS, {"cases": "a"})
    first.add([record(*rows[3])])
    first.close()
    file = RowTable(path, COLUMNS, {"cases": "a"})
    (known,) = file.rows
    assert cost_of(known) == rows[3][0].cost
    assert [key in file for key in keys[:4]] == [False, False, False, True]
    file.add(record(*row) for row in rows[:3])
    file.close(keys)
    found = list(csv.DictReader(path.read_text().splitlines()[1:]))
    assert [(each["layer"], each["count"]) for each in found] == [
        ("a", "1"),
        ("a", "1"),
        ("small", "3"),
        ("small", "3"),
    ]
    assert found[0]["order_bound"] == ""
    assert found[0]["input_gradient"] == "true"


def test_a_line_that_is_no_row() -> None:
    with pytest.raises(InputError, match="products is None, no whole number"):
        cost_of({**records()[0], "products": None})
