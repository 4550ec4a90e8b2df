import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine takes its time: limits on it are tests of their own.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Python's own handler of SIGINT, which is ignored where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
