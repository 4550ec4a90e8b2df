import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.cli.run import Run, runner
from tests.solving.fakes import bounds_only, install
from tests.thorough import THOROUGH, share

# A busy machine takes its time: limits on it are tests of their own. The short suite draws the same
# examples each time, so that it says what a change broke; the nightly one draws others each time.
settings.register_profile("short", deadline=None, derandomize=True, max_examples=share(100, 3))
settings.register_profile("nightly", deadline=None)
settings.load_profile("nightly" if THOROUGH else "short")


# Kills, races and full disks: minutes of waiting, so that only .ci/nightly runs them.
collect_ignore = [] if THOROUGH else ["nightly"]


def pytest_collection_finish() -> None:
    """Leave tests and modules out of garbage collections: they live to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Python's own handler of SIGINT, which is ignored where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""
    return runner(capsys)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove the cost of computation in place of solving the relaxation."""
    install(monkeypatch, lp_bound=bounds_only)
