"""The networks of the paper on gradient orders: sizes against its table, batch sizes."""

from __future__ import annotations

from spmopt.frontends import zoo
from spmopt.graph.statistics import parameters
from spmopt.hardware.machines import load_machine
from spmopt.studies import gradient_networks
from spmopt.studies.gradient_networks import LARGE, PAPER_NETWORKS, SMALL


def _table() -> list[list[str]]:
    """Rows of the table in the module's text."""
    text = gradient_networks.__doc__ or ""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_table_holds_the_papers_figures_and_ours() -> None:
    rows = _table()
    networks = {each.name: each for each in PAPER_NETWORKS}
    assert [row[3] for row in rows] == sorted(networks, key=[row[3] for row in rows].index)
    for abbreviation, paper, here, name, why in rows:
        network = networks[name]
        assert (network.abbreviation, network.millions) == (abbreviation, int(paper))
        count = parameters(zoo.network(name, batch=1)) / 1e6
        assert f"{count:.1f}" == here
        agrees = abs(count / network.millions - 1) < 0.03
        assert agrees or "published" in why or "says" in why or "MLPerf" in why


def test_each_machine_has_the_nine_networks_of_the_table() -> None:
    names = ["rcnn", "goo", "ncf", "res", "dlrm", "mob", "yolo", "bert", "T5"]
    for machine, batch in ((SMALL, 4), (LARGE, 8)):
        own = [each for each in PAPER_NETWORKS if each.machine == machine]
        assert [each.abbreviation for each in own] == names
        assert {each.batch for each in own} == {batch}
        assert load_machine(machine).name == machine
    assert len(PAPER_NETWORKS) == 18


def test_variants_by_machine_and_their_inputs() -> None:
    graphs = {(each.abbreviation, each.machine): each.graph() for each in PAPER_NETWORKS}
    first = {key: graph.values[0].shape for key, graph in graphs.items()}
    assert graphs["yolo", SMALL].name == "yolov2-tiny"
    assert graphs["yolo", LARGE].name == "yolov5l"
    assert first["yolo", SMALL] == (4, 3, 416, 416)
    assert first["yolo", LARGE] == (8, 3, 640, 640)
    assert first["rcnn", LARGE] == (8, 3, 320, 320)
    shapes = {value.name: value.shape for value in graphs["bert", LARGE].values}
    assert shapes["tokens"] == (8, 512)
    shapes = {value.name: value.shape for value in graphs["T5", SMALL].values}
    assert (shapes["source"], shapes["target"]) == ((4, 512), (4, 114))
