"""One or two networks of few small layers in place of the paper's."""

from __future__ import annotations

import pytest

from spmopt.studies import gradient_networks
from spmopt.studies.gradients import setting


def _keep(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    every = gradient_networks.PAPER_NETWORKS
    some = tuple(network for network in every if network.abbreviation in names)
    monkeypatch.setattr(setting, "PAPER_NETWORKS", some)


@pytest.fixture
def one_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """NCF on both machines: four layers."""
    _keep(monkeypatch, "ncf")


@pytest.fixture
def two_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """NCF and DLRM on both machines: twelve layers."""
    _keep(monkeypatch, "ncf", "dlrm")
