from pathlib import Path

import pytest

from tests.cli.run import Run

NETWORK = "bert-tiny --batch 2 --training --spm 1MB"
_MADE: dict[bool, bytes] = {}
"""The result file, made once with the dual values of the relaxation and once without."""


@pytest.fixture
def stored(request: pytest.FixtureRequest, run: Run, tmp_path: Path) -> Path:
    """A result file."""
    path, quick = tmp_path / "r.json", "quick" in request.fixturenames
    if quick not in _MADE:
        assert run(f"solve {NETWORK} -s belady -o {path}").code == 0
        _MADE[quick] = path.read_bytes()
    path.write_bytes(_MADE[quick])
    return path
