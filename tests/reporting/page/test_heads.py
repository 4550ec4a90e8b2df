"""Every column of every table of every page says what it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from spmopt.reporting.curves import curves_of
from spmopt.reporting.curves.columns import Value
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page import page
from spmopt.reporting.page.curves import curves_page
from spmopt.reporting.page.front import front_page
from spmopt.reporting.plain import HEADS
from spmopt.reporting.schedule_view import schedule_record
from tests.reporting.curves.rows import COLUMNS, relaxed, schedule
from tests.reporting.page.reading import Document
from tests.reporting.samples import picture
from tests.reporting.search.fronts import front


def columns_of(value: Any) -> Iterator[Any]:
    """Columns of all tables anywhere in plain data."""
    if isinstance(value, dict):
        if "columns" in value and "rows" in value:
            yield from value["columns"]
        for each in value.values():
            yield from columns_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from columns_of(each)


def _two() -> str:
    pictures = [picture("belady"), picture("residency")]
    return page("two", [schedule_record(each) for each in pictures], contrast_record(*pictures))


def _sweep() -> str:
    setting: dict[str, Value] = {"array.rows": 8}
    rows = [relaxed(1.0, 0.9, **setting), schedule("residency", 1.2, 0.9, **setting)]
    return curves_page(curves_of(rows, [*COLUMNS.types, *setting], [*setting]))


def _search() -> str:
    return front_page(front())


@pytest.mark.parametrize(("make", "least"), [(_two, 90), (_sweep, 40), (_search, 12)])
def test_every_head_of_a_page_says_what_it_means(make: Any, least: int) -> None:
    heads = [
        column for block in Document.of(make()).blocks().values() for column in columns_of(block)
    ]
    assert len(heads) >= least
    assert [head["name"] for head in heads if not head["help"].endswith(".")] == []


def test_sentences_are_short_and_say_more_than_the_name() -> None:
    for name, text in HEADS.items():
        assert len(name.split("_")) < len(text) < 160, name
        assert text[0].isupper(), name
