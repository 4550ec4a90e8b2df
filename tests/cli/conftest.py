from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from spmopt.cli import commands, main
from tests.cli.run import Run

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"


@pytest.fixture(scope="session")
def helps() -> dict[str, str]:
    """Help by command, 100 columns wide."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        for command in ("", *commands.COMMANDS, "tune show"):
            with redirect_stdout(StringIO()) as out:
                main([*command.split(), "--help"])
            found[command] = out.getvalue()
    return found


@pytest.fixture
def stored(run: Run, quick: None, tmp_path: Path) -> Path:
    """A folder with the result files of belady and lru."""
    assert run(f"compare {MLP} -s belady,lru -o {tmp_path}").code == 0
    return tmp_path
