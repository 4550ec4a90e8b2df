from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.search.study import SPACE, replace_sqlite


@pytest.fixture
def run(run: Run, quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in a folder with the file of a space."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE)
    replace_sqlite(monkeypatch)
    return run
