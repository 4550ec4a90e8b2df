"""Structure of T5, LLaMA and GPT-2 that no count shows, and rows of embedding tables."""

from __future__ import annotations

from spmopt.core.problem import TensorKind
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph

from .figures import MACHINE, moving, output_shapes


def test_t5_shares_one_position_table_a_stack() -> None:
    graph = zoo.network("t5-small", batch=2, sequence=6, target=4, layers=3)
    nodes = {node.name: node for node in graph.nodes}
    assert graph.shapes(nodes["encoder2.self.positions"].inputs) == ((2, 8, 6, 6), (8, 6, 6))
    assert graph.shapes(nodes["decoder0.cross.scores"].outputs) == ((2, 8, 4, 6),)
    assert "decoder0.cross.positions" not in nodes
    counts = moving(graph)
    assert counts["RMSNormalization"] == 3 * 2 + 3 * 3 + 2
    assert counts["Transpose"] == 2
    shared = nodes["decoder0.self.positions"].inputs[1]
    assert sum(shared in node.inputs for node in graph.nodes) == 3
    assert output_shapes(graph) == [(2 * 4, 32_128)]


def test_llama_reads_its_cache_where_it_is() -> None:
    sizes = {"layers": 2, "hidden": 64, "heads": 8, "groups": 2, "inner": 96, "vocabulary": 100}
    graph = zoo.network("llama3", batch=3, sequence=2, past=7, **sizes)
    nodes = {node.name: node for node in graph.nodes}
    cached = {v: value for v, value in enumerate(graph.values) if ".cache." in value.name}
    read = {v: [node for node in graph.nodes if v in node.inputs] for v in cached}
    inputs = {v: value.shape for v, value in cached.items() if value.kind is TensorKind.INPUT}
    assert sorted(inputs.values()) == [(3, 2, 7, 8)] * 2 + [(3, 2, 8, 7)] * 2
    assert all([node.operator for node in read[v]] == ["MatMul"] for v in inputs)
    assert graph.shapes(nodes["layer1.self.softmax"].inputs) == ((3, 2, 4 * 2, 7 + 2),)
    assert output_shapes(graph) == [(3, 2, 16)] * 4 + [(3 * 2, 100)]
    filled = zoo.network("llama3", batch=3, sequence=2, cache=1, **sizes)
    assert output_shapes(filled) == output_shapes(graph)
    assert not any(".cache." in value.name for value in filled.values)


def test_gpt2_normalizes_before_its_sublayers() -> None:
    graph = zoo.network("gpt2", batch=2, sequence=6, layers=3)
    nodes = {node.name: node for node in graph.nodes}
    (before,) = graph.shapes(nodes["layer0.self.norm"].outputs)
    assert before == (2, 6, 768)
    assert nodes["layer0.self.norm"].inputs[0] == nodes["layer0.self.add"].inputs[0]
    assert nodes["layer1.ffn.norm"].inputs[0] == nodes["layer1.self.add"].outputs[0]
    assert moving(graph)["LayerNormalization"] == 2 * 3 + 1
    assert output_shapes(graph) == [(2 * 6, 50_257)]


def test_only_looked_up_rows_of_tables_are_tensors() -> None:
    graph = zoo.network("dlrm", batch=16)
    looked_up = [node for node in graph.nodes if node.operator == "Lookup"]
    assert len(looked_up) == 26
    assert {graph.shapes(node.inputs) for node in looked_up} == {((16, 128),)}
    assert sum(int(str(node.attributes["table"])) for node in looked_up) == 187_767_399
    step = lower(training_graph(graph, optimizer="sgd"), MACHINE)
    assert max(tensor.size_bytes for tensor in step.tensors) == 4 * 1024 * 1024
    rows = [tensor for tensor in step.tensors if tensor.name.startswith("table")]
    weights = [tensor for tensor in rows if tensor.kind is TensorKind.WEIGHT]
    assert len(weights) == 26
    # Read, and written back by the optimizer.
    assert all(t.size_bytes == 4 * 16 * 128 and t.in_dram and t.keep for t in weights)
