"""Records, files and tables of rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spmopt.cli.tiling.view import sums, table
from spmopt.core.errors import InputError
from spmopt.sweep.table import Table
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.records import COLUMNS, Counted, about, counted_of, record
from spmopt.tiles.run import MATRICES, run, total
from tests.tiles.asked import LAYER, case

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
    rows = [Counted(row=run(case(layer=SMALL, order=order)))]
    line = dict(zip(table(rows, ()).columns, table(rows, ()).rows[0], strict=True))
    assert line["order"] == shown


def test_columns_are_those_of_records() -> None:
    for each in counted():
        values = record(each)
        assert list(values) == list(COLUMNS.types)
        assert COLUMNS.key_about(about(each.row.case, each.count)) == COLUMNS.key(
            COLUMNS.texts(values)
        )


@pytest.mark.parametrize("replacement", ["double-buffer", "page"])
@pytest.mark.parametrize("order", ["best", "searched", "optimal"])
def test_a_row_can_be_read_again(order: str, replacement: str) -> None:
    asked = case(layer=SMALL, order=order, replacement=replacement, tile=Tile(m=30, k=35, n=40))
    before = Counted(row=run(asked), count=3)
    values = record(before)
    after = counted_of(COLUMNS.row(COLUMNS.texts(values)), asked)
    # The bound of an order is a fraction, and rounded in the file.
    exact = {name: value for name, value in values.items() if name != "order_gap"}
    assert {name: value for name, value in record(after).items() if name in exact} == exact
    gap, again = values["order_gap"], record(after)["order_gap"]
    assert again == (gap if gap is None else pytest.approx(gap, rel=1e-9))
    assert after.row.spent.moved == before.row.spent.moved
    assert table([after], sums([after])) == table([before], sums([before]))


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    rows, path = counted(), tmp_path / "rows.csv"
    keys = [COLUMNS.key_about(about(each.row.case, each.count)) for each in rows]
    first = Table(path, COLUMNS, {"cases": "a"})
    first.add([record(rows[3])])
    first.close()
    file = Table(path, COLUMNS, {"cases": "a"})
    known = file.get(keys[3])
    assert known is not None
    assert counted_of(known, rows[3].row.case).row.spent == rows[3].row.spent
    assert file.get(keys[0]) is None
    file.add(map(record, rows[:3]))
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
    values = {**record(counted()[0]), "products": None}
    with pytest.raises(InputError, match="products is None, no whole number"):
        counted_of(values, case(layer=LAYER))
