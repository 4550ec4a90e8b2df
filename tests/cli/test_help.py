"""Help names every choice, and what -o does to files that exist."""

import re
from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.cli.test_failures import SMALL
from tests.solving.fakes import bounds_only, install


def shown(run: Run, command: str) -> str:
    """Help as one line of words."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", run(f"{command} --help").out).split())


LONG = {"tune": 60, "allocate": 60, "tiles": 60, "": 46}
"""Lines of commands whose input takes explaining."""


def test_help_fits_a_screen(helps: dict[str, str]) -> None:
    for command, text in helps.items():
        assert len(text.splitlines()) <= LONG.get(command, 44), command


def test_help_all_shows_the_rest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    main, rest = run("solve --help").out, run("solve --help-all").out
    for option in ("--dma-setup", "--set", "--bank", "--param", "--threads", "--backend"):
        assert option not in main
        assert option in rest
    for name in ("time", "traffic", "energy", "panel", "weights", "ideal"):
        assert re.search(rf"\b{name}\b", rest), name
    assert "--dma-setup" not in run("solve --help").out


@pytest.mark.parametrize(
    ("command", "name"),
    [("solve -s belady", "r.json"), ("compare --schedulers belady", "."), ("problem", "r.json")],
)
def test_output_replaces_a_file_and_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    old = tmp_path / ("belady.json" if name == "." else name)
    old.write_text("old")
    assert "replaced" in shown(run, command.partition(" ")[0])
    assert run(f"{command} bert-lonely -o {tmp_path / name}").code == 2
    assert old.read_text() == "old"
    assert run(f"{command} {SMALL} -o {tmp_path / name}").code == 0
    assert old.read_text().startswith('{"format":"spmopt-')
    assert list(tmp_path.iterdir()) == [old]
