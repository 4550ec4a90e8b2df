"""Pages of results/ say what the recorded rows say."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import import_module

import pytest

from results.papers.run import SOURCES, Source, lines
from results.shared.common import read
from tests.results.pages import (
    FOLDERS,
    RESULTS,
    claims,
    csv_tables,
    figures,
    numbers,
    prose,
    shown,
    tables,
)
from tests.thorough import some

STUDIES = [name for name in FOLDERS if (RESULTS / name / "rows.csv").exists()]


@pytest.mark.parametrize("name", some(STUDIES, 3))
def test_tables_are_made_of_the_rows(name: str) -> None:
    study = import_module(f"results.{name}.run").STUDY
    rows = read(RESULTS / name / "rows.csv")
    made = study.tables(rows)  # once for page and files
    study = replace(study, tables=lambda rows: made)
    assert study.page(rows) == tables(name)
    assert study.files(rows) == csv_tables(name)
    page = (RESULTS / name / "README.md").read_text(encoding="utf-8")
    assert page.startswith(f"    python results/{name}/run.py\n")
    drawn = (RESULTS / name / "plot.png").exists()
    assert ("(plot.png)" in page) == (study.draw is not None) == drawn


@pytest.mark.parametrize("name", STUDIES)
def test_rows_are_verified_and_hold_to_their_bounds(name: str) -> None:
    rows = read(RESULTS / name / "rows.csv")
    assert rows.verified.dropna().all()
    known = rows[["value", "bound"]].dropna()
    assert (known.value >= known.bound * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", some(STUDIES, 2))
def test_prose_quotes_what_follows_from_the_rows(name: str) -> None:
    """Every figure of the prose is in a table of its page, or computed here, or of a paper."""
    stated = claims(name)
    rows = read(RESULTS / name / "rows.csv")
    scope = {**vars(import_module(f"results.{name}.run"))}
    scope |= {"rows": rows, "figures": rows.attrs["figures"]}
    exec(stated.get("setup", ""), scope)
    text = prose(name)
    known = {*numbers(tables(name)), *stated.get("given", [])}
    known.update(*(numbers(table.replace(",", " ")) for table in csv_tables(name).values()))
    for words, expression in stated.get("found", []):
        assert words in text, words
        computed = shown(eval(expression, scope), words)
        assert computed == numbers(words), (words, computed)
        known |= {*computed}
    assert [figure for figure in figures(text) if figure not in known] == []


def test_every_claims_file_is_read() -> None:
    for path in RESULTS.glob("*/claims.toml"):
        assert path.parent.name in STUDIES
        assert {*tomllib.loads(path.read_text(encoding="utf-8"))} <= {"given", "setup", "found"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.study)
def test_the_papers_tables_have_their_headings(source: Source) -> None:
    assert list(lines(source))
