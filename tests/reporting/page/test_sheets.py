"""Pages of a sweep, a search and an ablation: pictures, tables with all figures, names as text."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from spmopt.reporting.page.sheets import ablation_page, curves_page, front_page
from tests.ablations import in_full, told
from tests.reporting.curves.rows import curves, relaxed, schedule
from tests.reporting.page.reading import Document
from tests.reporting.search.fronts import front

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂 $x^2$"


def _sweep() -> str:
    rows = [schedule(ODD, 1.2 / size, 0.9 / size, spm_bytes=4096 * size) for size in range(1, 4)]
    return curves_page(curves(relaxed(1.0, 0.9), *rows))


def _ablation() -> str:
    ablation = told()
    odd = [
        replace(each, why=ODD, problem=replace(each.problem, name=ODD))
        for each in ablation.decisions
    ]
    return ablation_page(replace(ablation.problem, name=ODD), odd)


@pytest.mark.parametrize(
    ("make", "pictures", "tables"),
    [
        (_sweep, 2, 2),
        (lambda: front_page(front(ODD), [(0, ODD, "spmopt report x.json")]), 1, 2),
        (_ablation, 2, 1),
    ],
)
def test_a_sheet_has_its_pictures_and_tables_and_names_stay_text(
    make: Any, pictures: int, tables: int
) -> None:
    document = Document.of(make())
    images = [attributes for attributes, _ in document.all("img")]
    assert len(images) == pictures
    for each in images:
        head, _, data = str(each["src"]).partition(",")
        assert head == "data:image/svg+xml;base64"
        assert b64decode(data).startswith(b"<?xml")
        assert each["alt"]
    places = {a["data-table"] for a, _ in document.all("div") if "data-table" in a}
    assert places == {*document.blocks()}
    assert len(places) == tables
    assert len([a for a, _ in document.all("script") if "type" not in a]) == 1
    assert ODD[:20] in document.all("title")[0][1] + str(document.blocks())


def _tables(text: str) -> dict[str, Any]:
    return {table["file"]: table for table in Document.of(text).blocks().values()}


def test_rows_are_those_of_the_subject() -> None:
    found = curves(schedule("lru", 1.5, 0.9), schedule("page", 1.2, 0.9), relaxed(1.0, 0.9))
    rows = _tables(curves_page(found))["rows.csv"]
    names = [column["name"] for column in rows["columns"]]
    assert [dict(zip(names, row, strict=True))["time_s"] for row in rows["rows"]] == [
        1.5,
        1.2,
        None,
    ]
    tables = _tables(front_page(front(), [(0, "net", "spmopt report x.json")]))
    assert [row[:2] for row in tables["trials.csv"]["rows"]] == [
        [0, "front"],
        [1, "front"],
        [2, "solved"],
        [3, "solved"],
        [4, "excluded by proof"],
        [5, "failed"],
    ]
    assert tables["commands.csv"]["rows"] == [[0, "net", "spmopt report x.json"]]


def test_times_and_savings_of_an_ablation_add_up() -> None:
    ablation = in_full()
    table = _tables(ablation_page(ablation.problem, ablation.decisions))["decisions.csv"]
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    before = rows[0]["time_s"]
    for row in rows:
        assert row["time_s"] + row["saved_s"] == pytest.approx(before)
        assert row["compute_s"] + row["waiting_s"] == pytest.approx(row["time_s"])
        before = row["time_s"]
