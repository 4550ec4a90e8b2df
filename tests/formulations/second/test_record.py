"""The recorded page is what its rows make it."""

from tests.formulations.second.record import FILE, page


def test_the_page_is_made_of_its_rows() -> None:
    text = FILE.read_text(encoding="utf-8")
    *_, stamp, table = text.rstrip("\n").split("\n\n")
    rows = [line.strip("| ").split(" | ") for line in table.split("\n")[2:]]
    assert page(stamp, rows) == text
