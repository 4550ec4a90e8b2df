"""Graphs as those of networkx, and back."""

from __future__ import annotations

import networkx
import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends import zoo
from spmopt.graph.training import training_graph


@pytest.mark.parametrize("name", ["bert-tiny", "squeezenet"])
def test_there_and_back(name: str) -> None:
    graph = training_graph(zoo.network(name, batch=1), optimizer="adam")
    found = graph.to_networkx()
    assert Graph.from_networkx(found) == graph
    assert found.graph["name"] == graph.name
    place = {at: k for k, at in enumerate(n for n in found if n[0] == "node")}
    for node, step in place.items():
        written = {v for _, v in found.out_edges(node)}
        for value in written - {v for v, _ in found.in_edges(node)}:
            assert all(place[reader] > step for _, reader in found.out_edges(value))
    assert found.nodes["node", 0]["operator"] == graph.nodes[0].operator
    assert found.nodes["value", 0]["shape"] == graph.values[0].shape


def test_what_has_no_cycle_is_one_of_networkx() -> None:
    found = zoo.network("bert-tiny", batch=1).to_networkx()
    assert networkx.is_directed_acyclic_graph(found)
    assert networkx.dag_longest_path_length(found) > 20


def test_what_is_no_graph_is_refused() -> None:
    found = zoo.network("bert-tiny", batch=1).to_networkx()
    del found.nodes["node", 3]["operator"]
    with pytest.raises(InputError, match="graph of networkx: lacks"):
        Graph.from_networkx(found)
    swapped = networkx.DiGraph(name="swapped")
    graph = zoo.network("bert-tiny", batch=1).to_networkx()
    swapped.add_nodes_from(reversed(list(graph.nodes(data=True))))
    swapped.add_edges_from(graph.edges(data=True))
    with pytest.raises(InputError, match="out of order"):
        Graph.from_networkx(swapped)
