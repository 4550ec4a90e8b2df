"""What the source paper says of its networks, against the formulas here."""

import pytest

from spmopt.analysis import Scope
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from tests.analysis.small import streamed


@pytest.mark.parametrize(
    ("network", "formula_mb", "paper_mb"), [("resnet50", 308, 296), ("mobilenetv2", 462, 442)]
)
def test_adjacent_layers_need_what_the_paper_reads_off_its_curves(
    network: str, formula_mb: int, paper_mb: int
) -> None:
    """Section 5.3.1: the traffic has fallen by 70 % at 296 MB and at 442 MB."""
    graph = load_network(network, batch=32, training=True)
    analysis = streamed(lower(graph, load_machine("rtx2080ti", {}), mapper="ideal"))
    need = analysis.scopes()[Scope.ADJACENT_LAYER].formula_bytes
    assert need is not None
    assert round(need / 1e6) == formula_mb
    assert need / 1e6 == pytest.approx(paper_mb, rel=0.05)
