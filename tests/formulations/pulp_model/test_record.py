"""The recorded page is what its rows make it."""

import pytest

from tests.formulations.pulp_model.record import FILE, main, page


def test_the_page_is_made_of_its_rows() -> None:
    text = FILE.read_text(encoding="utf-8")
    *_, stamp, table = text.rstrip("\n").split("\n\n")
    rows = [line.strip("| ").split(" | ") for line in table.split("\n")[2:]]
    assert page(stamp, rows) == text


def test_some_problems_are_printed_only(capsys: pytest.CaptureFixture[str]) -> None:
    before = FILE.read_bytes()
    main(["convolution"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| conv")]
    assert [row.split(" | ")[1] for row in rows] == ["traffic", "time"]
    assert FILE.read_bytes() == before


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["magic"], 2)])
def test_help_and_mistakes_solve_nothing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == code
    said = capsys.readouterr()
    assert "convolution" in said.out + said.err
