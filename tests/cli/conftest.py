from pathlib import Path

import pytest

from tests.cli.run import Run, runner
from tests.solving.fakes import bounds_only, install

LSTM = Path(__file__).parents[2] / "instances" / "lstm.json"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds at once."""
    install(monkeypatch, lp_bound=bounds_only)


@pytest.fixture
def stored(run: Run, quick: None, tmp_path: Path) -> Path:
    """A folder with the result files of belady and lru."""
    assert run(f"compare {LSTM} -s belady,lru -o {tmp_path}").code == 0
    return tmp_path
