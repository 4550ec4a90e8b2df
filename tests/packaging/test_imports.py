"""Modules do not import each other in circles."""

from __future__ import annotations

from results.house.source import circles


def test_no_modules_import_each_other_in_circles() -> None:
    assert circles() == 0
