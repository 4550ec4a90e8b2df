"""The budget of the source tree: what is counted, and what is over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from results.house import yardstick
from results.house.prose import is_participle, participle_share, private_words, what_rate
from results.house.run import list_excesses
from results.house.source import code_lines, count_lines, longest_sentence

TEXT = '''"""What stands here."""

import os  # noqa: F401


def found(cover: int) -> int:
    """Return what is found."""
    # The reason.
    return cover  # and another


def solve() -> None:
    pass
'''


def test_code_lines_exclude_docstrings_imports_comments_and_blanks() -> None:
    assert code_lines(TEXT) == 4
    assert count_lines(TEXT) == (4, 2)


def test_words_are_counted_in_docstrings_and_names() -> None:
    assert what_rate([TEXT]) == pytest.approx(1000 * 2 / 7, abs=0.1)
    assert participle_share([TEXT]) == 50
    assert private_words([TEXT]) == 1


@pytest.mark.parametrize("word", ["found", "solved", "told", "moved"])
def test_participles(word: str) -> None:
    assert is_participle(word)


@pytest.mark.parametrize("word", ["solve", "need", "speed", "bounds", "feed"])
def test_verbs_and_nouns(word: str) -> None:
    assert not is_participle(word)


def test_longest_sentence_skips_code_tables_and_links() -> None:
    text = (
        "One two. A [b c](d/e f.md) d e: f.\n\n```\na b c d e f g h\n```\n\n| a b c d e f g h |\n"
    )
    assert longest_sentence(text) == 5


def test_figures_over_budget_are_named_and_comments_have_a_least() -> None:
    figures = {"code lines": 11.0, "comments per 100 code lines": 1.0, "new": 1.0, "fine": 5.0}
    budget = {"code lines": 10.0, "comments per 100 code lines": 2.0, "fine": 5.0}
    assert list_excesses(figures, budget) == [
        "house: code lines is 11, over its budget of 10",
        "house: comments per 100 code lines is 1, below its budget of 2",
        "house: new is 1 and has no line in results/house/budget.toml",
    ]


def test_seconds_of_a_slower_machine_count_less_and_of_a_faster_one_more(tmp_path: Path) -> None:
    for factor, expected in ((2.0, 300.0), (0.5, 1200.0)):
        samples = tmp_path / "yardstick.txt"
        # The median: one sample that waited for others changes nothing.
        samples.write_text(f"{factor * yardstick.REFERENCE_S}\n" * 3 + "99.0\n")
        assert yardstick.scaled(600.0, samples) == pytest.approx(expected)
