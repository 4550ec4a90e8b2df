from pathlib import Path

import pytest

from tests.cli.run import Run

LSTM = Path(__file__).parents[2] / "instances" / "lstm.json"


@pytest.fixture
def stored(run: Run, quick: None, tmp_path: Path) -> Path:
    """A folder with the result files of belady and lru."""
    assert run(f"compare {LSTM} -s belady,lru -o {tmp_path}").code == 0
    return tmp_path
