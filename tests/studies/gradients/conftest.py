"""Two networks of few small layers in place of the paper's."""

from __future__ import annotations

import pytest

from spmopt.studies import gradient_networks
from spmopt.studies.gradients import setting

FEW = ("ncf", "dlrm")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of the networks: :data:`FEW`, on both machines."""
    some = tuple(
        network for network in gradient_networks.PAPER_NETWORKS if network.abbreviation in FEW
    )
    monkeypatch.setattr(setting, "PAPER_NETWORKS", some)
