"""Tables and texts on terminals of any width; all in full elsewhere."""

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from spmopt.reporting.tables import Grid, draw_parts, draw_text, fold
from tests.reporting.terminal import printed

HEADS = ("name", "count", "what it is")
ROWS = [
    ("one", "1", "the first of all numbers that there are"),
    ("two", "2", "short"),
]


def draw_rows(columns: Any, rows: Any, console: Console, **how: Any) -> None:
    """Print a table of strings."""
    draw_parts([Grid(columns=columns, rows=rows, **how)], console)


def test_words_are_folded_first() -> None:
    lines = printed(lambda console: draw_rows(HEADS, ROWS, console), 36)
    assert lines == [
        "name   count   what it is",
        "one    1       the first of all",
        "               numbers that there",
        "               are",
        "two    2       short",
    ]


def test_then_columns_are_left_out_from_the_last_on() -> None:
    lines = printed(lambda console: draw_rows(HEADS, ROWS, console), 28)
    assert lines[:3] == ["name   count", "one    1", "two    2"]
    assert " ".join(lines[3:]) == "A wider terminal has room for: what it is."


def test_or_in_the_order_that_is_asked_for() -> None:
    def draw(order: tuple[str, ...]) -> list[str]:
        return printed(lambda c: draw_rows(HEADS, ROWS, c, left=HEADS[2:], dispensable=order), 28)

    assert draw(("count", "name"))[0] == "name   what it is"
    assert draw(("name", "count"))[:2] == ["count   what it is", "    1   the first of all"]


def test_figures_are_to_the_right_and_never_folded() -> None:
    rows = [("a", "1 000 000 000 000 000 000"), ("b", "2")]
    lines = printed(lambda c: draw_rows(("x", "figure"), rows, c, left=("x",), dispensable=()), 10)
    assert lines[1:] == ["a   1 000 000 000 000 000 000", "b                           2"]


@pytest.mark.parametrize("width", [1, 10, 500])
def test_elsewhere_nothing_is_folded_or_left_out(width: int) -> None:
    lines = printed(lambda console: draw_rows(HEADS, ROWS, console), width, StringIO())
    assert [line.split("   ")[-1].strip() for line in lines] == [HEADS[2], *(r[2] for r in ROWS)]
    assert printed(lambda console: draw_text("a " * 300, console), width, StringIO()) == [
        "a " * 300
    ]


def test_what_follows_is_indented() -> None:
    text = "note       one two three four five"
    lines = printed(lambda console: draw_text(text, console, 11), 27)
    assert lines == ["note       one two three", "           four five"]


@given(st.text(st.sampled_from("ab "), max_size=120), st.integers(20, 60), st.integers(0, 4))
def test_folding_keeps_all_words(text: str, width: int, indent: int) -> None:
    lines = fold(text, width, indent)
    assert all(len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
